package recipes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

const largestUpload = 512 << 20

// recordingName returns the name of the record of a form. Its beginning is that of these records alone, or visitors
// could ask for the records of other programs, whose names are easier to guess.
func recordingName(r *http.Request) string { return "web-" + r.PathValue("id") }

// passOn handles PUT /recordings/{id}: it streams the body to the service as it arrives. The page with the form has the
// ID, from rand.Text, so a form submitted twice makes one transcription.
func passOn(client *aicontent.Client, names *once.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 { // the upload would be chunked, which some deployments refuse
			http.Error(w, "the request has no Content-Length", http.StatusLengthRequired)
			return
		}
		if r.ContentLength > largestUpload { // before any of it is passed on
			http.Error(w, "the recording is too large", http.StatusRequestEntityTooLarge)
			return
		}
		// What was sent is billed, so the call goes on if the visitor leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 15*time.Minute)
		defer cancel()
		file := aicontent.FileFromReader("message.m4a", http.MaxBytesReader(w, r.Body, largestUpload))
		file.Size = r.ContentLength
		params := aicontent.TranscriptionStoreParams{Name: recordingName(r), File: file}
		transcription, _, err := names.Transcriptions.Store(ctx, params, aicontent.WithStallTimeout(30*time.Second))
		if err == nil && transcription.Result == "" { // the service has responded before the text was there
			transcription, err = client.Transcriptions.Wait(ctx, transcription.ID)
		}
		if err != nil {
			http.Error(w, http.StatusText(statusOf(err)), statusOf(err))
			return
		}
		sendText(w, transcription.Result)
	}
}

// result handles GET /recordings/{id}, which the page requests once its upload is gone, and again after each 504. It
// waits with the visitor.
func result(names *once.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
		defer cancel()
		transcription, err := names.Transcriptions.Find(ctx, recordingName(r))
		if err != nil {
			http.Error(w, http.StatusText(statusOf(err)), statusOf(err))
			return
		}
		sendText(w, transcription.Result)
	}
}

// sendText sends a text that browsers show as it is. Without a Content-Type, text like HTML would run.
func sendText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintln(w, text)
}

// statusOf returns the HTTP status for an error of the SDK.
func statusOf(err error) int {
	var response *aicontent.APIError
	stored := errors.As(err, &response) && response.Method == http.MethodPost
	switch outcome := aicontent.OutcomeOf(err); {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, aicontent.ErrNotFound) && !stored && !aicontent.Retryable(err):
		return http.StatusNotFound // no record has the ID or the name; after a POST, there is no API at the base URL
	case outcome == aicontent.OutcomeUnknown:
		return http.StatusGatewayTimeout // the record may exist: look before sending it again
	case errors.Is(err, aicontent.ErrConflict):
		return http.StatusConflict // another record has the name
	case outcome == aicontent.OutcomeExecuted:
		return http.StatusBadGateway // the record exists, but could not be read
	case errors.As(err, new(*http.MaxBytesError)), errors.Is(err, aicontent.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, aicontent.ErrFile) && errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout // the visitor's upload stalled
	case errors.Is(err, aicontent.ErrFile):
		return http.StatusBadRequest // the visitor's upload broke off
	case errors.Is(err, aicontent.ErrInvalid):
		return http.StatusUnprocessableEntity
	case aicontent.Retryable(err):
		return http.StatusServiceUnavailable // nothing was created: the visitor may retry
	}
	return http.StatusBadGateway // the key, the account or the base URL: the operator has to act
}

// keep writes an upload to a file, so that it can be sent more than once. remove deletes the file.
func keep(name string, body io.Reader) (upload aicontent.File, remove func(), err error) {
	kept, err := os.CreateTemp("", "upload-*")
	if err != nil {
		return aicontent.File{}, nil, err
	}
	remove = func() {
		kept.Close()
		os.Remove(kept.Name())
	}
	if _, err = io.Copy(kept, body); err == nil {
		_, err = kept.Seek(0, io.SeekStart)
	}
	if err != nil {
		remove()
		return aicontent.File{}, nil, err
	}
	return aicontent.FileFromReader(name, kept), remove, nil
}
