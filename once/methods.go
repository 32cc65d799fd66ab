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
// such as a job's ID, and never a title that a person typed; known services accept up to 128 characters. White space
// and invisible characters around it, and the form of its line breaks, do not count. If found is true, the image
// existed, and this call created and billed nothing; if it was stored without this package, it may differ from params.
// If the ledger knows that other params were sent for the name, the error is an [*aicontent.ConflictError]. Fields that
// options set are not compared.
//
// Store waits while an earlier request, of any process, may still become the image: up to the settle time after it
// ended, or until ctx or [WithMaxWait] ends the wait. It makes at most one plain Store call, with its retries. The
// options apply to all calls that it makes. The error is an [*Error], or an [*aicontent.ValidationError] if the
// arguments are refused before anything else. Ask [aicontent.Retryable] whether to call Store again, which never
// creates a second image.
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

// Find returns the image with the name without sending a create request. It waits as Store does. The error matches
// [aicontent.ErrNotFound] only if there is no image, and no earlier request can still create one.
func (s *Images) Find(ctx context.Context, name string, opts ...aicontent.CallOption) (*aicontent.Image, error) {
	return s.service.call(name, "", opts).find(ctx)
}

// Delete finds the image as Find does, deletes it, and frees the name. It is not an error if there is none. An image
// that was renamed is not deleted: the error is an [*aicontent.ConflictError], once, and the name is free all the same.
// If lists have no names, Delete frees the name as soon as no request is open, and once returns the search's error.
func (s *Images) Delete(ctx context.Context, name string, opts ...aicontent.CallOption) error {
	return s.service.call(name, "", opts).delete(ctx)
}

// Transcriptions has the methods for transcriptions. Use [Client].Transcriptions.
type Transcriptions struct {
	client  *aicontent.TranscriptionsService
	service service[aicontent.Transcription]
}

// Store creates the transcription with the name in params unless the ledger or the service has it: see [Images.Store].
// The file is not compared, so the name must stand for its content, such as a hash of it. It is read only if it is
// sent. A transcription that was found before its Result was there is waited for, up to the settle time, and then
// returned as it is.
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

// Delete finds the transcription as Find does, deletes it, and frees the name. It is not an error if there is none.
func (s *Transcriptions) Delete(ctx context.Context, name string, opts ...aicontent.CallOption) error {
	return s.service.call(name, "", opts).delete(ctx)
}
