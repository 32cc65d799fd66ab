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
	Option string        // what sets Wait, for the text of the error
	Source error         // matched by the error of a source that took too long
}

// Watcher watches one attempt: what was written, and whether it makes progress. It is safe for concurrent use once it
// watches. The context of the request derives from it, so that a [Transport] finds it.
//
// Waiting for a connection, dialing and the TLS handshake count for no limit, as far as the transport tells of them
// through httptrace.
type Watcher struct {
	context.Context
	cancel context.CancelCauseFunc
	limits Limits // no limit is forever
	trace  httptrace.ClientTrace
	sent   atomic.Int64  // in bytes, added to by the connections that count
	strays *atomic.Int64 // of the Transport; nil for none
	before int64         // how many there were at the start

	uncounted atomic.Bool // what was written is not known
	traced    atomic.Bool // the transport tells of its connections
	responded atomic.Bool // the header of the response is here

	mu       sync.Mutex
	timer    *time.Timer
	phase    Phase
	deadline time.Time     // when the phase has taken too long
	wait     time.Duration // what is left of Limits.Wait for later phases

	inside int    // how many calls of RoundTrip are under way
	seen   bool   // there was one
	err    error  // that the latest one returned
	asked  string // host and port of the connection that the transport last asked for
	conns  int    // how many connections there were, the same one counted again
}

// Evidence is what the Transport observed of an attempt, whatever happened above it. Only this counts: an error that
// comes up through other RoundTrippers may be of another request.
type Evidence struct {
	Seen  bool  // the attempt reached the Transport, and every call of RoundTrip has returned
	Wrote bool  // a byte of the request may have reached the network
	Err   error // of the latest RoundTrip
}

// Evidence is final after [Watcher.Stop]: the Transport sends nothing of an attempt that has ended.
func (w *Watcher) Evidence() Evidence {
	w.mu.Lock()
	defer w.mu.Unlock()
	strays := w.strays != nil && w.strays.Load() != w.before
	return Evidence{w.seen && w.inside == 0, w.uncounted.Load() || strays || w.sent.Load() > 0, w.err}
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

type watcherKey struct{}

// maxConns is how often an attempt may be given a connection: over HTTP/2, net/http repeats a request whose stream was
// reset with PROTOCOL_ERROR or REFUSED_STREAM without end. Ten redirects may be repeated twice each.
const maxConns = 30

var errRepeats = fmt.Errorf("the request was repeated %d times over HTTP/2, as the server reset it each time", maxConns)

// Watch is [Watcher.Watch] of a new Watcher.
func Watch(ctx context.Context, limits Limits) (context.Context, *Watcher) {
	w := new(Watcher)
	return w.Watch(ctx, limits), w
}

// Watch starts an attempt, and returns the context for its request. A Watcher, whose zero value is ready, watches one
// attempt. The caller must call [Watcher.Stop] in the end.
func (w *Watcher) Watch(ctx context.Context, limits Limits) context.Context {
	limits.Stall, limits.Wait = cmp.Or(limits.Stall, forever), cmp.Or(limits.Wait, forever)
	w.limits, w.wait = limits, limits.Wait
	w.Context, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(forever, w.expire)
	// Only an upload has to know, but there may be RoundTrippers that call a hook without asking whether it is nil.
	wrote := func(httptrace.WroteRequestInfo) {}
	if limits.Upload {
		wrote = w.wroteRequest
	}
	w.trace = httptrace.ClientTrace{GetConn: w.getConn, GotConn: w.gotConn, WroteRequest: wrote}
	// A transport that tells of its connections stops the clock until there is one.
	w.begin(Sending)
	return httptrace.WithClientTrace(w, &w.trace)
}

// Value returns the attempt itself for its key.
func (w *Watcher) Value(key any) any {
	if key == (watcherKey{}) {
		return w
	}
	return w.Context.Value(key)
}

// begin ends the phase and begins p, with its clock. If phases are given, it does so during one of these alone. A
// request without a body has nothing to send.
func (w *Watcher) begin(p Phase, during ...Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(during) > 0 && !slices.Contains(during, w.phase) || w.Err() != nil {
		return
	}
	if w.phase == Waiting {
		w.wait = time.Until(w.deadline)
	}
	if p == Sending && !w.limits.Upload {
		p = Waiting
	}
	left := w.limits.Stall
	switch p {
	case Pausing:
		left = forever
	case Waiting:
		left = w.wait
	}
	w.phase, w.deadline = p, time.Now().Add(left)
	w.timer.Reset(left)
}

func (w *Watcher) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.deadline) {
		// The timer had fired before it was set anew.
		return
	}
	late := &TimeoutError{Phase: w.phase, Limit: w.limits.Stall}
	if w.phase == Waiting {
		late.Limit, late.option = w.limits.Wait, w.limits.Option
	}
	if w.phase == Reading {
		late.Source = w.limits.Source
	}
	w.cancel(late)
}

