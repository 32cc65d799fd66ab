package aicontenttest

import (
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

func TestStallsEndWithTheClientAndWithTheServer(t *testing.T) {
	for _, place := range []Place{BeforeRead, MidUpload, BeforeResponse, MidResponse} {
		for _, network := range bubbleNetworks {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Int32
				s := NewServer(t, append(network, OnRequest(func(Request) { ended.Add(1) }))...)
				s.Fault(Stall(place))
				start := time.Now()
				_, err := trySendFor(s, time.Hour, post("/api/v1/images", storeForm))
				require.Error(t, err, place)
				assert.Equal(t, time.Hour, time.Since(start))
				synctest.Wait()
				assert.Equal(t, int32(1), ended.Load(), "the server does not wait for a client that has left")
				assert.Equal(t, place >= BeforeResponse, len(s.Images()) == 1)
			})
		}
		inBubbles(t, func(t *testing.T, s *Server) {
			s.Fault(Stall(place))
			time.AfterFunc(time.Minute, s.Close)
			_, err := trySend(s, post("/api/v1/images", storeForm))
			assert.Error(t, err)
		})
	}
}

func TestStallMidUploadTakesNoMore(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		stall := Stall(MidUpload)
		stall.Bytes = 1000
		s.Fault(stall)
		_, err := trySendFor(s, time.Minute, post("/api/v1/images", strings.Repeat("x", 1<<20)))
		require.Error(t, err)
		synctest.Wait()
		assert.Equal(t, int64(1000), s.Requests()[0].Received)
	})
}

func TestLateActCreatesTheRecordAfterItsResponse(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		s.Fault(LateAct(504, time.Minute))
		assert.Equal(t, 504, send(t, s, post("/api/v1/images", storeForm)).status)
		time.Sleep(time.Minute - time.Second)
		assert.Empty(t, s.Images())
		assert.False(t, s.Requests()[0].Acted)
		time.Sleep(2 * time.Second)
		assert.Len(t, s.Images(), 1)
		assert.True(t, s.Requests()[0].Acted)
		assert.EqualValues(t, "1", s.Requests()[0].RecordID)
	})
}

func TestLatencyDelaysTheResponse(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		start := time.Now()
		e := send(t, s, remove("/api/v1/images/1"))
		assert.Equal(t, `{"message":"Resource not found.","status":404}`, e.body)
		assert.Equal(t, 5*time.Second, time.Since(start))
	}, Latency(5*time.Second))
}

func TestInvalidJSONIsInvalidWhateverTheResponse(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"), OnResponse(func(r *Response) { r.Body = []byte("[]") }))
	for range 2 {
		s.Fault(InvalidJSON())
		assert.False(t, json.Valid([]byte(send(t, s, get("/api/v1/images")).body)))
		s.AddImage(aicontent.Image{Name: "n"})
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *Server) {
		hc := s.HTTPClient()
		for range 3 {
			req, reused := traced(signed(t, s, get("/api/v1/images")))
			resp, err := hc.Do(req)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			synctest.Wait()
			s.CloseIdleConnections()
			synctest.Wait()
			assert.False(t, *reused)
		}
	})
}
