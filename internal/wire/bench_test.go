package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The price of a connection of its own for each POST, beside kept-alive connections, over HTTP/1.1 on loopback.
func BenchmarkPOST(b *testing.B) {
	for _, secure := range []bool{false, true} {
		url, base := serveHTTP(b, secure, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		kept := base.Clone()
		kept.Protocols = new(http.Protocols)
		kept.Protocols.SetHTTP1(true)
		defer kept.CloseIdleConnections()
		fresh := base.Clone()
		if secure {
			kept.TLSClientConfig.NextProtos = []string{"http/1.1"}
			fresh.TLSClientConfig.SessionTicketsDisabled = true
		}
		for size, body := range map[string][]byte{"form": []byte("name=n&description=d"), "1MiB": make([]byte, 1<<20)} {
			kinds := map[string]http.RoundTripper{"kept": kept, "own": New(base, false)}
			if secure {
				kinds["own, full handshakes"] = New(fresh, false)
			}
			for kind, rt := range kinds {
				b.Run(fmt.Sprintf("tls=%v/%s/%s", secure, size, kind), func(b *testing.B) {
					for b.Loop() {
						req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
						require.NoError(b, err)
						resp, err := rt.RoundTrip(req)
						require.NoError(b, err)
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				})
			}
		}
	}
}

// What an attempt costs beside net/http alone, over kept-alive HTTP/1.1 on loopback. The server allocates nothing.
func BenchmarkGET(b *testing.B) {
	s := serve(b, false, func(nc net.Conn) {
		text, buf := []byte(response(200, "")), make([]byte, 4096)
		for {
			// A request arrives as a whole.
			if _, err := nc.Read(buf); err != nil {
				return
			}
			_, _ = nc.Write(text)
		}
	})
	base := s.base()
	defer base.CloseIdleConnections()
	get := func(b *testing.B, ctx context.Context, rt http.RoundTripper) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
		require.NoError(b, err)
		req.Header["Authorization"] = []string{"Bearer the-key"}
		req.Header["Accept"] = []string{"application/json"}
		resp, err := rt.RoundTrip(req)
		require.NoError(b, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			get(b, b.Context(), base)
		}
	})
	b.Run("watched", func(b *testing.B) {
		b.ReportAllocs()
		transport := closing(b, New(base, false))
		for b.Loop() {
			ctx, clock, _ := transport.Watch(b.Context(), Limits{Wait: time.Minute})
			get(b, ctx, transport)
			clock.Stop()
		}
	})
}
