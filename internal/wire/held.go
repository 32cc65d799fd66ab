package wire

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// held is the body of a request with "Expect: 100-continue". Where the server refuses the request instead of saying 100
// Continue, net/http sends the body all the same, as it would to keep the connection. An error of Read would lose the
// response, so Read waits for the end of the attempt.
type held struct {
	io.ReadCloser
	ctx       context.Context
	continued context.Context // ends with a 100 Continue, and with ctx
	begun     bool
	responded atomic.Bool
}

// hold returns a copy of req with a body that is held.
func hold(req *http.Request) *http.Request {
	continued, end := context.WithCancel(req.Context())
	h := &held{ReadCloser: req.Body, ctx: req.Context(), continued: continued}
	req = req.WithContext(httptrace.WithClientTrace(h.ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { h.responded.Store(true) },
		Got100Continue:       end,
	}))
	req.Body = h
	return req
}

// Read holds nothing but the beginning: a service may respond while it reads what it did not refuse.
func (h *held) Read(p []byte) (int, error) {
	if !h.begun && h.responded.Load() {
		<-h.continued.Done()
		if err := context.Cause(h.ctx); err != nil {
			return 0, err
		}
	}
	h.begun = true
	return h.ReadCloser.Read(p)
}
