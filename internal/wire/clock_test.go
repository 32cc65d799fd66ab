package wire

//lint:file-ignore SA1019 Callers may have set the deprecated Dial and DialTLS.

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
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

// piped is a transport whose connections end in do, in memory, so that the time of a bubble moves.
func piped(t *testing.T, base *http.Transport, do func(nc net.Conn)) *Transport {
	base.DialContext = fakes.PipeDialer(t, do)
	return closing(t, New(base, false))
}

// What the attempt is told decides when an upload has stalled, and on which side.
func TestClocks(t *testing.T) {
	wait := func(time.Duration) *TimeoutError { return &TimeoutError{Phase: Waiting, Limit: 2 * limit} }
	network := &TimeoutError{Phase: Sending, Limit: limit}
	reader := &TimeoutError{Phase: Reading, Limit: limit}
	almost := func() { time.Sleep(limit - 1) }
	for name, tt := range map[string]struct {
		limits Limits
		do     func(a *attempt)
		err    *TimeoutError
		after  time.Duration // since do returned
	}{
		"nothing is taken":        {limits, func(*attempt) {}, network, limit},
		"the reader stands still": {limits, func(a *attempt) { a.clock.Taken(false); almost(); a.clock.Reading() }, reader, limit},
		"the reader began before": {limits, func(a *attempt) { a.clock.Reading(); almost(); a.clock.Reading() }, reader, 1},
		"the network stands still": {limits, func(a *attempt) {
			for range 10 {
				almost()
				a.clock.Reading()
				almost()
				a.clock.Taken(false)
			}
		}, network, limit},
		"the response takes its time":   {limits, func(a *attempt) { a.clock.Taken(false); almost(); a.clock.Taken(true) }, wait(0), 2 * limit},
		"the body of an early response": {limits, func(a *attempt) { a.clock.Taken(false); almost(); a.clock.Responded(422) }, wait(0), 2 * limit},
		"an upload after a 2xx": {limits, func(a *attempt) {
			a.clock.Responded(201)
			almost()
			a.clock.Taken(false)
			almost()
			a.clock.Taken(false)
		}, network, limit},
		"the end of it": {limits, func(a *attempt) {
			a.clock.Responded(201)
			almost()
			a.clock.Taken(false)
			almost()
			a.clock.Taken(true)
		}, wait(0), 2 * limit},
		"the body of a response": {limits, func(a *attempt) { a.clock.Taken(true); almost(); a.clock.Responded(201) }, wait(0), limit + 1},
		"bytes are taken after a response": {limits, func(a *attempt) {
			a.clock.Responded(500)
			almost()
			a.clock.Reading()
			a.clock.Taken(false)
			a.clock.Taken(true)
		}, wait(0), limit + 1},
		"the request is written":            {limits, func(a *attempt) { almost(); a.wroteRequest(httptrace.WroteRequestInfo{}) }, wait(0), 2 * limit},
		"the request failed":                {limits, func(a *attempt) { almost(); a.wroteRequest(httptrace.WroteRequestInfo{Err: io.EOF}) }, network, 1},
		"no body":                           {Limits{Stall: limit, Wait: 2 * limit}, func(*attempt) {}, wait(0), 2 * limit},
		"no body, no limit":                 {Limits{Stall: limit}, func(*attempt) {}, nil, 0},
		"no stall timeout":                  {Limits{Upload: true, Wait: 2 * limit}, func(a *attempt) { time.Sleep(time.Hour); a.clock.Taken(true) }, wait(0), 2 * limit},
		"no timeout":                        {Limits{Upload: true, Stall: limit}, func(a *attempt) { a.clock.Taken(true) }, nil, 0},
		"waiting for a connection":          {limits, func(a *attempt) { a.getConn("") }, nil, 0},
		"waiting for a connection, no body": {Limits{Wait: limit}, func(a *attempt) { a.getConn("") }, nil, 0},
		"redirects share one wait": {Limits{Wait: 2 * limit}, func(a *attempt) {
			for range 2 {
				a.getConn("")
				time.Sleep(time.Hour)
				a.gotConn(httptrace.GotConnInfo{Conn: new(net.TCPConn)})
				time.Sleep(limit / 2)
			}
		}, wait(0), limit},
		"paused": {limits, func(a *attempt) { a.clock.Taken(true); a.clock.Pause() }, nil, 0},
		"stopped": {limits, func(a *attempt) {
			a.clock.Stop()
			a.clock.Reading()
			a.clock.Taken(false)
			a.getConn("")
			a.gotConn(httptrace.GotConnInfo{Conn: new(net.TCPConn)})
			a.wroteRequest(httptrace.WroteRequestInfo{})
			a.clock.Responded(200)
		}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, clock, evidence := watch(t.Context(), tt.limits)
				defer clock.Stop()
				require.NoError(t, evidence.enter())
				tt.do(attemptOf(ctx))
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
		})
	}
}