// connecting notes that the transport tells of its connections, and waits for one to addr.
func (w *Watcher) connecting(addr string) {
	w.begin(Pausing)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = addr
	if !w.traced.Swap(true) {
		// What went by before was no time of waiting for a response.
		w.wait = w.limits.Wait
	}
}

// enter notes that a Transport is about to send a request of the attempt. It refuses if the attempt has ended.
func (w *Watcher) enter() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = true
	if w.Err() != nil {
		w.err = context.Cause(w)
		return w.err
	}
	w.inside++
	w.asked = ""
	return nil
}

// leave notes that RoundTrip is about to return err. Addr is where a transport that does not count what it writes had
// to connect to: if it asked for that connection and got none, nothing was written. It is empty for one that counts.
func (w *Watcher) leave(addr string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside--
	w.err = err
	if addr != "" && (w.conns > 0 || w.asked != addr) {
		w.uncounted.Store(true)
	}
}

// sending reports whether a RoundTrip is under way. Otherwise httptrace tells of a request that a middleware makes with
// the context of this one.
func (w *Watcher) sending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inside > 0
}

func (w *Watcher) getConn(addr string) {
	if w.sending() {
		w.connecting(addr)
	}
}

func (w *Watcher) gotConn(info httptrace.GotConnInfo) {
	if !w.sending() {
		return
	}
	if !countInto(&w.sent, info.Conn) {
		w.uncounted.Store(true)
	}
	w.begin(Sending)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conns++; w.conns > maxConns {
		w.cancel(errRepeats)
	}
}

func (w *Watcher) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil && w.sending() || w.responded.Load() {
		w.begin(Waiting, Reading, Sending)
	}
}

// Reading notes that the transport waits for the source of the body from now on: it got rid of what it had.
func (w *Watcher) Reading() { w.begin(Reading, Sending) }

// Taken notes that the transport was handed bytes of the body; done says that they were the last.
func (w *Watcher) Taken(done bool) {
	next := Sending
	if done && !w.traced.Load() {
		next = Waiting
	}
	w.begin(next, Reading, Sending)
}

// Responded notes that the header of the response is here, which may be before the request was written. A 2xx does not
// end an upload: the wait for the rest of the response begins with the last byte of the request.
func (w *Watcher) Responded(status int) {
	w.responded.Store(true)
	if status/100 == 2 {
		w.begin(Waiting, Waiting, Pausing)
	} else {
		w.begin(Waiting)
	}
}

// Receiving notes that a byte of the response is waited for, until Pause.
func (w *Watcher) Receiving() { w.begin(Receiving) }

// Pause stops the clock that runs.
func (w *Watcher) Pause() { w.begin(Pausing) }

// Stop ends the attempt's clocks and its context. No clock runs afterwards, whatever a transport tells.
func (w *Watcher) Stop() {
	w.cancel(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

// Sent returns how many bytes of the request were written, TLS's share included. It is 0 where connections do not
// count: over HTTP/2, and with a RoundTripper other than an [*http.Transport].
func (w *Watcher) Sent() int64 { return w.sent.Load() }

// Expired returns the error with which the attempt ended itself, mostly a [*TimeoutError], or nil.
func (w *Watcher) Expired() error {
	cause := context.Cause(w)
	if _, late := cause.(*TimeoutError); late || cause == errRepeats {
		return cause
	}
	return nil
}
