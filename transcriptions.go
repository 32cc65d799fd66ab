package aicontent

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// TranscriptionsService has the operations on transcriptions. It is reached through
// [Client].Transcriptions and is safe for concurrent use.
type TranscriptionsService struct {
	client *Client
}

// Transcription is a transcription as the service sends it. The interface documents what can be set, not
// what is answered: a member that a deployment leaves out, or sends as null, is the zero value.
type Transcription struct {
	ID          ID
	Name        string
	Description string
	Language    CountryCode
	Result      string // the text that was heard
	Favorite    bool

	// The interface does not list these; many deployments send them.
	Words     int       // how many words the result has
	CreatedAt time.Time // UTC where the deployment names no zone
	UpdatedAt time.Time

	raw json.RawMessage
}

// Raw is the record as it was sent, unknown members included, for json.Unmarshal; nil for a transcription that was
// not sent. It shares memory with the other records of its page and must not be changed.
func (t *Transcription) Raw() json.RawMessage { return t.raw }

// MarshalJSON writes the record as it was sent, unknown members included, with the fields that were changed since.
func (t Transcription) MarshalJSON() ([]byte, error) { return marshal(&t, t.raw) }

// String is the record as JSON.
func (t Transcription) String() string {
	text, _ := t.MarshalJSON()
	return string(text)
}

// UnmarshalJSON reads a record as tolerantly as the client does.
func (t *Transcription) UnmarshalJSON(data []byte) error { return unmarshal(t, data) }

func (t *Transcription) fields(list []field) []field {
	return append(list,
		field{"id", (*string)(&t.ID)},
		field{"name", &t.Name},
		field{"description", &t.Description},
		field{"language", (*string)(&t.Language)},
		field{"result", &t.Result},
		field{"favorite", &t.Favorite},
		field{"words", &t.Words},
		field{"created_at", &t.CreatedAt},
		field{"updated_at", &t.UpdatedAt},
	)
}

func (t *Transcription) keep(raw json.RawMessage) { t.raw = raw }
func (t *Transcription) identity() ID             { return t.ID }

// TranscriptionListParams choose and order the transcriptions of a list. The zero value takes all of
// them, the newest first.
type TranscriptionListParams struct {
	Search   string                `url:"search,omitempty"`       // the text to search for; empty is no search
	SearchBy TranscriptionSearchBy `url:"search_by,omitempty"`    // where to search; zero is the name
	Favorite *bool                 `url:"favorite,int,omitempty"` // nil is both; see [Ptr]
	SortBy   SortBy                `url:"sort_by,omitempty"`      // zero is the id, by which the newest come first
	Sort     Sort                  `url:"sort,omitempty"`         // zero is descending
	PerPage  PerPage               `url:"per_page,omitempty"`     // zero is the service's choice
}

func (params *TranscriptionListParams) check(p *problems) {
	oneOf(p, "search_by", params.SearchBy, transcriptSearch)
	oneOf(p, "sort_by", params.SortBy, sortKeys)
	oneOf(p, "sort", params.Sort, sorts)
	oneOf(p, "per_page", params.PerPage, perPages)
}

// TranscriptionStoreParams say what to transcribe. Name and File are required.
type TranscriptionStoreParams struct {
	Name        string      `url:"name"`
	File        File        `url:"-"`                     // the audio file
	Description string      `url:"description,omitempty"` // of the audio file
	Language    CountryCode `url:"language,omitempty"`    // of the audio file, by country
}

func (params *TranscriptionStoreParams) check(p *problems) {
	p.required("name", params.Name)
	p.country("language", params.Language)
}

// TranscriptionUpdateParams are the fields to change. A nil field stays as it is.
type TranscriptionUpdateParams struct {
	Name     *string `url:"name,omitempty"`
	Result   *string `url:"result,omitempty"` // the corrected text; may be empty
	Favorite *bool   `url:"favorite,int,omitempty"`
}

// List retrieves one page of transcriptions. It is tried again after whatever passes.
func (s *TranscriptionsService) List(ctx context.Context, params TranscriptionListParams, opts ...CallOption) (*Page[Transcription], error) {
	return list[Transcription](ctx, s.client, call{
		op: "transcriptions.list", method: http.MethodGet, path: []string{"transcriptions"}, query: valuesOf(params), check: params.check,
	}, opts)
}

// All walks over the transcriptions of all pages: see [ImagesService.All].
func (s *TranscriptionsService) All(ctx context.Context, params TranscriptionListParams, opts ...CallOption) iter.Seq2[*Transcription, error] {
	return walk(ctx, func(ctx context.Context) (*Page[Transcription], error) { return s.List(ctx, params, opts...) })
}

// Show retrieves one transcription. It is tried again after whatever passes. An id that the service does not know is
// [ErrNotFound].
func (s *TranscriptionsService) Show(ctx context.Context, id ID, opts ...CallOption) (*Transcription, error) {
	return do(ctx, s.client, call{
		op: "transcriptions.show", method: http.MethodGet, path: []string{"transcriptions", string(id)}, check: id.check,
	}, opts, readTranscription)
}

// Store creates a transcription from an audio file and returns when the service has transcribed it, which may take minutes
// and is billed. The file is streamed, never held in memory. The call is sent again only where the service cannot have
// acted and the file can be read again: see [File]. A failed Store may still have created, and billed, the record: ask
// [OutcomeOf] before sending it again, or give [WithOnce], which [ImagesService.Store] explains.
func (s *TranscriptionsService) Store(ctx context.Context, params TranscriptionStoreParams, opts ...CallOption) (*Transcription, error) {
	return do(ctx, s.client, call{
		op: "transcriptions.store", method: http.MethodPost, path: []string{"transcriptions"}, form: valuesOf(params), body: multipartWith(&params.File),
		check: params.check, name: params.Name, find: find,
	}, opts, readTranscription)
}

// Update changes the fields that are set, and only those, and returns the transcription as it then is. It is tried
// again after whatever passes: a second time it changes nothing more.
func (s *TranscriptionsService) Update(ctx context.Context, id ID, params TranscriptionUpdateParams, opts ...CallOption) (*Transcription, error) {
	return do(ctx, s.client, call{
		op: "transcriptions.update", path: []string{"transcriptions", string(id)}, form: valuesOf(params), body: urlencoded,
		check: func(p *problems) { id.check(p); p.notBlank("name", params.Name) },
	}, opts, readTranscription)
}

// Delete removes a transcription. It is tried again after whatever passes; when an earlier attempt may have
// been carried out, not finding the transcription any more is success.
func (s *TranscriptionsService) Delete(ctx context.Context, id ID, opts ...CallOption) error {
	_, err := do(ctx, s.client, call{
		op: "transcriptions.delete", method: http.MethodDelete, path: []string{"transcriptions", string(id)}, check: id.check,
	}, opts, readDeleted)
	return err
}

func readTranscription(a *answer) (*Transcription, error) {
	return readRecord[Transcription](a, "transcription")
}
