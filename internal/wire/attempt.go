package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync"
	"time"
)

// Limits are the clocks of an attempt. Zero is no limit.
type Limits struct {
	Upload bool          // the request has a body
	Stall  time.Duration // how long sending may go on without a byte of the body being taken
	Wait   time.Duration // how long the response may take, from the last byte sent until it was read; for all redirects together
}

// Attempt watches one attempt: what was written, and whether it still moves. It is safe for concurrent use.
//
// Waiting for a connection, dialing and the TLS handshake count for no limit, as far as the transport tells of
// them through httptrace.
type Attempt struct {
	limits Limits
	trace  httptrace.ClientTrace
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	timer    *time.Timer
	phase    phase
	deadline time.Time     // when the phase has taken too long; zero is never
	since    time.Time     // when the phase began
	waited   time.Duration // how much of Limits.Wait was used up by earlier phases
	reading  bool          // the transport waits for the source of the body
	traced   bool          // the transport tells of its connections

	conns      int   // how many connections there were, the same one counted again
	conn       *conn // the latest, nil where it does not count
	shared     bool  // it is an HTTP/2 connection
	before     int64 // sent on conn before this request
	headers    bool  // a header line was written on the latest connection
	sent       int64 // sent on connections before the latest
	sentBefore bool  // something was
}

type phase int

const (
	pausing phase = iota // nothing is timed
	sending
	waiting
	stopped
)

type attemptKey struct{}

// maxConns is how often an attempt may be given a connection, redirects included: over HTTP/2, net/http repeats a request whose
// stream was reset with PROTOCOL_ERROR or REFUSED_STREAM without end.
const maxConns = 30

var errRepeats = fmt.Errorf("the request was repeated %d times over HTTP/2, as the server reset it each time", maxConns)

// errStopped is the cause of a context that Stop ended.
var errStopped = fmt.Errorf("the attempt is over: %w", context.Canceled)

// Watch starts an attempt, and returns the context for its request. The caller must call [Attempt.Stop] in the end.
func Watch(ctx context.Context, limits Limits) (context.Context, *Attempt) {
	a := &Attempt{limits: limits}
	ctx, a.cancel = context.WithCancelCause(context.WithValue(ctx, attemptKey{}, a))
	a.trace = httptrace.ClientTrace{
		GetConn:          func(string) { a.connecting() },
		GotConn:          a.gotConn,
		WroteHeaderField: func(string, []string) { a.wroteHeaders() },
		WroteHeaders:     a.wroteHeaders,
		WroteRequest:     a.wroteRequest,
	}
	a.ctx = httptrace.WithClientTrace(ctx, &a.trace)
	a.mu.Lock()
	defer a.mu.Unlock()
	// A transport that tells of its connections stops the clock until there is one.
	a.start()
	return a.ctx, a
}

// start begins the phase that comes first on a connection.
func (a *Attempt) start() {
	if a.limits.Upload {
		a.begin(sending)
	} else {
		a.begin(waiting)
	}
}

// begin ends the phase, and begins another with its clock.
func (a *Attempt) begin(p phase) {
	if a.phase == stopped {
		return
	}
	now := time.Now()
	if a.phase == waiting {
		a.waited += now.Sub(a.since)
	}
	a.phase, a.since = p, now
	switch {
	case p == sending:
		a.arm(a.limits.Stall, a.limits.Stall)
	case p == waiting:
		a.arm(a.limits.Wait, a.limits.Wait-a.waited)
	default:
		a.arm(0, 0)
	}
}

// arm sets the clock to what is left of limit; a limit of zero stops it.
func (a *Attempt) arm(limit, left time.Duration) {
	if limit == 0 {
		a.deadline = time.Time{}
		if a.timer != nil {
			a.timer.Stop()
		}
		return
	}
	a.deadline = time.Now().Add(left)
	if a.timer == nil {
		a.timer = time.AfterFunc(left, a.expire)
	} else {
		a.timer.Reset(left)
	}
}

func (a *Attempt) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	// The timer may have fired before it was set anew.
	if a.deadline.IsZero() || time.Now().Before(a.deadline) {
		return
	}
	if a.phase == sending {
		a.cancel(&TimeoutError{Stalled: true, ByReader: a.reading, Limit: a.limits.Stall})
	} else {
		a.cancel(&TimeoutError{Limit: a.limits.Wait})
	}
}

// connecting notes that the transport tells of its connections, and waits for one.
func (a *Attempt) connecting() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(pausing)
	if !a.traced {
		// What went by before was no time of waiting for a response.
		a.traced, a.waited = true, 0
	}
}

func (a *Attempt) gotConn(info httptrace.GotConnInfo) {
	c, shared := unwrap(info.Conn)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sentBefore = a.wrote()
	a.sent += a.sentHere()
	a.conns, a.conn, a.shared, a.headers = a.conns+1, c, shared, false
	if c != nil {
		a.before = c.written.Load()
	}
	a.start()
	if a.conns > maxConns {
		a.cancel(errRepeats)
	}
}

func (a *Attempt) wroteHeaders() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.headers = true
}

func (a *Attempt) wroteRequest(info httptrace.WroteRequestInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if info.Err == nil && a.phase == sending {
		a.begin(waiting)
	}
}

// Reading notes that the transport waits for the source of the body from now on.
func (a *Attempt) Reading() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.reading && a.phase == sending {
		// The transport asks for more when it has got rid of what it had.
		a.begin(sending)
	}
	a.reading = true
}

// Taken notes that the transport was handed bytes of the body; done says that they were the last.
func (a *Attempt) Taken(done bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reading = false
	switch {
	case a.phase != sending:
	case done && !a.traced:
		a.begin(waiting)
	default:
		a.begin(sending)
	}
}

// Answered notes that the header of the response is here, which may be before the request was written.
func (a *Attempt) Answered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase != waiting {
		a.begin(waiting)
	}
}

// Pause stops the clock that runs.
func (a *Attempt) Pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(pausing)
}

// Stop ends the attempt's clocks and its context. No clock runs afterwards, whatever a transport tells.
func (a *Attempt) Stop() {
	a.mu.Lock()
	a.begin(stopped)
	a.mu.Unlock()
	a.cancel(errStopped)
}

// Sent returns how many bytes of the request were written, TLS's share included. It is 0 where connections do not count:
// over HTTP/2, and with a RoundTripper that is no [*http.Transport].
func (a *Attempt) Sent() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent + a.sentHere()
}

// Wrote reports whether a byte of the request may have reached the network. err is the error of the request: a transport
// that tells of no connection is judged by it.
func (a *Attempt) Wrote(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns > 0 || a.traced {
		return a.wrote()
	}
	return !NeverConnected(err)
}

func (a *Attempt) wrote() bool {
	switch {
	case a.sentBefore || a.conns == 0:
		return a.sentBefore
	case a.conn != nil:
		return a.sentHere() > 0
	case a.shared && a.ctx.Err() != nil && context.Cause(a.ctx) != errStopped:
		// When a context ends, HTTP/2 does not wait for its writer.
		return true
	}
	return a.headers
}

func (a *Attempt) sentHere() int64 {
	if a.conn == nil {
		return 0
	}
	return a.conn.written.Load() - a.before
}

// Expired returns the error with which the attempt ended itself, mostly a [*TimeoutError], or nil.
func (a *Attempt) Expired() error {
	cause := context.Cause(a.ctx)
	if cause == nil {
		return nil
	}
	var late *TimeoutError
	if cause == errRepeats || errors.As(cause, &late) {
		return cause
	}
	return nil
}
