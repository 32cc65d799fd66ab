package main

import (
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

func TestWorkerWhoseKeyIsRefusedStopsWithTheReason(t *testing.T) {
	for status, text := range map[int]string{401: "Unauthenticated.", 403: "This action is unauthorized."} {
		srv, q := deployment(t)
		srv.FaultOn(aicontenttest.TranscriptionsList, 100, aicontenttest.Status(status, `{"message":"`+text+`"}`))
		path := write(t, t.TempDir(), "a.wav", recording(1))
		c := &claim{q: q, id: fileID(t, path)}
		// An earlier run makes the worker look for its transcription.
		lost := time.Now().Add(-time.Minute)
		require.NoError(t, c.write(t.Context(), func(r *record) { r.State, r.Until = running, lost }))
		require.NoError(t, c.write(t.Context(), func(r *record) { r.State = queued }))
		require.NoError(t, produceAll(t.Context(), q, io.Discard, path))
		code, _, errOut := command(t, "work")
		assert.Equal(t, exitFailed, code)
		assert.Equal(t, "fleet: the service refuses the API key: "+strconv.Itoa(status)+": "+text+
			", while looking for an earlier transcription\n", errOut)

		// The job waits for a worker with another key.
		srv.ClearFaults()
		startTestWorker(t, q, srv)
		assert.Equal(t, done, outcome(t, q)["a.wav"].State)
	}
}
