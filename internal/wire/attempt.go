package wire

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are the clocks of an attempt. Zero is no limit.
type Limits struct {
	Upload bool          // the request has a body
	Stall  time.Duration // how long sending may go on without a byte of the body being taken
	Wait   time.Duration // from the last byte sent until the response was read, for all redirects together
}

// Attempt watches one attempt: what was written, and whether it makes progress. It is safe for concurrent use. The
// context of the request derives from it, so that a [Transport] finds it.
//
// Waiting for a connection, dialing and the TLS handshake count for no limit, as far as the transport tells of them
// through httptrace.
type Attempt struct {
	context.Context
	cancel context.CancelCauseFunc
	limits Limits // no limit is forever
	trace  httptrace.ClientTrace
	sent   atomic.Int64  // in bytes, added to by the connections that count
	traced atomic.Bool   // the transport tells of its connections
	apart  atomic.Bool   // the transport has a goroutine of its own, which can be abandoned
	strays *atomic.Int64 // of the Transport; nil for none
	before int64         // how many there were at the start

	mu       sync.Mutex
	timer    *time.Timer
	phase    Phase
	deadline time.Time     // when the phase has taken too long
	wait     time.Duration // what is left of Limits.Wait for later phases

	inside    int    // how many calls of RoundTrip are under way
	seen      bool   // there was one
	err       error  // that the latest one returned
	asked     string // host and port of the connection that the transport last asked for
	conns     int    // how many connections there were, the same one counted again
	uncounted bool   // what was written is not known
}

// Evidence is what the Transport observed of an attempt, whatever happened above it. Only this counts: an error that
// comes up through other RoundTrippers may be of another request.
type Evidence struct {
	Seen  bool  // the attempt reached the Transport, and every call of RoundTrip has returned
	Wrote bool  // a byte of the request may have reached the network
	Err   error // of the latest RoundTrip
}

// Evidence is final after [Attempt.Stop]: the Transport sends nothing of an attempt that has ended.
func (a *Attempt) Evidence() Evidence {
	a.mu.Lock()
	defer a.mu.Unlock()
	strays := a.strays != nil && a.strays.Load() != a.before
	return Evidence{a.seen && a.inside == 0, a.uncounted || strays || a.sent.Load() > 0, a.err}
}

// Phase is what an attempt is doing.
type Phase int

const (
	Pausing   Phase = iota // nothing is timed
	Waiting                // for the response
	Receiving              // a part of the response that is due
	Reading                // the source of the body has to give bytes
	Sending                // the network has to accept them
)

// forever is the time that a phase without a limit may take.
const forever time.Duration = math.MaxInt64

type attemptKey struct{}

// maxConns is how often an attempt may be given a connection, redirects included: over HTTP/2, net/http repeats a
// request whose stream was reset with PROTOCOL_ERROR or REFUSED_STREAM without end.
const maxConns = 30

var errRepeats = fmt.Errorf("the request was repeated %d times over HTTP/2, as the server reset it each time", maxConns)

// Watch starts an attempt, and returns the context for its request. The caller must call [Attempt.Stop] in the end.
func Watch(ctx context.Context, limits Limits) (context.Context, *Attempt) {
	limits.Stall, limits.Wait = cmp.Or(limits.Stall, forever), cmp.Or(limits.Wait, forever)
	a := &Attempt{limits: limits, wait: limits.Wait}
	a.Context, a.cancel = context.WithCancelCause(ctx)
	a.timer = time.AfterFunc(forever, a.expire)
	// Only an upload has to know, but there may be RoundTrippers that call a hook without asking whether it is nil.
	wrote := func(httptrace.WroteRequestInfo) {}
	if limits.Upload {
		wrote = a.wroteRequest
	}
	a.trace = httptrace.ClientTrace{GetConn: a.getConn, GotConn: a.gotConn, WroteRequest: wrote}
	// A transport that tells of its connections stops the clock until there is one.
	a.begin(Sending)
	return httptrace.WithClientTrace(a, &a.trace), a
}

