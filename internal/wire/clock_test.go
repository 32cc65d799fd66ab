package wire

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
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

const limit = 20 * time.Second

var limits = Limits{Upload: true, Stall: limit, Wait: 2 * limit}

// The reports to the clock decide when an upload has stalled, and on which side.
func TestClockTellsWhenAnUploadStalledAndOnWhichSide(t *testing.T) {
	response := &TimeoutError{Phase: Waiting, Limit: 2 * limit}
	network := &TimeoutError{Phase: Sending, Limit: limit}
	reader := &TimeoutError{Phase: Reading, Limit: limit}
	type step = func(a *attempt)
	after := func(d time.Duration) step { return func(*attempt) { time.Sleep(d) } }
	almost, half, hour := after(limit-1), after(limit/2), after(time.Hour)
	reading := func(a *attempt) { a.clock.Reading() }
	taken := func(a *attempt) { a.clock.Taken(false) }
	takenAll := func(a *attempt) { a.clock.Taken(true) }
	paused := func(a *attempt) { a.clock.Pause() }
	stopped := func(a *attempt) { a.clock.Stop() }
	responded := func(status int) step { return func(a *attempt) { a.clock.Responded(status) } }
	connecting := func(a *attempt) { a.getConn("") }
	connected := func(a *attempt) { a.gotConn(httptrace.GotConnInfo{Conn: new(net.TCPConn)}) }
	written := func(a *attempt) { a.wroteRequest(httptrace.WroteRequestInfo{}) }
	failed := func(a *attempt) { a.wroteRequest(httptrace.WroteRequestInfo{Err: io.EOF}) }
	slowly := slices.Repeat([]step{almost, reading, almost, taken}, 10)
	noBody, noStall := Limits{Stall: limit, Wait: 2 * limit}, Limits{Upload: true, Wait: 2 * limit}
	for name, tt := range map[string]struct {
		limits Limits
		steps  []step
		err    *TimeoutError
		after  time.Duration // since the last step
	}{
		"nothing is taken":         {limits, nil, network, limit},
		"the reader stands still":  {limits, []step{taken, almost, reading}, reader, limit},
		"the reader began before":  {limits, []step{reading, almost, reading}, reader, 1},
		"the network stands still": {limits, slowly, network, limit},
		"a slow response":          {limits, []step{taken, almost, takenAll}, response, 2 * limit},
		"an early response":        {limits, []step{taken, almost, responded(422)}, response, 2 * limit},
		"an upload after a 2xx":    {limits, []step{responded(201), almost, taken, almost, taken}, network, limit},
		"the end of it": {
			limits, []step{responded(201), almost, taken, almost, takenAll}, response, 2 * limit,
		},
		"the body of a response": {limits, []step{takenAll, almost, responded(201)}, response, limit + 1},
		"bytes after a response": {
			limits, []step{responded(500), almost, reading, taken, takenAll}, response, limit + 1,
		},
		"the request is written":   {limits, []step{almost, written}, response, 2 * limit},
		"the request failed":       {limits, []step{almost, failed}, network, 1},
		"no body":                  {noBody, nil, response, 2 * limit},
		"no body, no limit":        {Limits{Stall: limit}, nil, nil, 0},
		"no stall timeout":         {noStall, []step{hour, takenAll}, response, 2 * limit},
		"no timeout":               {Limits{Upload: true, Stall: limit}, []step{takenAll}, nil, 0},
		"waiting for a connection": {limits, []step{connecting}, nil, 0},
		"waiting for one, no body": {Limits{Wait: limit}, []step{connecting}, nil, 0},
		"redirects share one wait": {
			Limits{Wait: 2 * limit}, slices.Repeat([]step{connecting, hour, connected, half}, 2), response, limit,
		},
		"paused": {limits, []step{takenAll, paused}, nil, 0},
		"stopped": {
			limits, []step{stopped, reading, taken, connecting, connected, written, responded(200)}, nil, 0,
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			ctx, clock, evidence := watch(t.Context(), tt.limits)
			defer clock.Stop()
			require.NoError(t, evidence.enter())
			for _, do := range tt.steps {
				do(attemptOf(ctx))
			}
			if tt.err == nil {
				time.Sleep(100 * time.Hour)
				require.NoError(t, clock.Expired())
				return
			}
			start := time.Now()
			<-ctx.Done()
			assert.Equal(t, tt.after, time.Since(start))
			assert.Equal(t, tt.err, clock.Expired())
		})
	}
}

