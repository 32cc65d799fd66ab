package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
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
		t.Run(name, func(t *testing.T) {
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
				Certificates: []tls.Certificate{tt.certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tt.version})
			require.NoError(t, err)
			requests := make(chan int64, 2)
			go func() {
				for {
					nc, err := listener.Accept()
					if err != nil {
						return
					}
					n, _ := io.Copy(io.Discard, nc)
					nc.Close()
					requests <- n
				}
			}()
			defer listener.Close()
			base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: tt.roots}}
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				got := send(t.Context(), closing(t, New(base, false)), Limits{}, method, "https://"+listener.Addr().String(), nil)
				require.Error(t, got.err)
				assert.False(t, got.wrote)
				assert.Equal(t, tt.untrusted, Untrusted(got.err))
				assert.Zero(t, <-requests)
			}
		})
	}
	assert.False(t, Untrusted(io.EOF))
}
