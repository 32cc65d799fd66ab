package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
)

// requests counts the requests of an operation.
func requests(srv *aicontenttest.Server, op aicontent.Operation) int {
	return len(slices.DeleteFunc(srv.Requests(), func(r aicontenttest.Request) bool { return r.Operation != op }))
}

func TestAnAgentThatLosesPatienceGetsTheRecordOfItsFirstCall(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		start := time.Now()
		for range 5 {
			a.mustTimeOut(t, 30*time.Second, lighthouse(1))
		}
		a.mustCreate(t, "create_image", lighthouse(1))
		assert.InDelta(t, 160, time.Since(start).Seconds(), 5)
		assert.Len(t, srv.Records(), 1)
		assert.Equal(t, 1, requests(srv, aicontent.ImagesStore))
		assert.Equal(t, 1, requests(srv, aicontent.ImagesList), "nothing was cut off, and so nothing looked for")
	}, aicontenttest.LatencyOn(aicontent.ImagesStore, 160*time.Second))
}

func TestARecordIsReturnedWhenItIsWhole(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, recordings(t, 1))
		assert.NotEmpty(t, a.mustCreate(t, "create_image", lighthouse(1)).Record.URL)
		transcription := a.mustCreate(t, "transcribe_file", map[string]any{"path": "0.wav"})
		assert.NotEmpty(t, transcription.Record.Result)
	}, aicontenttest.LateResult)
}

func TestARecordThatStaysIncompleteIsReturnedAsIncomplete(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		for _, billed := range []bool{true, false} {
			text := a.must(t, "create_image", lighthouse(1))
			assert.Contains(t, text, "The same call looks again, and costs nothing.")
			assert.Contains(t, text, fmt.Sprintf(`"billed_by_this_call":%t`, billed))
		}
	}, aicontenttest.NullURLs)
}