// Callers ask for timeouts in three ways, and must not take this one for the end of their context.
func TestTimeoutErrorIsATimeoutButNoEndOfTheContext(t *testing.T) {
	for want, e := range map[string]*TimeoutError{
		"no complete response within 1s (WithWait)": {
			Phase: Waiting, Limit: time.Second, Option: "WithWait",
		},
		"the upload stalled: the network accepted no bytes for 1s (WithStallTimeout)": {
			Phase: Sending, Limit: time.Second,
		},
		"the upload stalled: the file returned no bytes for 1s (WithStallTimeout)": {
			Phase: Reading, Limit: time.Second,
		},
		"the download stalled: no bytes arrived for 1s (WithStallTimeout)": {
			Phase: Receiving, Limit: time.Second,
		},
	} {
		assert.EqualError(t, e, want)
		var err net.Error = e
		assert.True(t, err.Timeout() && err.Temporary())
		assert.True(t, os.IsTimeout(err))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
	}
}

// A timer may have fired before it was set anew.
func TestTimerThatFiredTooEarlyEndsNothing(t *testing.T) {
	ctx, clock := NewClock(t.Context(), limits)
	clock.expire()
	assert.NoError(t, clock.Expired())
	clock.Stop()
	assert.ErrorIs(t, context.Cause(ctx), context.Canceled)
}

// The end of a call's context is not a timeout of the SDK's, whatever its cause.
func TestExpiredIsNoEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, clock := NewClock(ctx, limits)
	cancel()
	assert.NoError(t, clock.Expired())
	clock.Stop()
	assert.NoError(t, clock.Expired())
}

// A server that dribbles, or says nothing, holds an attempt for no longer than its wait.
func TestServerThatDribblesHoldsNoAttemptBeyondItsWait(t *testing.T) {
	for name, tt := range map[string]struct {
		start, drop string
		pause       time.Duration
	}{
		"nothing at all":          {"", "", time.Minute},
		"header":                  {"HTTP/1.1 200 OK\r\nX-Slow: ", "x", time.Second},
		"header lines":            {"HTTP/1.1 200 OK\r\n", "X: 1\r\n", time.Second},
		"informational responses": {"", "HTTP/1.1 103 Early Hints\r\n\r\n", time.Second},
		"continues":               {"", "HTTP/1.1 100 Continue\r\n\r\n", time.Second},
		"body":                    {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "1", time.Second},
	} {
		forGETAndPOST(t, name, func(t *testing.T, method string) {
			transport := piped(t, new(http.Transport), func(nc net.Conn) {
				if _, err := request(bufio.NewReader(nc)); err != nil {
					return
				}
				_, err := io.WriteString(nc, tt.start)
				for err == nil {
					<-time.After(tt.pause)
					_, err = io.WriteString(nc, tt.drop)
				}
			})
			// A caller who listens to informational responses takes net/http's limit on them away.
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() {}})
			start := time.Now()
			limits := Limits{Upload: method == http.MethodPost, Stall: limit, Wait: limit}
			got := send(ctx, transport, limits, method, "http://127.0.0.1/", strings.NewReader("a=b"))
			require.Error(t, got.err)
			assert.Equal(t, &TimeoutError{Phase: Waiting, Limit: limit}, got.late)
			assert.Equal(t, limit, time.Since(start))
			synctest.Wait()
		})
	}
}

