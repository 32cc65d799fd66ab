package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// An error whose text mentions a refused stream may be of an earlier repeat.
func TestTextsAreNotRefusals(t *testing.T) {
	assert.False(t, Refused(errors.New("stream error: stream ID 1; REFUSED_STREAM")))
	assert.False(t, Refused(nil))
}

// An impostor in the server's place gets no byte of a request.
func TestUntrusted(t *testing.T) {
	good, trusted := fakes.Certificate(t, time.Now().Add(100*time.Hour))
	expired, expiredRoots := fakes.Certificate(t, time.Now().Add(-time.Hour))
	other, otherRoots := fakes.Certificate(t, time.Now().Add(100*time.Hour), "other.example")
	for name, tt := range map[string]struct {
		certificate tls.Certificate
		roots       *x509.CertPool
		version     uint16
		untrusted   bool
	}{
		"unknown authority": {good, x509.NewCertPool(), 0, true},
		"expired":           {expired, expiredRoots, 0, true},
		"another name":      {other, otherRoots, 0, true},
		"too old a version": {good, trusted, tls.VersionTLS11, false},
	} {
		requests := make(chan int64, 2)
		config := &tls.Config{
			Certificates: []tls.Certificate{tt.certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tt.version,
		}
		listener := fakes.Listen(t, func(nc net.Conn) {
			n, _ := io.Copy(io.Discard, tls.Server(nc, config))
			requests <- n
		})
		base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: tt.roots}}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			got := send(t.Context(), opened(t, base), Limits{}, method, "https://"+listener.Addr().String(), nil)
			require.Error(t, got.err, name)
			assert.False(t, got.wrote, name)
			assert.Equal(t, tt.untrusted, Untrusted(got.err), name)
			assert.Zero(t, <-requests, name)
		}
	}
	assert.False(t, Untrusted(io.EOF))
}
