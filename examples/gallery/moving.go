package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// A body may keep the gallery waiting for maxWait in all. Each second's worth of bytes, at minRate bytes per second,
// gives a second back: a slow upload continues, and one that stalls or trickles is closed.
const (
	maxWait = 30 * time.Second
	minRate = 1 << 10
)

var errStalled = errors.New("the form stopped arriving")

// movingBody is the body of a request, with a read deadline that moves with its bytes.
type movingBody struct {
	io.ReadCloser
	ctx  context.Context
	conn *http.ResponseController

	mu   sync.Mutex
	left time.Duration // to wait
}

// keepMoving gives the request a moving body. Reading it ends with the request's context. The handler must call stop
// when it is done.
func keepMoving(w http.ResponseWriter, r *http.Request) (stop func() bool) {
	if r.Body == http.NoBody {
		return func() bool { return true }
	}
	conn := http.NewResponseController(w)
	// It also holds for what the server reads of a body that no handler has read.
	conn.SetReadDeadline(time.Now().Add(maxWait))
	r.Body = &movingBody{ReadCloser: r.Body, ctx: r.Context(), conn: conn, left: maxWait}
	return context.AfterFunc(r.Context(), func() { conn.SetReadDeadline(time.Now()) })
}

func (b *movingBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began, allowed := time.Now(), b.left
	b.conn.SetReadDeadline(began.Add(allowed))
	if b.ctx.Err() != nil {
		// The deadline just set may have replaced the one that the context's end set.
		b.conn.SetReadDeadline(began)
		return 0, context.Cause(b.ctx)
	}
	n, err := b.ReadCloser.Read(p)
	took := time.Since(began)
	b.left = min(maxWait, allowed-took+time.Duration(n)*time.Second/minRate)
	switch {
	case err == io.EOF:
		// While the request is served, the server waits for the end of the connection.
		b.conn.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded) && took >= allowed:
		err = errStalled // by now the context has ended too: the server ends it
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = context.Cause(b.ctx)
	}
	return n, err
}

// movingWriter writes a response to a visitor who reads it: each piece must be taken in time.
type movingWriter struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// A visitor who reads at minRate takes a piece, in bytes, in maxWait. The server may have to wait for what is left of a
// body first.
const (
	piece   = 16 << 10
	maxRead = 2 * maxWait
)

func (m *movingWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *movingWriter) WriteHeader(status int) {
	m.conn.SetWriteDeadline(time.Now().Add(maxRead))
	m.ResponseWriter.WriteHeader(status)
}

func (m *movingWriter) Write(data []byte) (written int, err error) {
	for err == nil && written < len(data) {
		m.conn.SetWriteDeadline(time.Now().Add(maxRead))
		var n int
		n, err = m.ResponseWriter.Write(data[written:min(len(data), written+piece)])
		written += n
	}
	return written, err
}
