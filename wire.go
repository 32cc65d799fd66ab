package aicontent

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"os"
	"sync"
	"time"
)

// wire watches one attempt on the network: whether a byte of the request was written, and whether it still moves.
type wire struct {
	httptrace.ClientTrace
	upload bool          // the request has a body
	stall  time.Duration // 0 is none
	wait   time.Duration // 0 is none
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	timer    *time.Timer
	deadline time.Time // zero while nothing is timed
	armed    time.Time // when the timer fires; zero while it does not
	latest   time.Time // when an answer without an upload is overdue; zero before the first connection
	sending  bool      // what is timed is the sending, not the answer
	traced   bool      // the transport tells of its connections
	got      bool      // there is a connection
	reused   bool      // it was idle before
	earlier  bool      // a byte was written on a connection before this one
	headers  bool      // the header was written on this connection
	conn     *conn     // nil where it does not count
	shared   bool      // it is an HTTP/2 connection
	before   int64     // bytes written to conn before this request
}

// watch starts the clocks of an attempt. A transport that tells of its connections stops them again until there is one.
func watch(ctx context.Context, upload bool, stall, wait time.Duration) (context.Context, *wire) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &wire{upload: upload, stall: stall, wait: wait, cancel: cancel}
	w.GetConn = w.getConn
	w.GotConn = w.gotConn
	w.WroteHeaders = w.wroteHeaders
	w.WroteRequest = w.wroteRequest
	w.mu.Lock()
	w.begin(upload)
	w.mu.Unlock()
	return httptrace.WithClientTrace(ctx, &w.ClientTrace), w
}

// begin times the sending or the answer from now on.
func (w *wire) begin(sending bool) {
	w.sending = sending
	limit := w.limit()
	if limit == 0 {
		w.deadline = time.Time{}
		return
	}
	w.deadline = time.Now().Add(limit)
	if !sending && !w.upload {
		// A redirect that is followed gets no time of its own.
		if w.latest.IsZero() {
			w.latest = w.deadline
		} else if w.deadline.After(w.latest) {
			w.deadline = w.latest
		}
	}
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(limit, w.expire)
	case w.armed.IsZero() || w.deadline.Before(w.armed):
		w.timer.Reset(time.Until(w.deadline))
	default:
		// expire looks at the deadline, and sets the timer anew.
		return
	}
	w.armed = w.deadline
}

func (w *wire) limit() time.Duration {
	if w.sending {
		return w.stall
	}
	return w.wait
}

func (w *wire) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = time.Time{}
	if w.deadline.IsZero() {
		return
	}
	if left := time.Until(w.deadline); left > 0 {
		w.timer.Reset(left)
		w.armed = w.deadline
		return
	}
	w.cancel(&timeoutError{sending: w.sending, limit: w.limit()})
}

func (w *wire) getConn(string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traced, w.reused = true, false
	w.deadline = time.Time{}
}

func (w *wire) gotConn(info httptrace.GotConnInfo) {
	c, shared := connOf(info.Conn)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.earlier = w.earlier || w.got && w.wroteHere()
	w.got, w.reused, w.headers, w.conn, w.shared = true, info.Reused, false, c, shared
	if c != nil {
		w.before = c.written.Load()
		c.idle.Store(info.Reused)
	}
	w.begin(w.upload)
}

func (w *wire) wroteHeaders() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.headers = true
}

func (w *wire) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(false)
}

// answering times the answer where that is not done yet: it came before the request was written.
func (w *wire) answering() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sending || w.deadline.IsZero() {
		w.begin(false)
	}
}

// took notes that the transport has taken bytes of the body, or with done all of it.
func (w *wire) took(done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.sending:
	case done && !w.traced:
		w.begin(false)
	case !w.deadline.IsZero():
		w.deadline = time.Now().Add(w.stall)
	}
}

// stop ends the attempt's clocks and its context.
func (w *wire) stop() {
	w.mu.Lock()
	w.deadline = time.Time{}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(context.Canceled)
}

// wrote reports whether a byte of the request may have reached the network.
func (w *wire) wrote(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.traced && !w.got {
		return !neverConnected(err)
	}
	return w.earlier || w.got && w.wroteHere()
}

// untouched reports whether the service cannot have looked at what net/http is sending again by itself. Over HTTP/2
// that is what the service refused, over HTTP/1 what was not written, unless a header, such as Idempotency-Key, marks the
// request as one that may always be sent again.
func (w *wire) untouched(marked bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.earlier || w.shared || w.conn == nil && !marked
}

// diedIdle reports whether a request that failed was given a connection that had died while it was idle, and nothing was
// written to any. net/http takes another one by itself where its writer notices first, and gives up where its reader does.
func (w *wire) diedIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn != nil && w.reused && !w.earlier && !w.wroteHere()
}

// wroteHere is wrote for the present connection. Without a count, a header that is not complete is the last moment at
// which a service cannot have acted.
func (w *wire) wroteHere() bool {
	if w.conn != nil {
		return w.conn.written.Load() > w.before
	}
	return w.headers
}

// timeoutError ends an attempt, not the call: it is no context.DeadlineExceeded.
type timeoutError struct {
	sending bool
	limit   time.Duration
}

func (e *timeoutError) Error() string {
	if e.sending {
		return fmt.Sprintf("the upload stalled: nothing was taken for %v (WithStallTimeout)", e.limit)
	}
	return fmt.Sprintf("no answer within %v after the request was sent (WithTimeout)", e.limit)
}

// Timeout makes it a timeout in the sense of net.Error.
func (e *timeoutError) Timeout() bool { return true }

// Is makes it an [os.ErrDeadlineExceeded].
func (e *timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// neverConnected reports whether the error is of a kind that comes before there is a connection.
func neverConnected(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" || untrusted(err)
}

// untrusted reports whether the peer's certificate was refused, which a further attempt does not change.
func untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// streamError has the shape of net/http's own HTTP/2 stream error, which fills it in for [errors.As].
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream error %d", e.Code) }

// refusedStream reports whether an HTTP/2 service said that it did not look at the request (RFC 9113, section 8.7).
func refusedStream(err error) bool {
	const code = 0x7
	var stream streamError
	return errors.As(err, &stream) && stream.Code == code
}