// Callers ask for timeouts in three ways, and must not take this one for the end of their context.
func TestTimeoutError(t *testing.T) {
	var err error = &TimeoutError{Phase: Waiting, Limit: time.Second, Option: "WithResponseTimeout"}
	var netErr net.Error
	require.ErrorAs(t, err, &netErr)
	assert.True(t, netErr.Timeout())
	assert.True(t, os.IsTimeout(err))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.NotErrorIs(t, err, context.DeadlineExceeded)
	temporary, ok := err.(interface{ Temporary() bool })
	assert.True(t, ok && temporary.Temporary())
	assert.Equal(t, "no complete response within 1s (WithResponseTimeout)", err.Error())
	assert.Equal(t, "the upload stalled: the network accepted no bytes for 1s (WithStallTimeout)", (&TimeoutError{Phase: Sending, Limit: time.Second}).Error())
	assert.Equal(t, "the upload stalled: the file returned no bytes for 1s (WithStallTimeout)", (&TimeoutError{Phase: Reading, Limit: time.Second}).Error())
	assert.Equal(t, "the download stalled: no bytes arrived for 1s (WithStallTimeout)", (&TimeoutError{Phase: Receiving, Limit: time.Second}).Error())
}

// A timer may have fired before it was set anew.
func TestTimerThatFiredTooEarly(t *testing.T) {
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
func TestSlowResponses(t *testing.T) {
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
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
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
					got := send(ctx, transport, Limits{Upload: method == http.MethodPost, Stall: limit, Wait: limit}, method, "http://127.0.0.1/", strings.NewReader("a=b"))
					require.Error(t, got.err)
					assert.Equal(t, &TimeoutError{Phase: Waiting, Limit: limit}, got.late)
					assert.Equal(t, limit, time.Since(start))
					synctest.Wait()
				})
			})
		}
	}
}

// An upload that moves may take as long as it needs, and the wait for the response begins when it is through.
func TestSlowUploads(t *testing.T) {
	for name, base := range map[string]func(*Transport) http.RoundTripper{
		"exact":        func(t *Transport) http.RoundTripper { return t },
		"another kind": func(t *Transport) http.RoundTripper { return New(otherKind{t.single}, false) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", &told{io.LimitReader(zero{}, 1<<20), clock})
				require.NoError(t, err)
				req.ContentLength = 1 << 20
				resp, err := base(transport).RoundTrip(req)
				require.NoError(t, err)
				resp.Body.Close()
				assert.Equal(t, 201, resp.StatusCode)
				assert.Greater(t, time.Since(start), 20*time.Minute)
			})
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
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &http.Transport{MaxConnsPerHost: 1}
				transport := piped(t, base, func(nc net.Conn) {
					for r := bufio.NewReader(nc); ; {
						if _, err := request(r); err != nil {
							return
						}
						<-time.After(limit - 1)
						_, _ = io.WriteString(nc, response(200, ""))
					}
				})
				done := make(chan sent)
				start := time.Now()
				for range 5 {
					go func() {
						done <- send(t.Context(), transport, Limits{Wait: limit}, method, "http://127.0.0.1/", nil)
					}()
				}
				for range 5 {
					require.NoError(t, (<-done).err)
				}
				assert.GreaterOrEqual(t, time.Since(start), 5*(limit-1))
			})
			synctest.Test(t, func(t *testing.T) {
				slow := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					<-time.After(2 * limit / 3)
					client, server := net.Pipe()
					go func() {
						defer server.Close()
						if _, err := request(bufio.NewReader(server)); err == nil {
							_, _ = io.WriteString(server, response(200, "Connection: close\r\n"))
						}
					}()
					return client, nil
				}}
				for _, transport := range []*Transport{closing(t, New(slow, false)), New(otherKind{slow}, false)} {
					got := send(t.Context(), transport, Limits{Wait: time.Second}, method, "http://127.0.0.1/", nil)
					require.NoError(t, got.err)
				}
			})
		})
	}
}

// A handshake must end too, by the limit of the caller's transport, or else with the call's context. Nothing was sent
// then.
func TestHandshakesEnd(t *testing.T) {
	silent := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	}
	for limit, want := range map[time.Duration]time.Duration{0: time.Hour, 3 * time.Second: 3 * time.Second} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(fmt.Sprint(method, limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					base := &http.Transport{
						DialContext: silent, TLSHandshakeTimeout: limit,
						TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
					}
					transport := closing(t, New(base, false))
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					start := time.Now()
					got := send(ctx, transport, Limits{Wait: time.Second}, method, "https://127.0.0.1/", nil)
					assert.Equal(t, want, time.Since(start))
					assert.False(t, got.wrote)
					assert.NoError(t, got.late)
					var timeout net.Error
					require.ErrorAs(t, got.err, &timeout)
					assert.True(t, timeout.Timeout())
					synctest.Wait()
				})
			})
		}
	}
}

