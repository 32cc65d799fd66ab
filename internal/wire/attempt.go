package wire

import (
	"context"
	"io"
	"net/http/httptrace"
)

// attempt is the context of a request, in which a [Transport] finds the clock and the evidence. It passes the reports
// of httptrace on to both.
type attempt struct {
	context.Context
	clock    Clock
	evidence Evidence
	trace    httptrace.ClientTrace
}

type attemptKey struct{}

// attemptOf returns the attempt of a request with this context, or nil.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// Watch starts the clock and the evidence of an attempt whose request t will send. The returned context is for the
// request. The caller must call [Clock.Stop] in the end.
//
// A middleware may send the request with a context of its own. A POST without an attempt that t sends meanwhile may be
// that request, so it counts as written.
func (t *Transport) Watch(ctx context.Context, limits Limits) (context.Context, *Clock, *Evidence) {
	a := new(attempt)
	a.clock.start(ctx, limits)
	a.Context = a.clock.ctx
	a.evidence = Evidence{ctx: a.clock.ctx, strays: &t.strays, before: t.strays.Load()}
	// Only an upload has to know, but there may be RoundTrippers that call a hook without asking whether it is nil.
	wrote := func(httptrace.WroteRequestInfo) {}
	if limits.Upload {
		wrote = a.wroteRequest
	}
	a.trace = httptrace.ClientTrace{GetConn: a.getConn, GotConn: a.gotConn, WroteRequest: wrote}
	return httptrace.WithClientTrace(a, &a.trace), &a.clock, &a.evidence
}

// Value returns the attempt itself for its key.
func (a *attempt) Value(key any) any {
	if key == (attemptKey{}) {
		return a
	}
	return a.Context.Value(key)
}

func (a *attempt) getConn(addr string) {
	if a.evidence.sending() {
		a.evidence.connecting(addr)
		a.clock.connecting()
	}
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	if !a.evidence.sending() {
		return
	}
	if a.evidence.connected(info.Conn) > maxConns {
		a.clock.cancel(errRepeats)
	}
	a.clock.begin(Sending)
}

func (a *attempt) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil && a.evidence.sending() || a.clock.responded.Load() {
		a.clock.written()
	}
}

// handedOut is the body of a request below a transport without counting connections.
type handedOut struct {
	io.ReadCloser
	evidence *Evidence
}

func (b *handedOut) Read(p []byte) (int, error) {
	b.evidence.readBody()
	return b.ReadCloser.Read(p)
}
