package aicontenttest

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
