package aicontent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// TranscriptionsService has the methods for transcriptions. Use [Client].Transcriptions. It is safe for concurrent use.
type TranscriptionsService struct {
	client *Client
}

// Transcription is a transcription as the service sent it. A field that the service omits or sends as null, and a time
// that cannot be read, is zero: a program that deletes old transcriptions must leave out those whose CreatedAt is zero.
type Transcription struct {
	ID          ID          `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Language    CountryCode `json:"language"`
	Result      string      `json:"result"` // the transcribed text
	Favorite    bool        `json:"favorite"`

	// Undocumented; set if the service sends them.
	Words     int       `json:"words"`               // number of words in Result
	CreatedAt time.Time `json:"created_at,omitzero"` // zero if unknown, never a sign of age; UTC if no zone was sent
	UpdatedAt time.Time `json:"updated_at,omitzero"` // likewise

	raw string
}

// Raw returns a copy of the record as sent, including unknown members, or nil if there was none.
func (t *Transcription) Raw() json.RawMessage { return append(json.RawMessage(nil), t.raw...) }

// Equal reports whether the fields are equal, ignoring Raw and time zones.
func (t Transcription) Equal(other Transcription) bool {
	sameTimes := t.CreatedAt.Equal(other.CreatedAt) && t.UpdatedAt.Equal(other.UpdatedAt)
	t.raw, t.CreatedAt, t.UpdatedAt = other.raw, other.CreatedAt, other.UpdatedAt
	return sameTimes && t == other
}

// String returns the ID and the name, not the text.
func (t Transcription) String() string { return fmt.Sprintf("Transcription(%s %q)", t.ID, t.Name) }

// UnmarshalJSON reads a record as the client does. A JSON null is a no-op. A struct that embeds a Transcription needs
// an UnmarshalJSON of its own to read its other fields.
func (t *Transcription) UnmarshalJSON(data []byte) error { return unmarshalRecord(t, data) }

func (t *Transcription) parts() (id *ID, name, raw *string) { return &t.ID, &t.Name, &t.raw }

// TranscriptionListParams filter and order a list. The zero value selects all transcriptions, newest first. The API has
// no filter for transcriptions that changed since some time.
type TranscriptionListParams struct {
	Search   string                `url:"search,omitempty"`       // text to search for; empty is no search
	SearchBy TranscriptionSearchBy `url:"search_by,omitempty"`    // where to search; zero is the name
	Favorite *bool                 `url:"favorite,int,omitempty"` // nil selects all, new(true) the favorites
	SortBy   SortBy                `url:"sort_by,omitempty"`      // zero is the ID, the order of creation
	Sort     Sort                  `url:"sort,omitempty"`         // zero is descending
	PerPage  PerPage               `url:"per_page,omitempty"`     // zero leaves the choice to the service
}

// TranscriptionStoreParams describe the transcription to create. Name and File are required.
type TranscriptionStoreParams struct {
	Name        string      `url:"name"`
	File        File        `url:"-"`                     // see [File] for known formats
	Description string      `url:"description,omitempty"` // of the audio file
	Language    CountryCode `url:"language,omitempty"`    // a country, as the API documents it: ISO 3166-1 alpha-2
}

func (p TranscriptionStoreParams) arguments() arguments {
	return arguments{op: transcriptions.store, params: p, file: &p.File}
}

// TranscriptionUpdateParams are the fields to change; a nil field is not changed. The request is sent even if all are
// nil.
type TranscriptionUpdateParams struct {
	Name     *string `url:"name,omitempty"`   // must not be empty
	Result   *string `url:"result,omitempty"` // the corrected text; some services reject an empty one with 422
	Favorite *bool   `url:"favorite,int,omitempty"`
}

// List returns one page of transcriptions. It is retried after transient failures. WithQuery("page", "3") selects page
// 3, except on a deployment with cursors: Current of the page is then not 3.
func (s *TranscriptionsService) List(
	ctx context.Context, params TranscriptionListParams, opts ...CallOption,
) (*Page[Transcription], error) {
	return list[Transcription](ctx, s.client, arguments{op: transcriptions.list, params: params}, opts)
}

// All returns an iterator over the transcriptions of all pages. It behaves like [ImagesService.All].
func (s *TranscriptionsService) All(
	ctx context.Context, params TranscriptionListParams, opts ...CallOption,
) iter.Seq2[*Transcription, error] {
	return all[Transcription](ctx, s.client, arguments{op: transcriptions.list, params: params}, opts)
}

// Show returns the transcription with the given ID. It is retried after transient failures. If there is none, the error
// matches [ErrNotFound].
func (s *TranscriptionsService) Show(ctx context.Context, id ID, opts ...CallOption) (*Transcription, error) {
	return call(ctx, s.client, arguments{op: transcriptions.show, id: id}, opts, readRecord[Transcription])
}

// FindByName returns the transcription with exactly the given name. It behaves like [ImagesService.FindByName].
func (s *TranscriptionsService) FindByName(
	ctx context.Context, name string, opts ...CallOption,
) (*Transcription, error) {
	return findByName[Transcription](ctx, s.client, transcriptions, name, opts)
}

// Validate returns the [*ValidationError] that Store would return before it sends anything, or nil, with the options of
// the client and of the call. Use it when you accept a job that runs later. It does not look at the file, which may be
// missing.
func (s *TranscriptionsService) Validate(params TranscriptionStoreParams, opts ...CallOption) error {
	return s.client.validate(params.arguments(), opts)
}

// Store creates a transcription from an audio file and returns when the service has transcribed it, which may take
// minutes and is billed. The file is streamed. Store is retried only if the service cannot have executed the request,
// as when an upload was cut off, and the file can be read again: see [FileFromReader]. A failed Store may still have
// created, and billed, the transcription: ask [OutcomeOf] before you store it again, or use
// [github.com/aicontent/aicontent-go/once]. Some services respond before the text is there: see Wait.
func (s *TranscriptionsService) Store(
	ctx context.Context, params TranscriptionStoreParams, opts ...CallOption,
) (*Transcription, error) {
	return call(ctx, s.client, params.arguments(), opts, readRecord[Transcription])
}

// Update changes only the fields that are set and returns the updated transcription. It is retried after transient
// failures; a retry may overwrite changes that others made meanwhile.
func (s *TranscriptionsService) Update(
	ctx context.Context, id ID, params TranscriptionUpdateParams, opts ...CallOption,
) (*Transcription, error) {
	update := arguments{op: transcriptions.update, id: id, params: params}
	return call(ctx, s.client, update, opts, readRecord[Transcription])
}

// Delete deletes a transcription. It is retried after transient failures; then a 404 is success if an earlier attempt
// may have been executed. After a Delete that was cut off, call it again: [ErrNotFound] means that it is gone.
func (s *TranscriptionsService) Delete(ctx context.Context, id ID, opts ...CallOption) error {
	_, err := call(ctx, s.client, arguments{op: transcriptions.remove, id: id}, opts, readDeleted)
	return err
}
