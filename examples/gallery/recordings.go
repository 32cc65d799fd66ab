package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

func (s *server) recordings() *collection[aicontent.Transcription, aicontent.TranscriptionListParams] {
	transcriptions := s.client.Transcriptions
	return &collection[aicontent.Transcription, aicontent.TranscriptionListParams]{
		server: s, name: "recording", limit: s.maxUpload, filters: recordingFilters,
		list: transcriptions.List, show: transcriptions.Show, find: s.names.Transcriptions.Find,
		store: s.storeRecording, update: s.updateRecording,
		delete: transcriptions.Delete,
		id:     func(transcription *aicontent.Transcription) aicontent.ID { return transcription.ID },
	}
}

func recordingFilters(query url.Values) aicontent.TranscriptionListParams {
	return aicontent.TranscriptionListParams{
		Search:   query.Get("search"),
		SearchBy: aicontent.TranscriptionSearchBy(query.Get("search_by")),
		Favorite: favorite(query),
		PerPage:  pageSize,
		SortBy:   aicontent.SortBy(cmp.Or(query.Get("sort_by"), "id")),
		Sort:     aicontent.Sort(cmp.Or(query.Get("sort"), "desc")),
	}
}

// storeRecording stores the file of the form, which can be read again if an attempt fails.
func (s *server) storeRecording(
	ctx context.Context, name string, r *http.Request,
) (*aicontent.Transcription, bool, error) {
	form := r.PostForm
	params := aicontent.TranscriptionStoreParams{
		Name:        name,
		Description: form.Get("description"),
		Language:    aicontent.CountryCode(strings.ToUpper(form.Get("language"))),
	}
	if file, header, err := r.FormFile("file"); err == nil {
		defer file.Close()
		params.File = aicontent.FileFromReader(header.Filename, file)
	}
	return s.names.Transcriptions.Store(ctx, params)
}

func (s *server) updateRecording(ctx context.Context, id aicontent.ID, form url.Values) error {
	params := aicontent.TranscriptionUpdateParams{
		Name: posted(form, "name"), Result: posted(form, "result"), Favorite: favorite(form),
	}
	_, err := s.client.Transcriptions.Update(ctx, id, params)
	return err
}
