package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// A server over its limit says that it did not look at a stream. That is known by the error's type alone: a text that
// mentions it may speak of what net/http has repeated.
func TestRefused(t *testing.T) {
	pair, roots := fakes.LoopbackCertificate()
	for name, tt := range map[string]struct {
		code    uint32
		header  bool // is sent before the reset
		body    io.Reader
		want    bool
		repeats bool
	}{
		"refused":                {code: fakes.CodeRefusedStream, header: true, want: true},
		"refused, body was read": {code: fakes.CodeRefusedStream, body: io.LimitReader(zero{}, 10)},
		"refused without end":    {code: fakes.CodeRefusedStream, repeats: true},
		"internal error":         {code: fakes.CodeInternalError},
		// How often net/http repeats this one depends on its version.
		"protocol error": {code: fakes.CodeProtocolError},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
				requests := 0
				transport := piped(t, base, func(nc net.Conn) {
					secure := tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
					fakes.ServeFrames(secure, func(c *fakes.Frames, stream uint32) {
						requests++
						if tt.header {
							c.Header(stream)
						}
						c.Reset(stream, tt.code)
					})
				})
				got := send(t.Context(), transport, Limits{}, http.MethodPatch, "https://example.com/tenant", tt.body)
				require.Error(t, got.err)
				assert.Equal(t, tt.want, Refused(got.err), "%v", got.err)
				assert.Equal(t, tt.want, Refused(fmt.Errorf("wrapped: %w", got.err)))
				assert.True(t, got.wrote)
				if tt.repeats {
					assert.Equal(t, errRepeats, got.late)
					assert.EqualError(t, got.late, "the request was repeated 30 times over HTTP/2, as the server reset it each time")
					assert.Equal(t, 30, requests)
				}
			})
		})
	}
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