// Value returns the attempt itself for its key.
func (a *Attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// begin ends the phase and begins p, with its clock. If phases are given, it does so during one of these alone. A
// request without a body has nothing to send.
func (a *Attempt) begin(p Phase, during ...Phase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(during) > 0 && !slices.Contains(during, a.phase) || a.Err() != nil {
		return
	}
	if a.phase == Waiting {
		a.wait = time.Until(a.deadline)
	}
	if p == Sending && !a.limits.Upload {
		p = Waiting
	}
	left := a.limits.Stall
	switch p {
	case Pausing:
		left = forever
	case Waiting:
		left = a.wait
	}
	a.phase, a.deadline = p, time.Now().Add(left)
	a.timer.Reset(left)
}

func (a *Attempt) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Now().Before(a.deadline) {
		// The timer had fired before it was set anew.
		return
	}
	late := &TimeoutError{a.phase, a.limits.Stall}
	if a.phase == Waiting {
		late.Limit = a.limits.Wait
	}
	a.cancel(late)
}

// connecting notes that the transport tells of its connections, and waits for one.
func (a *Attempt) connecting() {
	a.begin(Pausing)
	if !a.traced.Swap(true) {
		a.mu.Lock()
		defer a.mu.Unlock()
		// What went by before was no time of waiting for a response.
		a.wait = a.limits.Wait
	}
}

// enter notes that a Transport is about to send a request of the attempt. It refuses if the attempt has ended.
func (a *Attempt) enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = true
	if a.Err() != nil {
		a.err = context.Cause(a)
		return a.err
	}
	a.inside++
	a.asked = ""
	return nil
}

// leave notes that RoundTrip is about to return err. Addr is where a transport that does not count what it writes had
// to connect to: if it asked for that connection and got none, nothing was written. It is empty for one that counts.
func (a *Attempt) leave(addr string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside--
	a.err = err
	if addr != "" && (a.conns > 0 || a.asked != addr) {
		a.uncounted = true
	}
}

// within reports whether a RoundTrip is under way. Otherwise httptrace tells of a request that a middleware makes with
// the context of this one.
func (a *Attempt) within() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inside > 0
}

func (a *Attempt) getConn(addr string) {
	if a.within() {
		a.mu.Lock()
		a.asked = addr
		a.mu.Unlock()
		a.connecting()
	}
}

func (a *Attempt) gotConn(info httptrace.GotConnInfo) {
	if !a.within() {
		return
	}
	counted := countInto(&a.sent, info.Conn)
	a.begin(Sending)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns++
	a.uncounted = a.uncounted || !counted
	if a.conns > maxConns {
		a.cancel(errRepeats)
	}
}

func (a *Attempt) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil && a.within() {
		a.begin(Waiting, Reading, Sending)
	}
}

// Reading notes that the transport waits for the source of the body from now on: it got rid of what it had. It reports
// whether the source may keep it waiting for ever.
func (a *Attempt) Reading() bool {
	a.begin(Reading, Sending)
	return a.apart.Load()
}

// Taken notes that the transport was handed bytes of the body; done says that they were the last.
func (a *Attempt) Taken(done bool) {
	next := Sending
	if done && !a.traced.Load() {
		next = Waiting
	}
	a.begin(next, Reading, Sending)
}

// Responded notes that the header of the response is here, which may be before the request was written.
func (a *Attempt) Responded() { a.begin(Waiting) }

// Receiving notes that a byte of the response is waited for, until Pause.
func (a *Attempt) Receiving() { a.begin(Receiving) }

// Pause stops the clock that runs.
func (a *Attempt) Pause() { a.begin(Pausing) }

// Stop ends the attempt's clocks and its context. No clock runs afterwards, whatever a transport tells.
func (a *Attempt) Stop() {
	a.cancel(nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer.Stop()
}

// Sent returns how many bytes of the request were written, TLS's share included. It is 0 where connections do not
// count: over HTTP/2, and with a RoundTripper other than an [*http.Transport].
func (a *Attempt) Sent() int64 { return a.sent.Load() }

// Expired returns the error with which the attempt ended itself, mostly a [*TimeoutError], or nil.
func (a *Attempt) Expired() error {
	cause := context.Cause(a)
	if _, late := cause.(*TimeoutError); late || cause == errRepeats {
		return cause
	}
	return nil
}
