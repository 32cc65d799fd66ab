package wire

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
)

// maxConns is how often an attempt may be given a connection: over HTTP/2, net/http repeats a request whose stream was
// reset with PROTOCOL_ERROR or REFUSED_STREAM without end. Ten redirects may be repeated twice each.
const maxConns = 30

var errRepeats = fmt.Errorf("the request was repeated %d times over HTTP/2, as the server reset it each time", maxConns)

// Evidence records whether an attempt reached its [Transport], and whether a byte of its request was written. It rests
// on the Transport's observations alone: an error that comes up through other RoundTrippers may belong to another
// request. It is safe for concurrent use.
type Evidence struct {
	ctx    context.Context // of the attempt
	strays *atomic.Int64   // of the Transport
	before int64           // strays at the start

	mu        sync.Mutex
	sent      *counter // of the connections that count; nil before the first
	uncounted bool     // bytes may have been written that no connection counts
	inside    int      // number of calls of RoundTrip under way
	seen      bool     // there was such a call
	err       error    // of the latest call that returned
	asked     string   // host and port of the connection that the transport last asked for
	conns     int      // number of connections so far; the same one counts each time
}

// Observed reports the facts. They are final after [Clock.Stop]: the Transport sends nothing for an ended attempt.
//
// Seen says that the attempt reached the Transport and that every call of RoundTrip has returned. Wrote says that a
// byte of the request may have reached the network. Err is the error of the latest RoundTrip.
func (e *Evidence) Observed() (seen, wrote bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wrote = e.uncounted || e.strays.Load() != e.before || e.sent.bytes() > 0
	return e.seen && e.inside == 0, wrote, e.err
}

// Sent returns the number of bytes written for the request, TLS's share included. It is 0 where connections do not
// count: over HTTP/2, and with a RoundTripper other than an [*http.Transport].
func (e *Evidence) Sent() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent.bytes()
}

// enter notes that a Transport is about to send a request of the attempt. It refuses if the attempt has ended.
func (e *Evidence) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = true
	if e.ctx.Err() != nil {
		e.err = context.Cause(e.ctx)
		return e.err
	}
	e.inside++
	e.asked = ""
	return nil
}

// leave notes that RoundTrip is about to return err. To is nil for a transport whose connections count. Any other
// transport has written nothing if it asked for a connection to the host of this URL and got none.
//
// A request that failed before its first byte stays unsent: net/http may be about to write when it gives up.
func (e *Evidence) leave(to *url.URL, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inside--
	e.err = err
	if to != nil && (e.conns > 0 || e.asked == "" || e.asked != addressOf(to)) {
		e.uncounted = true
	}
	if err != nil && e.inside == 0 && e.sent.seal() {
		e.sent = nil
	}
}

var ports = map[string]string{"http": "80", "https": "443"}

// addressOf returns the host and port of u.
func addressOf(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
}

// sending reports whether a RoundTrip is under way. Otherwise httptrace reports a request that a middleware makes with
// the context of this one.
func (e *Evidence) sending() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inside > 0
}

// connecting notes that the transport asks for a connection to addr.
func (e *Evidence) connecting(addr string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = addr
}

// connected notes that the transport has a connection. It returns how many there were.
func (e *Evidence) connected(nc net.Conn) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns++
	c := counting(nc)
	if c == nil {
		e.uncounted = true
		return e.conns
	}
	if e.sent == nil {
		e.sent = new(counter)
	}
	c.sent.Store(e.sent)
	return e.conns
}

// readBody notes that a transport without counting connections has read from the body. It may send those bytes to
// another address, without a report.
func (e *Evidence) readBody() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.uncounted = true
}
