package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// closedPort is the URL of a port that refuses connections.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

// losing starts a server that reads the beginning of a request and closes the connection.
func losing(t *testing.T, secure bool) *server {
	return serve(t, secure, func(nc net.Conn) { _, _ = nc.Read(make([]byte, 100)) })
}

// Whether a create request may be sent again rests on the transport's observations, not on the kind of error that came
// up.
func TestEvidenceIsWhatTheTransportSawAndNotTheError(t *testing.T) {
	closed := closedPort(t)
	s, secure := losing(t, false), losing(t, true)
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	foreign := func(rt fakes.RoundTripper) *Transport { return New(rt, false) }
	plain := &http.Transport{}
	t.Cleanup(plain.CloseIdleConnections)
	dialsTLS := opened(t, &http.Transport{DialTLSContext: tlsDialer(&tls.Config{RootCAs: secure.roots})})
	tell := func(r *http.Request, addr string, nc net.Conn) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn(addr)
		if nc != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: nc})
		}
	}
	for name, tt := range map[string]struct {
		rt          http.RoundTripper
		url         string
		seen, wrote bool
	}{
		"no connection":   {opened(t, nil), closed, true, false},
		"a lost response": {s.transport(t), s.url, true, true},
		"never called": {fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
			return nil, dial
		}), closed, false, true},
		// net/http must recognize the connections of a TLS dialer, so they are not counted.
		"a TLS dialer, no connection": {dialsTLS, strings.Replace(closed, "http", "https", 1), true, false},
		"a TLS dialer, lost":          {dialsTLS, secure.url, true, true},

		"another kind, no connection": {foreign(plain.RoundTrip), closed, true, false},
		"another kind, lost":          {foreign(plain.RoundTrip), s.url, true, true},
		"another kind that tells nothing": {
			foreign(func(*http.Request) (*http.Response, error) { return nil, dial }), closed, true, true,
		},
		"another kind that asks for another host": {foreign(func(r *http.Request) (*http.Response, error) {
			tell(r, "proxy.example.com:8080", nil)
			return nil, dial
		}), closed, true, true},
		"another kind that fails over": {foreign(func(r *http.Request) (*http.Response, error) {
			tell(r, r.URL.Host, nil)
			tell(r, r.URL.Host, &net.TCPConn{})
			return nil, dial
		}), closed, true, true},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			got := send(t.Context(), tt.rt, Limits{}, method, tt.url, nil)
			assert.Equal(t, tt.seen, got.seen, "%s, %s", name, method)
			assert.Equal(t, tt.wrote, got.wrote, "%s, %s: %v", name, method, got.err)
			assert.Equal(t, tt.seen, got.observed != nil, "%s, %s", name, method)
		}
	}
}

// A middleware may make requests of its own with the context of the attempt, before and after it. They prove nothing.
func TestEvidenceIsOfTheAttemptAlone(t *testing.T) {
	closed, s := closedPort(t), losing(t, false)
	other := &http.Transport{}
	t.Cleanup(other.CloseIdleConnections)
	request := func(ctx context.Context, url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		_, err = other.RoundTrip(req)
		return err
	}
	next, reached := opened(t, nil), s.transport(t)
	for name, tt := range map[string]struct {
		rt          fakes.RoundTripper
		url         string
		seen, wrote bool
	}{
		"a token was fetched, and then nothing was sent": {func(r *http.Request) (*http.Response, error) {
			require.Error(t, request(r.Context(), s.url))
			return next.RoundTrip(r)
		}, closed, true, false},
		"the request was sent before the audit failed": {func(r *http.Request) (*http.Response, error) {
			_, _ = reached.RoundTrip(r)
			return nil, request(r.Context(), closed)
		}, s.url, true, true},
		"the request was sent without its context": {func(r *http.Request) (*http.Response, error) {
			_, _ = reached.RoundTrip(r.Clone(context.Background()))
			return nil, request(r.Context(), closed)
		}, s.url, false, true},
	} {
		got := post(t, tt.rt, tt.url, nil)
		assert.Equal(t, []bool{tt.seen, tt.wrote}, []bool{got.seen, got.wrote}, name)
	}
}

