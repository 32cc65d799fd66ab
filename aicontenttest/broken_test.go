package aicontenttest

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// unsized is a reader that cannot tell its size, so that the upload is chunked.
type unsized struct{ io.Reader }

// An upload that is broken off ends in the same way each time: otherwise one in fifty runs of a user's test fails.
func TestBrokenUploadsInMemoryEndTheSameWayEachTime(t *testing.T) {
	const uploads = 20
	for _, c := range []struct {
		name    string
		size    int
		chunked bool
		want    aicontent.Outcome
	}{
		{"one write", 300, false, aicontent.OutcomeUnknown},
		{"fits", 60_000, false, aicontent.OutcomeUnknown},
		{"fits, chunked", 60_000, true, aicontent.OutcomeUnknown},
		{"does not fit", 128 << 10, false, aicontent.OutcomeNotExecuted},
		{"does not fit, chunked", 128 << 10, true, aicontent.OutcomeNotExecuted},
	} {
		for network, opt := range map[string]Option{"HTTP/1": Personality(""), "TLS": TLS(), "HTTP/2": HTTP2()} {
			for _, f := range []Fault{
				CloseMidUpload(64), CloseBeforeRead(), CloseMidUpload(64).WithReset(), CloseBeforeRead().WithReset(),
			} {
				t.Run(c.name+", "+f.Name+" over "+network, func(t *testing.T) {
					texts := make(map[string]int)
					for range uploads {
						inBubble(t, func(t *testing.T, s *Server) {
							s.FaultOn(aicontent.TranscriptionsStore, 1, f)
							data := make([]byte, c.size)
							file := aicontent.FileFromBytes("talk.wav", data)
							if c.chunked {
								file = aicontent.FileFromReader("talk.wav", unsized{bytes.NewReader(data)})
							}
							start := time.Now()
							params := aicontent.TranscriptionStoreParams{Name: "n", File: file}
							_, err := s.Client(oneAttempt).Transcriptions.Store(t.Context(), params)
							assert.Equal(t, c.want, aicontent.OutcomeOf(err), "%v", err)
							var failed *aicontent.CallError
							require.ErrorAs(t, err, &failed)
							texts[failed.Err.Error()]++
							assert.Zero(t, time.Since(start), "nobody waits")
							assert.Empty(t, s.Records())
						}, opt)
					}
					assert.Len(t, texts, 1, "and says the same: %v", texts)
				})
			}
		}
	}
}

var oneAttempt = aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})

// paused is a recording of which a kilobyte comes in an hour.
type paused struct{ left int }

func (p *paused) Read(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Hour)
	return min(len(b), 1<<10), nil
}

// A fault does not wait for the rest of a file that comes slowly.
func TestFaultDoesNotWaitForTheRestOfASlowFile(t *testing.T) {
	for _, f := range []Fault{CloseMidUpload(64), CloseBeforeRead(), CloseBeforeRead().WithReset()} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Duration, 1)
			start := time.Now()
			s := NewServer(t, InMemoryNetwork(), OnRequest(func(Request) { ended <- time.Since(start) }))
			s.FaultOn(aicontent.TranscriptionsStore, 1, f)
			c := s.Client(oneAttempt, aicontent.WithStallTimeout(0))
			_, err := c.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
				Name: "n", File: aicontent.FileFromReader("talk.wav", &paused{100}),
			})
			assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), "%v", err)
			assert.Less(t, <-ended, 3*time.Hour, f.Name)
			time.Sleep(time.Hour) // the Read that the call has left behind returns
		})
	}
}

// A client that asks whether it may send the body is not asked for it before the connection is closed.
func TestCloseBeforeReadDoesNotAskForTheBody(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		s.FaultOn(aicontent.TranscriptionsStore, 1, CloseBeforeRead())
		hc := s.HTTPClient()
		hc.Transport.(*http.Transport).ExpectContinueTimeout = time.Hour
		sent := false
		body := readerFunc(func([]byte) (int, error) {
			sent = true
			return 0, io.EOF
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/transcriptions", body)
		require.NoError(t, err)
		req.Header.Set("Expect", "100-continue")
		_, err = hc.Do(req)
		assert.Error(t, err)
		assert.False(t, sent)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
