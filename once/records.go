package once

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"

	aicontent "github.com/aicontent/aicontent-go"
)

// Images has the methods for images. Use [Client].Images. In the documentation of the methods, P is
// [aicontent.ImageStoreParams], and T is [aicontent.Image].
type Images struct {
	records[aicontent.Image, aicontent.ImageStoreParams]
}

// Transcriptions has the methods for transcriptions. Use [Client].Transcriptions. In the documentation of the methods,
// P is [aicontent.TranscriptionStoreParams], and T is [aicontent.Transcription].
//
// Store does not compare the file, so the name must depend on the content, such as a hash of it. It reads the file only
// to send it. If a found transcription has no Result, Store and Find wait for it up to the settle time, then return the
// transcription without it.
type Transcriptions struct {
	records[aicontent.Transcription, aicontent.TranscriptionStoreParams]
}

// records has the methods of a collection of records T, which Store creates from params P.
type records[T, P any] struct {
	config     *config
	collection string
	api        api[T, P]
	facts      func(*T) (id aicontent.ID, name string, partial bool) // partial records have no result yet
}

// api is the service of the client for a collection.
type api[T, P any] interface {
	Validate(P, ...aicontent.CallOption) error
	Store(context.Context, P, ...aicontent.CallOption) (*T, error)
	FindByName(context.Context, string, ...aicontent.CallOption) (*T, error)
	Show(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	Delete(context.Context, aicontent.ID, ...aicontent.CallOption) error
}

// Store creates the record with the name in params unless the ledger or the service has it. The name must be unique,
// such as a job's ID. Known services accept up to 128 characters. Names that differ only in white space at their ends,
// or in the form of line breaks, are one name.
//
// If found is true, the record existed, and this call created and billed nothing. A record stored without this package
// may differ from params. If the ledger has other params for the name, the error is an [*aicontent.ConflictError], even
// if only white space differs. Files, and fields set by options, are not compared.
//
// If an earlier request of any process may still create the record, Store waits: up to the settle time after the end of
// that request, or until ctx or [WithMaxWait] ends the wait. It makes at most one plain Store call, with its retries.
// The options apply to all calls that it makes. If [aicontent.Retryable] reports true for the error, call Store again:
// it never creates a second record.
func (r *records[T, P]) Store(
	ctx context.Context, params P, opts ...aicontent.CallOption,
) (record *T, found bool, err error) {
	if err := r.api.Validate(params, opts...); err != nil {
		return nil, false, err
	}
	c := r.call(reflect.ValueOf(params).FieldByName("Name").String(), opts)
	c.params, c.form = params, formHash(params)
	record, err = c.run(ctx)
	return record, record != nil && !c.sent, err
}

// Find returns the record with the name. It never sends a create request, and waits as Store does. The error matches
// [aicontent.ErrNotFound] only if there is no record and no earlier request can still create one.
func (r *records[T, P]) Find(ctx context.Context, name string, opts ...aicontent.CallOption) (*T, error) {
	return r.call(name, opts).run(ctx)
}

// Delete finds the record as Find does, deletes it, and frees the name. It returns nil if there is none. If it fails or
// is cut off, call it again: the service may have deleted the record, and until a Delete succeeds, Store waits for the
// record up to the settle time. Delete keeps a renamed record: it frees the name and returns an
// [*aicontent.ConflictError], once.
func (r *records[T, P]) Delete(ctx context.Context, name string, opts ...aicontent.CallOption) error {
	return r.call(name, opts).delete(ctx)
}

// call returns a new call for a name.
func (r *records[T, P]) call(name string, opts []aicontent.CallOption) *call[T, P] {
	blank := entry{Format: format, State: State{Collection: r.collection, Name: name}, Call: rand.Text()}
	return &call[T, P]{records: r, opts: slices.Clip(opts), slot: slot{
		config: r.config, place: place{r.config.ledger, r.config.key(r.collection, name)}, blank: blank,
	}}
}
