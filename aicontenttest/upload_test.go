package aicontenttest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
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

func TestFaultOnStrikesItsOperationAlone(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(aicontent.Image{Name: "n"})
	s.AddTranscription(aicontent.Transcription{Name: "n"})
	requests := map[aicontent.Operation]request{
		aicontent.ImagesList:           get("/api/v1/images"),
		aicontent.ImagesStore:          post("/api/v1/images", storeForm),
		aicontent.ImagesDownload:       get("/pictures/1.png"),
		aicontent.TranscriptionsList:   get("/api/v1/transcriptions"),
		aicontent.TranscriptionsStore:  upload(namePart, filePart),
		aicontent.TranscriptionsUpdate: patch("/api/v1/transcriptions/1", "name=m"),
		aicontent.TranscriptionsDelete: remove("/api/v1/transcriptions/1"),
	}
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
