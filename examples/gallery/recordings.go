package main

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

func recordingPath(id aicontent.ID) string { return "/recordings/" + url.PathEscape(string(id)) }

func (s *server) listRecordings(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	params := aicontent.TranscriptionListParams{
		Search:   strings.TrimSpace(query.Get("search")),
		SearchBy: aicontent.TranscriptionSearchBy(query.Get("search_by")),
		Favorite: onlyFavorites(query),
		PerPage:  perPage,
	}
	params.SortBy, params.Sort = order(query)
	get := func(opts ...aicontent.CallOption) (*aicontent.Page[aicontent.Transcription], error) {
		return s.client.Transcriptions.List(r.Context(), params, opts...)
	}
	transcriptions, err := fetchList(r.Context(), query, params, get)
	if err != nil {
		s.fail(w, r, s.explain(r, err, reading))
		return
	}
	s.render(w, r, "recordings", view{Title: "Recordings", Data: transcriptions})
}

// recordingForm is the content of the form for a new recording.
type recordingForm struct {
	aicontent.TranscriptionStoreParams
	MaxUpload int64
}

func (s *server) newRecording(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "new-recording", view{Title: "New recording", Data: recordingForm{MaxUpload: s.maxUpload}})
}

// createRecording passes the uploaded file on to the service while it arrives. If the upload ends early, for example
// because the visitor leaves the page, so does the request to the service.
func (s *server) createRecording(w http.ResponseWriter, r *http.Request) {
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, s.maxUpload)
	upload, err := readUpload(r)
	if err == nil && r.ContentLength > s.maxUpload {
		err = &http.MaxBytesError{Limit: s.maxUpload}
	}
	params := aicontent.TranscriptionStoreParams{
		Name:        upload.fields.Get("name"),
		Description: upload.fields.Get("description"),
		Language:    aicontent.CountryCode(strings.ToUpper(strings.TrimSpace(upload.fields.Get("language")))),
		File:        upload.file,
	}
	form := upload.fields.Get("form")
	var transcription *aicontent.Transcription
	if err == nil {
		transcription, err = once(&s.forms, form, func() (*aicontent.Transcription, error) {
			progress := func(p aicontent.Progress) { s.uploads.report(form, uploadEvent{Sent: p.Sent, Total: p.Total}) }
			return s.client.Transcriptions.Store(r.Context(), params, aicontent.WithProgress(progress))
		})
	}
	if err != nil {
		p := s.explain(r, err, creating)
		if mayExist(err) {
			p.LookAt = "/recordings?" + url.Values{"search": {strings.TrimSpace(params.Name)}}.Encode()
		}
		s.uploads.report(form, uploadEvent{End: p.Advice})
		discard(w, body, s.maxUpload)
		s.render(w, r, "new-recording", view{Title: "New recording", Problem: &p, Data: recordingForm{params, s.maxUpload}})
		return
	}
	http.Redirect(w, r, recordingPath(transcription.ID)+"?done=created", http.StatusSeeOther)
}

// discard reads the rest of an upload, within limits: browsers read the response only when everything is sent.
func discard(w http.ResponseWriter, body io.Reader, limit int64) {
	controller := http.NewResponseController(w)
	controller.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.CopyN(io.Discard, body, limit); errors.Is(err, io.EOF) {
		controller.SetReadDeadline(time.Time{})
	}
}

func (s *server) showRecording(w http.ResponseWriter, r *http.Request) {
	transcription, err := s.client.Transcriptions.Show(r.Context(), aicontent.ID(r.PathValue("id")))
	if err != nil {
		s.fail(w, r, s.explain(r, err, reading))
		return
	}
	s.render(w, r, "recording", view{Title: transcription.Name, Data: transcription})
}

// updateRecording updates the fields that the form has. If that fails, it shows the form again, as it was filled in.
func (s *server) updateRecording(w http.ResponseWriter, r *http.Request) {
	if !s.readForm(w, r) {
		return
	}
	id := aicontent.ID(r.PathValue("id"))
	params := aicontent.TranscriptionUpdateParams{
		Name: posted(r.PostForm, "name"), Result: posted(r.PostForm, "result"), Favorite: postedFavorite(r.PostForm),
	}
	_, err := s.client.Transcriptions.Update(r.Context(), id, params)
	switch {
	case err != nil && params.Name != nil:
		p := s.explain(r, err, changing)
		typed := &aicontent.Transcription{ID: id, Name: *params.Name, Result: r.PostForm.Get("result")}
		s.render(w, r, "recording", view{Title: "Correct", Problem: &p, Data: typed})
	case err != nil:
		s.fail(w, r, s.explain(r, err, changing))
	default:
		http.Redirect(w, r, cameFrom(r, "/recordings", recordingPath(id)), http.StatusSeeOther)
	}
}

func (s *server) deleteRecording(w http.ResponseWriter, r *http.Request) {
	if err := s.client.Transcriptions.Delete(r.Context(), aicontent.ID(r.PathValue("id"))); err != nil {
		s.fail(w, r, s.explain(r, err, changing))
		return
	}
	http.Redirect(w, r, "/recordings?done=deleted", http.StatusSeeOther)
}
