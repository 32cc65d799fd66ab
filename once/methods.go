package once

import (
	"context"

	aicontent "github.com/aicontent/aicontent-go"
)

// Images has the methods for images. Use [Client].Images.
type Images struct {
	client  *aicontent.ImagesService
	service service[aicontent.Image]
}

// Store creates the image with the name in params unless the ledger or the service has it. The name must be unique,
// such as a job's ID. Known services accept up to 128 characters. White space and invisible characters around the name,
// and the form of its line breaks, do not count.
//
// If found is true, the image existed, and this call created and billed nothing. An image stored without this package
// may differ from params. If the ledger has other params for the name, the error is an [*aicontent.ConflictError];
// fields set by options are not compared.
//
// If an earlier request of any process may still create the image, Store waits: up to the settle time after the end of
// that request, or until ctx or [WithMaxWait] ends the wait. It makes at most one plain Store call, with its retries.
// The options apply to all calls that it makes. If [aicontent.Retryable] reports true for the error, call Store again:
// it never creates a second image.
func (s *Images) Store(
	ctx context.Context, params aicontent.ImageStoreParams, opts ...aicontent.CallOption,
) (image *aicontent.Image, found bool, err error) {
	if err := s.client.Validate(params, opts...); err != nil {
		return nil, false, err
	}
	form := formHash(map[string]string{
		"name": params.Name, "description": params.Description, "resolution": string(params.Resolution),
		"style": string(params.Style), "medium": string(params.Medium), "filter": string(params.Filter),
	})
	send := func(ctx context.Context, opts ...aicontent.CallOption) (*aicontent.Image, error) {
		return s.client.Store(ctx, params, opts...)
	}
	return s.service.call(params.Name, form, opts).store(ctx, send)
}

// Find returns the image with the name. It never sends a create request, and waits as Store does. The error matches
// [aicontent.ErrNotFound] only if there is no image and no earlier request can still create one.
func (s *Images) Find(ctx context.Context, name string, opts ...aicontent.CallOption) (*aicontent.Image, error) {
	return s.service.call(name, "", opts).find(ctx)
}

// Delete finds the image as Find does, deletes it, and frees the name. It returns nil if there is none. It keeps a
// renamed image: it frees the name and returns an [*aicontent.ConflictError], once. If lists have no names, Delete
// frees the name as soon as no request is open, and returns the error of the search once, because there may be an
// image.
func (s *Images) Delete(ctx context.Context, name string, opts ...aicontent.CallOption) error {
	return s.service.call(name, "", opts).delete(ctx)
}

// Transcriptions has the methods for transcriptions. Use [Client].Transcriptions.
type Transcriptions struct {
	client  *aicontent.TranscriptionsService
	service service[aicontent.Transcription]
}

// Store creates the transcription with the name in params unless the ledger or the service has it: see [Images.Store].
// It does not compare the file, so the name must depend on the content, such as a hash of it. It reads the file only to
// send it. If a found transcription has no Result, Store waits for it up to the settle time, then returns it without.
func (s *Transcriptions) Store(
	ctx context.Context, params aicontent.TranscriptionStoreParams, opts ...aicontent.CallOption,
) (transcription *aicontent.Transcription, found bool, err error) {
	if err := s.client.Validate(params, opts...); err != nil {
		return nil, false, err
	}
	form := formHash(map[string]string{
		"name": params.Name, "description": params.Description, "language": string(params.Language),
	})
	send := func(ctx context.Context, opts ...aicontent.CallOption) (*aicontent.Transcription, error) {
		return s.client.Store(ctx, params, opts...)
	}
	return s.service.call(params.Name, form, opts).store(ctx, send)
}

// Find returns the transcription with the name without sending a create request: see [Images.Find].
func (s *Transcriptions) Find(
	ctx context.Context, name string, opts ...aicontent.CallOption,
) (*aicontent.Transcription, error) {
	return s.service.call(name, "", opts).find(ctx)
}

// Delete finds the transcription as Find does, deletes it, and frees the name: see [Images.Delete].
func (s *Transcriptions) Delete(ctx context.Context, name string, opts ...aicontent.CallOption) error {
	return s.service.call(name, "", opts).delete(ctx)
}