// An upload that moves may take as long as it needs, and the wait for the response begins when it is through.
func TestUploadThatMovesMayTakeAsLongAsItNeeds(t *testing.T) {
	for name, base := range map[string]func(*Transport) http.RoundTripper{
		"exact":        func(t *Transport) http.RoundTripper { return t },
		"another kind": func(t *Transport) http.RoundTripper { return New(otherKind{t.single}, false) },
	} {
		inBubble(t, name, func(t *testing.T) {
			transport := piped(t, new(http.Transport), func(nc net.Conn) {
				r, _ := header(nc)
				for range 64 {
					<-time.After(limit - 1)
					if _, err := io.CopyN(io.Discard, r, 16<<10); err != nil {
						return
					}
				}
				<-time.After(2*limit - 1)
				_, _ = io.WriteString(nc, response(201, ""))
			})
			start := time.Now()
			ctx, clock, _ := watch(t.Context(), limits)
			defer clock.Stop()
			body := &told{zeros(1 << 20), clock}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", body)
			require.NoError(t, err)
			req.ContentLength = 1 << 20
			resp, err := base(transport).RoundTrip(req)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, 201, resp.StatusCode)
			assert.Greater(t, time.Since(start), 20*time.Minute)
		})
	}
}

// told is a body that tells the clock of the bytes taken.
type told struct {
	io.Reader
	clock *Clock
}

func (b *told) Read(p []byte) (int, error) {
	b.clock.Reading()
	// The server's pieces are of this size.
	n, err := b.Reader.Read(p[:min(len(p), 16<<10)])
	b.clock.Taken(err == io.EOF)
	return n, err
}

// Waiting for one of a limited number of connections, dialing and the handshake are no waiting for the response.
func TestConnectingCountsForNoLimit(t *testing.T) {
	forGETAndPOST(t, "a free connection", func(t *testing.T, method string) {
		transport := piped(t, &http.Transport{MaxConnsPerHost: 1}, func(nc net.Conn) {
			for r := bufio.NewReader(nc); ; {
				if _, err := request(r); err != nil {
					return
				}
				<-time.After(limit - 1)
				_, _ = io.WriteString(nc, response(200, ""))
			}
		})
		start := time.Now()
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				got := send(t.Context(), transport, Limits{Wait: limit}, method, "http://127.0.0.1/", nil)
				assert.NoError(t, got.err)
			})
		}
		group.Wait()
		assert.GreaterOrEqual(t, time.Since(start), 5*(limit-1))
	})
	forGETAndPOST(t, "dialing", func(t *testing.T, method string) {
		dial := fakes.PipeDialer(t, func(nc net.Conn) {
			if _, err := request(bufio.NewReader(nc)); err == nil {
				_, _ = io.WriteString(nc, response(200, "Connection: close\r\n"))
			}
		})
		slow := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			<-time.After(2 * limit / 3)
			return dial(ctx, network, address)
		}}
		for _, transport := range []*Transport{opened(t, slow), New(otherKind{slow}, false)} {
			got := send(t.Context(), transport, Limits{Wait: time.Second}, method, "http://127.0.0.1/", nil)
			require.NoError(t, got.err)
		}
	})
}

// Connecting must end too, by the limits of the caller's transport, or else with the call's context, even if a dialer
// ignores it. Nothing was sent then.
func TestConnectingEndsWithTheContext(t *testing.T) {
	type dialer = func(network, address string) (net.Conn, error)
	handshake := func(limit time.Duration) func(*testing.T, dialer) *http.Transport {
		return func(t *testing.T, _ dialer) *http.Transport {
			return &http.Transport{
				DialContext:         fakes.PipeDialer(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }),
				TLSHandshakeTimeout: limit, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			}
		}
	}
	for name, tt := range map[string]struct {
		base func(t *testing.T, deaf dialer) *http.Transport
		took time.Duration
	}{
		"a handshake":              {handshake(0), time.Hour},
		"a handshake with a limit": {handshake(3 * time.Second), 3 * time.Second},
		"DialContext": {func(_ *testing.T, deaf dialer) *http.Transport {
			return &http.Transport{DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				return deaf(network, address)
			}}
		}, time.Hour},
		"Dial": {func(_ *testing.T, deaf dialer) *http.Transport {
			return &http.Transport{Dial: deaf}
		}, time.Hour},
		"DialTLS": {func(_ *testing.T, deaf dialer) *http.Transport {
			return &http.Transport{DialTLS: deaf}
		}, time.Hour},
	} {
		forGETAndPOST(t, name, func(t *testing.T, method string) {
			late := make(chan struct{})
			transport := opened(t, tt.base(t, func(string, string) (net.Conn, error) {
				<-late
				return nil, io.ErrClosedPipe
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			start := time.Now()
			got := send(ctx, transport, Limits{Wait: time.Second}, method, "https://127.0.0.1/", nil)
			assert.Equal(t, tt.took, time.Since(start))
			assert.False(t, got.wrote)
			assert.NoError(t, got.late)
			var timeout net.Error
			require.ErrorAs(t, got.err, &timeout)
			assert.True(t, timeout.Timeout())
			assert.Equal(t, tt.took == time.Hour, errors.Is(got.err, context.DeadlineExceeded))
			close(late)
			synctest.Wait()
		})
	}
}

// The context ends a request at every stage, with its cause.
func TestContextEndsConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(limit, func() { cancel(left) })
		base := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		start := time.Now()
		for _, stage := range []string{"while it dials", "before it began"} {
			got := send(ctx, New(base, false), Limits{}, http.MethodPost, "http://127.0.0.1/", nil)
			require.ErrorIs(t, got.err, left, stage)
			assert.False(t, got.wrote, stage)
			assert.Equal(t, limit, time.Since(start), stage)
		}
		got := send(ctx, otherKind{base}, Limits{}, http.MethodPost, "http://127.0.0.1/", nil)
		require.Error(t, got.err)
		assert.True(t, got.wrote, "nothing is known of what another RoundTripper does")
		// net/http dials on for whoever comes next.
		time.Sleep(dialTimeout)
	})
}

