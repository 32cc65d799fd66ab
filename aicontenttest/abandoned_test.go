package aicontenttest

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// changes are requests that change something on a server with one image.
func changes() map[aicontent.Operation]request {
	return map[aicontent.Operation]request{
		aicontent.ImagesStore:         post("/api/v1/images", storeForm),
		aicontent.ImagesUpdate:        patch("/api/v1/images/1", "name=changed"),
		aicontent.ImagesDelete:        remove("/api/v1/images/1"),
		aicontent.TranscriptionsStore: upload(namePart, filePart),
	}
}

// A program that is killed, or gives up waiting, has created its record all the same.
func TestTheServiceFinishesWhatAClientHasLeft(t *testing.T) {
	for op := range changes() {
		inBubbles(t, func(t *testing.T, s *Server) {
			fill(s, 1)
			_, err := trySendFor(s, 10*time.Second, changes()[op])
			require.Error(t, err)
			time.Sleep(49 * time.Second)
			assert.False(t, s.Requests()[0].Acted, "%s took less than its latency", op)
			time.Sleep(2 * time.Second)
			assert.True(t, s.Requests()[0].Acted, op)
		}, LatencyOn(op, time.Minute))
	}
}

// awaitForms waits until the server has read the forms of n requests.
func awaitForms(s *Server, n int) {
	for {
		read := 0
		for _, r := range s.Requests() {
			if r.Form != nil {
				read++
			}
		}
		if read >= n {
			return
		}
		runtime.Gosched()
	}
}

func TestDropAbandonedExecutesNoRequestThatAClientHasLeft(t *testing.T) {
	for op, r := range changes() {
		inBubble(t, func(t *testing.T, s *Server) {
			fill(s, 1)
			_, err := trySendFor(s, 10*time.Second, r)
			require.Error(t, err)
			time.Sleep(2 * time.Minute)
			assert.False(t, s.Requests()[0].Acted, op)
			assert.Zero(t, s.Requests()[0].Status)
		}, DropAbandoned(), LatencyOn(op, time.Minute))
	}
}

// A form of which a part is missing is not executed.
func TestAFormThatWasCutOffIsNotExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		_, err := trySendFor(s, time.Second, upload(namePart, filePart+strings.Repeat("x", 1<<20)))
		require.Error(t, err)
		time.Sleep(time.Hour)
		assert.Empty(t, s.Transcriptions())
		assert.False(t, s.Requests()[0].Acted)
	}, SlowUpload(1<<10), Latency(time.Second))
}

// A cleanup does not take as long as the latency, and what was under way is not lost.
func TestCloseEndsTheLatency(t *testing.T) {
	late := LateAct(504, time.Hour)
	for network, opts := range everyNetwork {
		t.Run(network, func(t *testing.T) {
			s := started(t, append(opts, LatencyOn(aicontent.ImagesStore, time.Hour))...)
			s.FaultOn(aicontent.TranscriptionsStore, 1, late)
			assert.Equal(t, 504, send(t, s, upload(namePart, filePart)).status)
			s.FaultOn(aicontent.ImagesStore, 1, late)
			failed := make(chan error, 2)
			for range cap(failed) {
				go func() {
					_, err := trySend(s, post("/api/v1/images", storeForm))
					failed <- err
				}()
			}
			awaitForms(s, 3)
			start := time.Now()
			s.Close()
			assert.Less(t, time.Since(start), time.Minute)
			for range cap(failed) {
				assert.Error(t, <-failed, "nobody sees the response of a server that is closed")
			}
			assert.Len(t, s.Images(), 2)
			assert.Len(t, s.Transcriptions(), 1)
			for _, r := range s.Requests() {
				assert.True(t, r.Acted)
			}
			s.Close()
			assert.Len(t, s.Records(), 3)
			_, err := trySend(s, get("/api/v1/images"))
			assert.Error(t, err)
		})
	}
}

func TestABubbleEndsWithRequestsUnderWay(t *testing.T) {
	for _, opts := range bubbleNetworks {
		var s *Server
		synctest.Test(t, func(t *testing.T) {
			s = NewServer(t, append(opts, Latency(time.Hour), DropAbandoned())...)
			s.Fault(LateAct(504, 24*time.Hour))
			assert.Equal(t, 504, send(t, s, post("/api/v1/images", storeForm)).status)
			_, err := trySendFor(s, time.Second, post("/api/v1/images", storeForm))
			require.Error(t, err)
			go func() { _, _ = trySend(s, post("/api/v1/images", storeForm)) }()
			synctest.Wait()
			start := time.Now()
			s.Close()
			assert.Zero(t, time.Since(start))
		})
		assert.Len(t, s.Images(), 1, "what was late, and not what was abandoned")
	}
}
