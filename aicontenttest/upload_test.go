package aicontenttest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

func TestSlowUploadsTakeTheirTime(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *Server) {
		start := time.Now()
		_, err := s.Client().Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
			Name: "Talk", File: aicontent.FileFromBytes("talk.wav", make([]byte, 500_000)),
		})
		require.NoError(t, err)
		assert.InDelta(t, 50, time.Since(start).Seconds(), 1)
		assert.Equal(t, int64(500_000), s.Requests()[0].File.Size)
	}, SlowUpload(10_000))
	_, err := Start(SlowUpload(0))
	assert.Error(t, err)
}

func TestASlowUploadEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan Request, 1)
		s := NewServer(t, InMemoryNetwork(), SlowUpload(1), OnRequest(func(r Request) { ended <- r }))
		hc := s.HTTPClient()
		hc.Timeout = 10*time.Second + time.Second/2
		start := time.Now()
		_, err := hc.Do(signed(t, s, post("/api/v1/images", strings.Repeat("x", 1<<20))))
		require.Error(t, err)
		r := <-ended
		assert.Equal(t, hc.Timeout, time.Since(start))
		assert.False(t, r.Acted)
		assert.Less(t, r.Received, int64(1<<20))
	})
}

// TestFaultsMovedToMidUploadReadNoByteBeyond moves faults to a place that they are not made for.
func TestFaultsMovedToMidUploadReadNoByteBeyond(t *testing.T) {
	for _, f := range Faults() {
		f.Place, f.Bytes = MidUpload, 10
		t.Run(f.Name, func(t *testing.T) {
			overEveryNetwork(t, func(t *testing.T, s *Server) {
				s.FaultOn(aicontent.ImagesStore, 1, f)
				resp, err := connected(t, s).Do(signed(t, s, post("/api/v1/images", storeForm)))
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				s.Close()
				stored := s.Requests()[1]
				assert.Equal(t, f.Name, stored.Fault)
				if f.Status != 0 && f.delay == 0 {
					require.NoError(t, err, f.Name)
					assert.Equal(t, f.Status, resp.StatusCode)
					assert.Equal(t, int64(10), stored.Received, "nothing is read beyond")
					assert.False(t, stored.Acted)
				}
			})
		})
	}
}

func TestFaultOnStrikesItsOperationAlone(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(aicontent.Image{Name: "n"})
	s.AddTranscription(aicontent.Transcription{Name: "n"})
	requests := map[aicontent.Operation]request{
		aicontent.ImagesList:           get("/api/v1/images"),
		aicontent.ImagesShow:           get("/api/v1/images/1"),
		aicontent.ImagesStore:          post("/api/v1/images", storeForm),
		aicontent.ImagesUpdate:         patch("/api/v1/images/1", "name=m"),
		aicontent.ImagesDownload:       get("/pictures/1.png"),
		aicontent.ImagesDelete:         remove("/api/v1/images/1"),
		aicontent.TranscriptionsList:   get("/api/v1/transcriptions"),
		aicontent.TranscriptionsShow:   get("/api/v1/transcriptions/1"),
		aicontent.TranscriptionsStore:  upload(namePart, filePart),
		aicontent.TranscriptionsUpdate: patch("/api/v1/transcriptions/1", "name=m"),
		aicontent.TranscriptionsDelete: remove("/api/v1/transcriptions/1"),
	}
	assert.Len(t, requests, len(contract.Operations))
	for operation, r := range requests {
		s.FaultOn(operation, 1, Status(418, ""))
		other := "/api/v1/images"
		if operation == aicontent.ImagesList {
			other = "/api/v1/transcriptions"
		}
		assert.Equal(t, 200, send(t, s, get(other)).status, "another operation does not meet it")
		assert.Equal(t, 418, send(t, s, r).status, operation)
		seen := s.Requests()
		assert.Equal(t, operation, seen[len(seen)-1].Operation)
		assert.Equal(t, 200, send(t, s, get(other)).status)
	}
}

func TestTheCertificateIsForOnesOwnClient(t *testing.T) {
	for _, opts := range [][]Option{{TLS()}, {HTTP2()}} {
		s := NewServer(t, opts...)
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
		resp, err := hc.Do(signed(t, s, get("/api/v1/images")))
		require.NoError(t, err)
		resp.Body.Close()
		hc.CloseIdleConnections()
		assert.Equal(t, 200, resp.StatusCode)
	}
	assert.Nil(t, NewServer(t).Certificate())
}

func TestStoresOfTheKitsClientsHaveTheirOwnConnections(t *testing.T) {
	overEveryNetwork(t, func(t *testing.T, s *Server) {
		c := s.Client()
		for n := range 2 {
			req, reused := traced(signed(t, s, get("/")))
			_, err := c.Images.List(req.Context(), aicontent.ImageListParams{})
			require.NoError(t, err)
			assert.Equal(t, n > 0, *reused, "lists share a connection")
			_, err = c.Images.Store(req.Context(), imageParams)
			require.NoError(t, err)
			assert.False(t, *reused)
		}
	})
}
