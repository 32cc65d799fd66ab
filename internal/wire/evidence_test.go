package wire

import (
	"bufio"
	"context"
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

// roundTripper is a RoundTripper in a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// attempted makes an attempt through rt and returns the facts that were observed.
func attempted(t *testing.T, rt http.RoundTripper, method, url string) (seen, wrote bool, observed error) {
	t.Helper()
	ctx, clock, evidence := watch(t.Context(), Limits{})
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	clock.Stop()
	return evidence.Observed()
}

// closedPort is an address that refuses connections.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

// Whether a create request may be sent again rests on what the transport saw, not on the kind of error that came up.
func TestEvidence(t *testing.T) {
	closed := closedPort(t)
	s := serve(t, false, func(nc net.Conn) { _, _ = nc.Read(make([]byte, 100)) })
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	foreign := func(rt roundTripper) *Transport { return New(rt, false) }
	plain := &http.Transport{}
	t.Cleanup(plain.CloseIdleConnections)
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
		"no connection":   {closing(t, New(nil, false)), closed, true, false},
		"a lost response": {s.transport(t), s.url, true, true},
		"never called":    {roundTripper(func(*http.Request) (*http.Response, error) { return nil, dial }), closed, false, false},

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
			seen, wrote, err := attempted(t, tt.rt, method, tt.url)
			assert.Equal(t, tt.seen, seen, "%s, %s", name, method)
			assert.Equal(t, tt.wrote, wrote, "%s, %s: %v", name, method, err)
			assert.Equal(t, tt.seen, err != nil, "%s, %s", name, method)
		}
	}
}

// A middleware may make requests of its own with the context of the attempt, before and after it. They prove nothing.
func TestEvidenceIsOfTheAttemptAlone(t *testing.T) {
	closed := closedPort(t)
	s := serve(t, false, func(nc net.Conn) { _, _ = nc.Read(make([]byte, 100)) })
	other := &http.Transport{}
	t.Cleanup(other.CloseIdleConnections)
	request := func(ctx context.Context, url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		_, err = other.RoundTrip(req)
		return err
	}
	next := closing(t, New(nil, false))
	token := roundTripper(func(r *http.Request) (*http.Response, error) {
		require.Error(t, request(r.Context(), s.url))
		return next.RoundTrip(r)
	})
	seen, wrote, _ := attempted(t, token, http.MethodPost, closed)
	assert.Equal(t, []bool{true, false}, []bool{seen, wrote}, "a token was fetched, and then nothing was sent")

	reached := s.transport(t)
	audit := roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = reached.RoundTrip(r)
		return nil, request(r.Context(), closed)
	})
	seen, wrote, _ = attempted(t, audit, http.MethodPost, s.url)
	assert.Equal(t, []bool{true, true}, []bool{seen, wrote}, "the request was sent before the audit failed")

	detached := roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = reached.RoundTrip(r.Clone(context.Background()))
		return nil, request(r.Context(), closed)
	})
	seen, _, _ = attempted(t, detached, http.MethodPost, s.url)
	assert.False(t, seen)
}

// A middleware may give up on a request that it has started, or start it when the attempt has ended.
func TestEvidenceIsFinal(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, false, func(nc net.Conn) { <-release })
	next := s.transport(t)
	var late func() error
	impatient := roundTripper(func(r *http.Request) (*http.Response, error) {
		begun := make(chan struct{})
		trace := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(begun) }})
		go func() { _, _ = next.RoundTrip(r.WithContext(trace)) }()
		<-begun
		late = func() error {
			_, err := next.RoundTrip(r.Clone(context.WithoutCancel(r.Context())))
			return err
		}
		return nil, io.EOF
	})
	seen, _, _ := attempted(t, impatient, http.MethodPost, s.url)
	assert.False(t, seen, "one is under way")
	assert.ErrorIs(t, late(), context.Canceled, "what has ended sends nothing")
	close(release)
}

// A transport may give up on a request whose first bytes another goroutine is about to write. If they count as not
// written, they must not be written later.
func TestNothingIsWrittenOnceARequestCountsAsUnsent(t *testing.T) {
	near, far := net.Pipe()
	received := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(far)
		received <- all
	}()
	c := &conn{Conn: near, over: make(chan struct{})}
	_, clock, evidence := watch(t.Context(), Limits{})
	require.NoError(t, evidence.enter())
	evidence.connected(c)
	evidence.leave(nil, context.Canceled)
	clock.Stop()
	assert.False(t, wrote(evidence))
	_, err := c.Write([]byte("POST"))
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.False(t, wrote(evidence))

	// Another attempt may have the connection.
	_, clock, evidence = watch(t.Context(), Limits{})
	defer clock.Stop()
	evidence.connected(c)
	_, err = c.Write([]byte("GET"))
	require.NoError(t, err)
	assert.EqualValues(t, 3, evidence.Sent())
	c.Close()
	assert.Equal(t, "GET", string(<-received))
}

// A middleware may send a request twice at once, and use the response that comes first.
func TestARequestThatFailsDoesNotStopAnother(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	c := &conn{Conn: near, over: make(chan struct{})}
	_, clock, evidence := watch(t.Context(), Limits{})
	defer clock.Stop()
	require.NoError(t, evidence.enter())
	require.NoError(t, evidence.enter())
	evidence.connected(c)
	evidence.leave(nil, io.ErrUnexpectedEOF)
	_, err := c.Write([]byte("GET"))
	require.NoError(t, err)
	evidence.leave(nil, nil)
	assert.True(t, wrote(evidence))
}

// A RoundTripper of another kind may be refused at the address that it asked for, and then send what it reads to
// another one without telling: what was not read was not sent.
func TestABodyThatWasReadMayHaveBeenSent(t *testing.T) {
	for _, reads := range []bool{false, true} {
		tr := New(roundTripper(func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn(r.URL.Host)
			if reads {
				_, _ = io.ReadAll(r.Body)
			}
			return nil, errors.New("connection refused, or reset at the other address")
		}), false)
		ctx, clock, evidence := tr.Watch(t.Context(), Limits{})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost:80/", strings.NewReader("name=a"))
		require.NoError(t, err)
		_, err = tr.RoundTrip(req)
		require.Error(t, err)
		clock.Stop()
		_, wrote, _ := evidence.Observed()
		assert.Equal(t, reads, wrote)
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
