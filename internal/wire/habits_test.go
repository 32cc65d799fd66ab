package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// Each test of this file is named for a habit of net/http or crypto/tls that no documentation promises and this package
// rests on. If one fails with a new Go release, the code that names the habit has to change.

// hearing is a connection whose peer responds in mid-upload and closes: each write fails, and the response can be read
// a moment later.
type hearing struct {
	net.Conn
	broken chan struct{}
	once   sync.Once
	text   io.Reader
}

func (h *hearing) Write([]byte) (int, error) {
	h.once.Do(func() { close(h.broken) })
	return 0, syscall.EPIPE
}

func (h *hearing) Read(p []byte) (int, error) {
	<-h.broken
	<-time.After(time.Millisecond)
	return h.text.Read(p)
}

// [conn.Write] delays a failure for this habit alone.
func TestHabitNetHTTPReturnsAWriteErrorInPlaceOfAnEarlyResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			t.Cleanup(func() { far.Close() })
			early := strings.NewReader(response(401, ""))
			return &hearing{Conn: near, broken: make(chan struct{}), text: early}, nil
		}}
		require.ErrorIs(t, post(t, base, "http://service.test/", zeros(1<<20)).err, syscall.EPIPE)

		start := time.Now()
		got := post(t, opened(t, base), "http://service.test/", zeros(1<<20))
		require.NoError(t, got.err)
		assert.Equal(t, 401, got.status)
		assert.Equal(t, "hello", got.body)
		assert.Less(t, time.Since(start), earlyResponse)
	})
}

// Closing a TLS connection would otherwise take [earlyResponse] longer if the server has closed it before.
func TestHabitTLSSetsAWriteDeadlineBeforeItsClosingAlert(t *testing.T) {
	pair, roots := fakes.LoopbackCertificate()
	synctest.Test(t, func(t *testing.T) {
		c, far := countingPipe()
		config := &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true}
		go func() { _ = tls.Server(far, config).Handshake() }()
		secure := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "example.com"})
		require.NoError(t, secure.Handshake())
		synctest.Wait()
		far.Close()
		c.sent.Store(new(counter))
		start := time.Now()
		require.Error(t, secure.Close(), "the alert is lost")
		assert.Zero(t, time.Since(start))
	})
}

// Bytes written before a connection is reported count for no attempt, so that TLS handshakes do not.
func TestHabitNetHTTPReportsAConnectionBeforeItWritesTheRequest(t *testing.T) {
	pair, _ := fakes.LoopbackCertificate()
	var requests atomic.Int64
	overHTTP2, serveHTTP2 := speakingHTTP2(func(c *fakes.Frames, stream uint32) {
		requests.Add(1)
		c.Respond(stream, "hello")
	})
	overTLS := overHTTP2.Clone()
	overTLS.ForceAttemptHTTP2 = false
	serve := func(nc net.Conn) {
		if _, err := request(bufio.NewReader(nc)); err == nil {
			requests.Add(1)
			_, _ = io.WriteString(nc, response(200, "Connection: close\r\n"))
		}
	}
	for name, tt := range map[string]struct {
		url   string
		base  *http.Transport
		serve func(net.Conn)
	}{
		"clear": {"http://example.com/", &http.Transport{}, serve},
		"TLS": {"https://example.com/", overTLS, func(nc net.Conn) {
			serve(tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{pair}}))
		}},
		"HTTP/2": {"https://example.com/", overHTTP2, serveHTTP2},
	} {
		forGETAndPOST(t, name, func(t *testing.T, method string) {
			requests.Store(0)
			transport := tt.base.Clone()
			transport.DialContext = fakes.PipeDialer(t, tt.serve)
			reports := 0
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				synctest.Wait()
				assert.Zero(t, requests.Load())
				reports++
			}})
			got := send(ctx, transport, Limits{}, method, tt.url, nil)
			require.NoError(t, got.err)
			assert.Equal(t, 1, reports)
			assert.EqualValues(t, 1, requests.Load())
			transport.CloseIdleConnections()
		})
	}
}

// resetStreams sends a request over HTTP/2 to a server that resets each stream, and returns how many there were.
func resetStreams(t *testing.T, code uint32, header bool, body io.Reader) (got sent, streams int) {
	base, serve := speakingHTTP2(func(c *fakes.Frames, stream uint32) {
		streams++
		if header {
			c.Header(stream)
		}
		c.Reset(stream, code)
	})
	got = send(t.Context(), piped(t, base, serve), Limits{}, http.MethodPatch, "https://example.com/tenant", body)
	return got, streams
}

// [Refused] sees the code of a stream error through [errors.As] alone.
func TestHabitNetHTTPFillsInAStreamErrorOfAnyPackage(t *testing.T) {
	for name, tt := range map[string]struct {
		code   uint32
		header bool // is sent before the reset
		body   io.Reader
		want   bool
	}{
		"refused":                {code: fakes.CodeRefusedStream, header: true, want: true},
		"refused, body was read": {code: fakes.CodeRefusedStream, body: zeros(10)},
		"internal error":         {code: fakes.CodeInternalError},
		// How often net/http repeats this one depends on its version.
		"protocol error": {code: fakes.CodeProtocolError},
	} {
		inBubble(t, name, func(t *testing.T) {
			got, _ := resetStreams(t, tt.code, tt.header, tt.body)
			require.Error(t, got.err)
			assert.Equal(t, tt.want, Refused(got.err), "%v", got.err)
			assert.Equal(t, tt.want, Refused(fmt.Errorf("wrapped: %w", got.err)))
			assert.True(t, got.wrote)
		})
	}
}

// An attempt is given no more than maxConns connections for this habit alone.
func TestHabitNetHTTPRepeatsARefusedStreamWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, streams := resetStreams(t, fakes.CodeRefusedStream, false, nil)
		require.Error(t, got.err)
		assert.False(t, Refused(got.err), "%v", got.err)
		assert.True(t, got.wrote)
		assert.Equal(t, errRepeats, got.late)
		const text = "the request was repeated 30 times over HTTP/2, as the server reset it each time"
		assert.EqualError(t, got.late, text)
		assert.Equal(t, maxConns, streams)
	})
}
