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
		store: s.storeRecording,
		id:    func(transcription *aicontent.Transcription) aicontent.ID { return transcription.ID },
		text: func(transcription *aicontent.Transcription, field string) string {
			if field == "name" {
				return title(transcription.Name)
			}
			return transcription.Result
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

func (s *server) readRecording(
	w http.ResponseWriter, r *http.Request,
) (url.Values, aicontent.TranscriptionStoreParams, error) {
	err := parseUpload(w, r, s.maxUpload)
	form := r.PostForm
	return form, aicontent.TranscriptionStoreParams{
		Name:        recordName(form),
		Description: form.Get("description"),
		Language:    aicontent.CountryCode(strings.ToUpper(strings.TrimSpace(form.Get("language")))),
	}, err
}

// storeRecording stores the file of the form, which can be read again if an attempt fails.
func (s *server) storeRecording(
	ctx context.Context, r *http.Request, params aicontent.TranscriptionStoreParams,
) (*aicontent.Transcription, bool, error) {
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
