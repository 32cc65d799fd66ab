package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

func (s *server) recordings() *collection[aicontent.Transcription, aicontent.TranscriptionListParams] {
	transcriptions := s.client.Transcriptions
	return &collection[aicontent.Transcription, aicontent.TranscriptionListParams]{
		server: s, name: "recording", filters: recordingFilters, list: transcriptions.List, all: transcriptions.All,
		show: transcriptions.Show, texts: func(transcription *aicontent.Transcription) url.Values {
			return url.Values{"name": {transcription.Name}, "result": {transcription.Result}}
		},
		update: s.updateRecording, delete: transcriptions.Delete, read: s.readRecording,
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
func (s *server) readRecording(w http.ResponseWriter, r *http.Request) (draft, error) {
	u, err := readUpload(r, http.MaxBytesReader(w, r.Body, s.maxUpload))
	if err == nil && r.ContentLength > s.maxUpload {
		err = unsent{&http.MaxBytesError{Limit: s.maxUpload}}
	}
	return s.draftRecording(u.fields, u.file), err
}

func (s *server) draftRecording(form url.Values, file aicontent.File) draft {
	return draft{form, func(ctx context.Context) (aicontent.ID, error) {
		transcription, err := s.client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name:        form.Get("name"),
			Description: form.Get("description"),
			Language:    aicontent.CountryCode(strings.ToUpper(strings.TrimSpace(form.Get("language")))),
			File:        file,
		})
		if err != nil {
			return "", err
		}
		return transcription.ID, nil
	}}
}

// maxHead is how much of a file is looked at to tell whether it may be a recording, in bytes.
const maxHead = 4 << 10

// checkRecording says what is wrong with a form before its file is uploaded. It looks at the file's first bytes only.
func (s *server) checkRecording(w http.ResponseWriter, r *http.Request) {
	u, err := readUpload(r, r.Body)
	if u.content != nil {
		var head []byte
		head, err = io.ReadAll(io.LimitReader(u.content, maxHead))
		u.file = aicontent.FileFromBytes(u.file.Name, head)
	}
	if err == nil {
		_, err = s.forms.find(u.fields.Get("form"))
	}
	if err == nil {
		// With a context that has ended, Store checks what it is given and sends nothing.
		ended, end := context.WithCancel(r.Context())
		end()
		_, err = s.draftRecording(u.fields, u.file).store(ended)
	}
	if errors.Is(err, context.Canceled) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.recordings().refuse(w, r, u.fields, err)
}

func (s *server) updateRecording(ctx context.Context, id aicontent.ID, form url.Values) error {
	params := aicontent.TranscriptionUpdateParams{
		Name: posted(form, "name"), Result: posted(form, "result"), Favorite: favorite(form),
	}
	_, err := s.client.Transcriptions.Update(ctx, id, params)
	return err
}
