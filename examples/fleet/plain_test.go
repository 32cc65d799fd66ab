package main

import (
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// storeError is the error of an upload that may be repeated.
func storeError(t *testing.T, file aicontent.File, on aicontenttest.Operation, fault aicontenttest.Fault) error {
	t.Helper()
	srv := aicontenttest.NewServer(t)
	srv.FaultOn(on, 100, fault)
	once := aicontent.RetryPolicy{MaxAttempts: 1, SettleTime: -1}
	client := srv.Client(aicontent.WithRetryPolicy(once), aicontent.WithTimeout(time.Second))
	_, err := client.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{Name: "fleet-1", File: file},
		aicontent.WithOnceSince(time.Now().Add(-time.Second)))
	require.Error(t, err)
	return err
}

func unauthorized(t *testing.T) error {
	t.Helper()
	file := aicontent.FileFromBytes("a.wav", noise(1, 500))
	return storeError(t, file, aicontenttest.TranscriptionsList, aicontenttest.Status(401, `{"message":"Unauthenticated."}`))
}

func TestErrorsReadAsPlainWordsWithTheCauseFirst(t *testing.T) {
	wav := aicontent.FileFromBytes("a.wav", noise(1, 500))
	list, store := aicontenttest.TranscriptionsList, aicontenttest.TranscriptionsStore
	down, stall := aicontenttest.Status(503, "x"), aicontenttest.Stall(aicontenttest.BeforeAnswer)
	tests := map[string]struct {
		err  error
		want string
	}{
		"no audio": {storeError(t, aicontent.FileFromBytes("a.pdf", []byte("%PDF-1.7 xxxxxxxxxx")), store, down),
			`^file "a\.pdf": must be an audio file, but it is a PDF document$`},
		"wrong key":  {unauthorized(t), `^401: Unauthenticated\., while looking for an earlier transcription$`},
		"refused":    {storeError(t, wav, list, aicontenttest.RefuseConnection()), `^the service closed the connection`},
		"no answer":  {storeError(t, wav, list, stall), `^no complete response within 1s \(host [0-9.:]+\), while looking`},
		"down":       {storeError(t, wav, store, down), `^503: x`},
		"end of job": {io.ErrUnexpectedEOF, "^unexpected EOF$"},
	}
	goName := regexp.MustCompile(`With\w*[A-Z]|context |\w+\.(store|list)\b|tcp`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Regexp(t, test.want, plain(test.err))
			assert.NotRegexp(t, goName, plain(test.err))
		})
	}
}
