package aicontent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

// TranscriptionsService has the methods for transcriptions. Get it from [Client].Transcriptions; it is safe for
// concurrent use.
type TranscriptionsService struct {
	client *Client
}

// Transcription is a transcription as the service sent it. Fields the server omits, or sends as null, keep their zero
// value.
type Transcription struct {
	ID          ID          `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Language    CountryCode `json:"language"`
	Result      string      `json:"result"` // the transcribed text
	Favorite    bool        `json:"favorite"`

	// Not in the API's documentation; set when the service sends them.
	Words     int       `json:"words"`               // number of words in Result
	CreatedAt time.Time `json:"created_at,omitzero"` // UTC where the service names no zone
	UpdatedAt time.Time `json:"updated_at,omitzero"`

	raw json.RawMessage
}

// Raw returns the record as sent, unknown members included; nil for a transcription that no response held. It shares
// memory with the other records of its page, and must not be changed.
func (t *Transcription) Raw() json.RawMessage { return t.raw }

// Equal reports whether the fields of t and other are equal, times as instants. Raw is not compared.
func (t Transcription) Equal(other Transcription) bool {
	return equalFields(t.fields(nil), other.fields(nil))
}

// String returns the ID and the name, not the text.
func (t Transcription) String() string { return fmt.Sprintf("Transcription(%s %q)", t.ID, t.Name) }

// GoString returns the fields that are set, without Raw.
func (t Transcription) GoString() string { return goString("Transcription", t.fields(nil)) }

// MarshalJSON writes the fields under their names in the API. Unknown members are in Raw alone.
func (t Transcription) MarshalJSON() ([]byte, error) {
	type fields Transcription
	return json.Marshal(fields(t))
}

// UnmarshalJSON reads a record as leniently as the client does. Null leaves t as it is.
func (t *Transcription) UnmarshalJSON(data []byte) error { return unmarshalRecord(t, data) }

func (t *Transcription) fields(list []lenient.Field) []lenient.Field {
	return append(list,
		into("id", (*string)(&t.ID)),
		into("name", &t.Name),
		into("description", &t.Description),
		into("language", (*string)(&t.Language)),
		into("result", &t.Result),
		into("favorite", &t.Favorite),
		into("words", &t.Words),
		into("created_at", &t.CreatedAt),
		into("updated_at", &t.UpdatedAt),
	)
}

func (t *Transcription) keep(raw json.RawMessage) { t.raw = raw }

// TranscriptionListParams filter and order a list of transcriptions. The zero value selects all of them, the newest
// first.
type TranscriptionListParams struct {
	Search   string                `url:"search,omitempty"`       // text to search for; empty is no search
	SearchBy TranscriptionSearchBy `url:"search_by,omitempty"`    // where to search; zero is the name
	Favorite *bool                 `url:"favorite,int,omitempty"` // nil is both, new(true) the favorites
	SortBy   SortBy                `url:"sort_by,omitempty"`      // zero is the ID, which follows the date of creation
	Sort     Sort                  `url:"sort,omitempty"`         // zero is descending
	PerPage  PerPage               `url:"per_page,omitempty"`     // zero leaves it to the service
}

// TranscriptionStoreParams describe the transcription to create. Name and File are required.
type TranscriptionStoreParams struct {
	Name        string      `url:"name"`
	File        File        `url:"-"`                     // see [File] for the formats that services accept
	Description string      `url:"description,omitempty"` // of the audio file
	Language    CountryCode `url:"language,omitempty"`    // the API asks for a country, as ISO 3166-1 alpha-2
}

// TranscriptionUpdateParams are the fields to change. A nil field stays as it is; with none set the request is sent
// all the same.
type TranscriptionUpdateParams struct {
	Name     *string `url:"name,omitempty"`   // must not be empty
	Result   *string `url:"result,omitempty"` // the corrected text; some services refuse an empty one with 422
	Favorite *bool   `url:"favorite,int,omitempty"`
}

// List returns one page of transcriptions. It is retried after transient failures. WithQuery("page", "3") selects a
// page by its number.
func (s *TranscriptionsService) List(
	ctx context.Context, params TranscriptionListParams, opts ...CallOption,
) (*Page[Transcription], error) {
	return list[Transcription](ctx, s.core(), listing(transcriptions.list, params), opts)
}

// All returns an iterator over the transcriptions of all pages; each loop over it begins with the first. It fetches a
// page when the loop reaches it, or earlier with [WithReadAhead]. Leaving the loop ends all requests. An error is
// yielded once, with a nil transcription, and ends the loop; it matches [ErrPagination] if the service does not say
// whether more pages follow. The transcriptions of a page share its memory: a program that keeps a few of many should
// copy them.
//
// A transcription that moves to the next page meanwhile is yielded once. If others are deleted meanwhile, some may
// not be yielded at all: confirm with Show that a transcription is gone before you delete a copy of it.
func (s *TranscriptionsService) All(
	ctx context.Context, params TranscriptionListParams, opts ...CallOption,
) iter.Seq2[*Transcription, error] {
	return all[Transcription](ctx, s.core(), listing(transcriptions.list, params), opts)
}

// Show returns the transcription with the given ID. It is retried after transient failures. The error matches
// [ErrNotFound] if there is none.
func (s *TranscriptionsService) Show(ctx context.Context, id ID, opts ...CallOption) (*Transcription, error) {
	return do(ctx, s.core(), call{op: transcriptions.show, id: id}, opts, readRecord[Transcription])
}

// FindByName returns the transcription with exactly the given name, as Show returns it. White space at the ends of a
// name and the form of its line breaks do not count. It searches with List, and is retried as List is. The error
// matches [ErrNotFound] only if a list that was read to its end has no such transcription, so a 404 of the search does
// not match; if there are several, it is a [*ConflictError] with the IDs of two. [WithOnce] searches the same way.
func (s *TranscriptionsService) FindByName(
	ctx context.Context, name string, opts ...CallOption,
) (*Transcription, error) {
	return findByName[Transcription](ctx, s.core(), transcriptions, name, opts)
}

// Store creates a transcription from an audio file and returns when the service has transcribed it, which may take
// minutes and is billed. The file is streamed, never held in memory. Store is retried only where the service cannot
// have executed the request, which includes an upload that broke off before its end, and where the file can be read
// again: see [File]. A failed Store may still have created, and billed, the transcription: ask [OutcomeOf] before
// storing it again, or use [WithOnce].
func (s *TranscriptionsService) Store(
	ctx context.Context, params TranscriptionStoreParams, opts ...CallOption,
) (*Transcription, error) {
	store := call{
		op: transcriptions.store, form: valuesOf(params), file: &params.File,
		required: []string{"name"}, unlisted: unlisted(params),
	}
	return do(ctx, s.core(), store, opts, readRecord[Transcription])
}

// Update changes the fields that are set, and no others, and returns the transcription as it then is. It is retried
// after transient failures.
func (s *TranscriptionsService) Update(
	ctx context.Context, id ID, params TranscriptionUpdateParams, opts ...CallOption,
) (*Transcription, error) {
	update := call{op: transcriptions.update, id: id, form: valuesOf(params)}
	return do(ctx, s.core(), update, opts, readRecord[Transcription])
}

// Delete removes a transcription. It is retried after transient failures; after an attempt that may have been
// executed, a 404 is success.
func (s *TranscriptionsService) Delete(ctx context.Context, id ID, opts ...CallOption) error {
	_, err := do(ctx, s.core(), call{op: transcriptions.remove, id: id}, opts, readDeleted)
	return err
}

// core is the service's client, and noClient for a service that NewClient did not make.
func (s *TranscriptionsService) core() *Client {
	if s == nil {
		return noClient
	}
	return cmp.Or(s.client, noClient)
}
