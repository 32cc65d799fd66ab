package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

type recordings = collection[
	aicontent.Transcription, aicontent.TranscriptionListParams, aicontent.TranscriptionStoreParams,
]

func (s *server) recordings() *recordings {
	transcriptions := s.client.Transcriptions
	return &recordings{
		server: s, name: "recording", filters: recordingFilters, list: transcriptions.List, all: transcriptions.All,
		show: transcriptions.Show, update: s.updateRecording, delete: transcriptions.Delete, read: s.readRecording,
		check: transcriptions.Validate, store: s.names.Transcriptions.Store, find: s.names.Transcriptions.Find,
		id: func(transcription *aicontent.Transcription) aicontent.ID { return transcription.ID },
		texts: func(transcription *aicontent.Transcription) url.Values {
			return url.Values{"name": {title(transcription.Name)}, "result": {transcription.Result}}
		},
	}
}

func recordingFilters(query url.Values, size aicontent.PerPage) aicontent.TranscriptionListParams {
	params := aicontent.TranscriptionListParams{
		Search:   strings.TrimSpace(query.Get("search")),
		SearchBy: aicontent.TranscriptionSearchBy(query.Get("search_by")),
		Favorite: favorite(query),
		PerPage:  size,
	}
	params.SortBy, params.Sort = order(query)
	return params
}

// readRecording reads the form up to the file, which is passed on to the service while it arrives. If the upload ends
// early, for example because the visitor leaves the page, so does the request to the service.
func (s *server) readRecording(
	w http.ResponseWriter, r *http.Request,
) (url.Values, aicontent.TranscriptionStoreParams, error) {
	form, file, err := readUpload(r, http.MaxBytesReader(w, r.Body, s.maxUpload))
	if err == nil && r.ContentLength > s.maxUpload {
		err = unsent{&http.MaxBytesError{Limit: s.maxUpload}}
	}
	withToken(form)
	return form, aicontent.TranscriptionStoreParams{
		Name:        recordName(form),
		Description: form.Get("description"),
		Language:    aicontent.CountryCode(strings.ToUpper(strings.TrimSpace(form.Get("language")))),
		File:        file,
	}, err
}

// checkRecording says what is wrong with a form before its file is uploaded: this one has only the file's first bytes.
// If the form was sent before, it leads to what became of it.
func (s *server) checkRecording(w http.ResponseWriter, r *http.Request) {
	c := s.recordings()
	form, params, err := c.read(w, r)
	var sent sentForm
	if err == nil {
		sent, _, err = c.lookUp(r, form.Get("form"))
	}
	if err == nil && (sent.working > 0 || sent.id != "") {
		http.Redirect(w, r, c.resultPath(form.Get("form")), http.StatusSeeOther)
		return
	}
	if err == nil {
		err = c.check(params)
	}
	if err != nil {
		c.renderForm(w, r, form, c.explainForm(r, form, err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) updateRecording(ctx context.Context, id aicontent.ID, form url.Values) error {
	params := aicontent.TranscriptionUpdateParams{
		Name: posted(form, "name"), Result: posted(form, "result"), Favorite: favorite(form),
	}
	_, err := s.client.Transcriptions.Update(ctx, id, params)
	return err
}