// A connection that died in silence must be noticed before a call's wait is over, so that the next one succeeds. A
// write that fails must not hold up the other requests of its connection, nor its reader, which would notice.
func TestBrokenHTTP2ConnectionIsNoticedBeforeTheWaitIsOver(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error // of writes; nil swallows them
		within time.Duration
	}{
		"dead in silence": {nil, 30 * time.Second},
		"failing writes":  {syscall.EPIPE, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			base, serve := speakingHTTP2(func(c *fakes.Frames, stream uint32) { c.Respond(stream, "hello") })
			dial := fakes.PipeDialer(t, serve)
			var first *silencing
			base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := dial(ctx, network, address)
				if first == nil {
					first = &silencing{Conn: nc, err: tt.err, dead: make(chan struct{}), closed: make(chan struct{})}
					return first, err
				}
				return nc, err
			}
			transport := opened(t, base)
			const url = "https://example.com/"
			require.Equal(t, "HTTP/2.0", get(t, transport, url).proto)
			close(first.dead)
			start := time.Now()
			var failed atomic.Int64
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					if get(t, transport, url).err != nil {
						failed.Add(1)
					}
				})
			}
			group.Wait()
			assert.Positive(t, failed.Load())
			assert.LessOrEqual(t, time.Since(start), tt.within)
			require.Equal(t, "HTTP/2.0", get(t, transport, url).proto)
			transport.CloseIdleConnections()
			// Connections that were dialed in vain are closed in their own time.
			time.Sleep(dialTimeout)
			synctest.Wait()
		})
	}
}

// silencing is a connection that swallows everything once it is dead, or fails to write it.
type silencing struct {
	net.Conn
	err    error // of writes; nil swallows them
	dead   chan struct{}
	closed chan struct{}
}

func (s *silencing) Write(p []byte) (int, error) {
	select {
	case <-s.dead:
		if s.err != nil {
			return 0, s.err
		}
		return len(p), nil
	default:
		return s.Conn.Write(p)
	}
}

func (s *silencing) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	select {
	case <-s.dead:
		<-s.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (s *silencing) Close() error {
	close(s.closed)
	return s.Conn.Close()
}

// A transport may report events after the attempt: no clock may then run for minutes, and keep the attempt in memory.
func TestNoClockRunsAfterStop(t *testing.T) {
	_, clock := NewClock(t.Context(), limits)
	clock.Stop()
	clock.Responded(200)
	assert.False(t, clock.timer.Stop())
}

// A program that makes many calls pays for each allocation of an attempt.
func TestAttemptAllocatesLittle(t *testing.T) {
	transport := new(Transport)
	count := testing.AllocsPerRun(1000, func() {
		_, clock, _ := transport.Watch(t.Context(), Limits{Stall: limit, Wait: limit})
		clock.Stop()
	})
	assert.LessOrEqual(t, count, 9.0)
}
