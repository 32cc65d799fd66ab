package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

func (s *server) addRecordings(mux *http.ServeMux) {
	texts := s.client.Transcriptions
	c := collection[aicontent.Transcription, aicontent.TranscriptionListParams, aicontent.TranscriptionUpdateParams]{
		server: s, name: "recording", limit: s.maxUpload,
		id:   func(text *aicontent.Transcription) aicontent.ID { return text.ID },
		list: texts.List, show: texts.Show, store: storeRecording, update: texts.Update, delete: texts.Delete,
		filters: recordingFilters, changes: recordingChanges,
	}
	c.addTo(mux)
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
func storeRecording(
	ctx context.Context, names *once.Client, name string, r *http.Request,
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
	return names.Transcriptions.Store(ctx, params)
}

func recordingChanges(form url.Values) aicontent.TranscriptionUpdateParams {
	return aicontent.TranscriptionUpdateParams{
		Name: posted(form, "name"), Result: posted(form, "result"), Favorite: favorite(form),
	}
}