// A caller's dialer has no limit but the context, even one that ignores it. Nothing was sent then.
func TestContextEndsDialing(t *testing.T) {
	type dial = func(network, address string) (net.Conn, error)
	for name, base := range map[string]func(deaf dial) *http.Transport{
		"DialContext": func(deaf dial) *http.Transport {
			return &http.Transport{DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				return deaf(network, address)
			}}
		},
		"Dial":    func(deaf dial) *http.Transport { return &http.Transport{Dial: deaf} },
		"DialTLS": func(deaf dial) *http.Transport { return &http.Transport{DialTLS: deaf} },
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					late := make(chan struct{})
					transport := closing(t, New(base(func(string, string) (net.Conn, error) {
						<-late
						return nil, io.ErrClosedPipe
					}), false))
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					start := time.Now()
					got := send(ctx, transport, Limits{Wait: time.Second}, method, "https://127.0.0.1/", nil)
					require.ErrorIs(t, got.err, context.DeadlineExceeded)
					assert.Equal(t, time.Hour, time.Since(start))
					assert.False(t, got.wrote)
					close(late)
				})
			})
		}
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
		got := send(ctx, New(base, false), Limits{}, http.MethodPost, "http://127.0.0.1/", nil)
		require.ErrorIs(t, got.err, left)
		assert.Equal(t, limit, time.Since(start))
		assert.False(t, got.wrote)

		got = send(ctx, New(base, false), Limits{}, http.MethodPost, "http://127.0.0.1/", nil)
		require.ErrorIs(t, got.err, left)
		assert.False(t, got.wrote, "it had ended before")
		got = send(ctx, otherKind{base}, Limits{}, http.MethodPost, "http://127.0.0.1/", nil)
		require.Error(t, got.err)
		assert.True(t, got.wrote, "nothing is known of what another RoundTripper does")
		// net/http dials on for whoever comes next.
		time.Sleep(dialTimeout)
	})
}

// A connection that died in silence must be noticed before a call's wait is over, so that the next one succeeds.
func TestDeadHTTP2Connections(t *testing.T) {
	withFirstHTTP2Connection(t, func(t *testing.T, get func() sent, first *silencing) {
		close(first.dead)
		start := time.Now()
		require.Error(t, get().err)
		assert.LessOrEqual(t, time.Since(start), 30*time.Second)
		require.Equal(t, "HTTP/2.0", get().body)
	})
}

// A write that fails must not hold up the other requests of its connection, nor its reader, which would notice.
func TestBrokenHTTP2Connections(t *testing.T) {
	withFirstHTTP2Connection(t, func(t *testing.T, get func() sent, first *silencing) {
		first.err = syscall.EPIPE
		close(first.dead)
		start := time.Now()
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() { get() })
		}
		group.Wait()
		assert.Zero(t, time.Since(start))
		require.Equal(t, "HTTP/2.0", get().body)
	})
}

// withFirstHTTP2Connection calls do with a function that sends a request over HTTP/2, and the connection of the first.
func withFirstHTTP2Connection(t *testing.T, do func(t *testing.T, get func() sent, first *silencing)) {
	pair, roots := fakes.LoopbackCertificate()
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		srv := &http.Server{
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		}
		go srv.ServeTLS(listener, "", "")
		defer srv.Close()
		var first *silencing
		base := &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				listener.conns <- server
				if first == nil {
					first = &silencing{Conn: client, dead: make(chan struct{}), closed: make(chan struct{})}
					return first, nil
				}
				return client, nil
			},
		}
		transport := closing(t, New(base, false))
		get := func() sent {
			return send(t.Context(), transport, Limits{}, http.MethodGet, "https://example.com/", nil)
		}
		require.Equal(t, "HTTP/2.0", get().body)
		do(t, get, first)
		transport.CloseIdleConnections()
		// Connections that were dialed in vain are closed in their own time.
		time.Sleep(dialTimeout)
		srv.Close()
		synctest.Wait()
	})
}

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.conns:
		return nc, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

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

// A transport may tell of what happens after the attempt: no clock may then run for minutes, and keep it in memory.
func TestNoClockRunsAfterStop(t *testing.T) {
	_, clock := NewClock(t.Context(), limits)
	clock.Stop()
	clock.Responded(200)
	assert.False(t, clock.timer.Stop())
}

// A program that makes many calls pays for each allocation of an attempt.
func TestAllocationsOfAnAttempt(t *testing.T) {
	transport := new(Transport)
	count := testing.AllocsPerRun(1000, func() {
		_, clock, _ := transport.Watch(t.Context(), Limits{Stall: limit, Wait: limit})
		clock.Stop()
	})
	assert.LessOrEqual(t, count, 9.0)
}