// A middleware may give up on a request that it has started, or start it when the attempt has ended.
func TestEvidenceIsFinal(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, false, func(nc net.Conn) { <-release })
	next := s.transport(t)
	var late func() error
	impatient := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		begun := make(chan struct{})
		trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(begun) }}
		go func() { _, _ = next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace))) }()
		<-begun
		late = func() error {
			_, err := next.RoundTrip(r.Clone(context.WithoutCancel(r.Context())))
			return err
		}
		return nil, io.EOF
	})
	assert.False(t, post(t, impatient, s.url, nil).seen, "one is under way")
	assert.ErrorIs(t, late(), context.Canceled, "an attempt that has ended sends nothing")
	close(release)
}

// A transport may give up on a request whose first bytes another goroutine is about to write. If they count as not
// written, they must not be written later.
func TestNothingIsWrittenOnceARequestCountsAsUnsent(t *testing.T) {
	c, far := countingPipe()
	received := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(far)
		received <- all
	}()
	evidence := watching(t)
	require.NoError(t, evidence.enter())
	evidence.connected(c)
	evidence.leave(nil, context.Canceled)
	assert.False(t, wrote(evidence))
	_, err := c.Write([]byte("POST"))
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.False(t, wrote(evidence))

	// Another attempt may have the connection.
	evidence = watching(t)
	evidence.connected(c)
	_, err = c.Write([]byte("GET"))
	require.NoError(t, err)
	assert.EqualValues(t, 3, evidence.Sent())
	c.Close()
	assert.Equal(t, "GET", string(<-received))
}

// A middleware may send a request twice at once, and use the response that comes first.
func TestARequestThatFailsDoesNotStopAnother(t *testing.T) {
	c, far := countingPipe()
	defer far.Close()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	evidence := watching(t)
	require.NoError(t, evidence.enter())
	require.NoError(t, evidence.enter())
	evidence.connected(c)
	evidence.leave(nil, io.ErrUnexpectedEOF)
	_, err := c.Write([]byte("GET"))
	require.NoError(t, err)
	evidence.leave(nil, nil)
	assert.True(t, wrote(evidence))
}

// A RoundTripper of another kind may be refused at the address that it asked for, and then send the bytes that it reads
// to another one without telling. Bytes that were not read were not sent.
func TestABodyThatWasReadMayHaveBeenSent(t *testing.T) {
	for _, reads := range []bool{false, true} {
		rt := New(fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn(r.URL.Host)
			if reads {
				_, _ = io.ReadAll(r.Body)
			}
			return nil, errors.New("connection refused, or reset at the other address")
		}), false)
		got := post(t, rt, "http://localhost:80/", strings.NewReader("name=a"))
		require.Error(t, got.err)
		assert.Equal(t, reads, got.wrote)
	}
}

// recording is the key of a large value.
type recording struct{}

// A program with many idle connections must not keep the last call of each in memory, with all that its context leads
// to. Only timers may: the runtime forgets a stopped timer a little later.
func TestIdleConnectionsKeepNoAttemptAlive(t *testing.T) {
	const calls, size = 16, 4 << 20
	var begun sync.WaitGroup
	begun.Add(calls)
	s := serve(t, false, func(nc net.Conn) {
		r := bufio.NewReader(nc)
		if _, err := request(r); err != nil {
			return
		}
		// All calls are under way at once, so that each has a connection.
		begun.Done()
		begun.Wait()
		_, _ = io.WriteString(nc, response(200, ""))
		_, _ = r.Peek(1)
	})
	transport := s.transport(t)
	before := fakes.LiveHeap()
	var done sync.WaitGroup
	for range calls {
		done.Go(func() {
			ctx := context.WithValue(t.Context(), recording{}, make([]byte, size))
			assert.NoError(t, send(ctx, transport, Limits{}, http.MethodGet, s.url, nil).err)
		})
	}
	done.Wait()
	assert.EqualValues(t, calls, s.dials.Load())
	assert.Less(t, fakes.LiveHeap(), before+calls*size/2)
}
