package aicontent

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// pumpSize is how much a pump reads at once, in bytes: as much as net/http asks for.
const pumpSize = 32 << 10

var errStuck = errors.New("an earlier read of it has not returned")

// pump reads on another goroutine and into memory of its own, so that the end of the context is heard while a Read
// waits, and what that Read brings later hurts nobody. It never reads ahead.
type pump struct {
	ctx     context.Context
	r       io.Reader
	buf     []byte
	results chan piece
	stuck   *atomic.Bool // a Read was left behind
}

type piece struct {
	n   int
	err error
}

func (p *pump) Read(b []byte) (int, error) {
	if p.stuck.Load() {
		return 0, errStuck
	}
	if p.results == nil {
		p.buf, p.results = make([]byte, pumpSize), make(chan piece, 1)
	}
	part := p.buf[:min(len(b), len(p.buf))]
	go func() {
		n, err := p.r.Read(part)
		p.results <- piece{n, err}
	}()
	select {
	case got := <-p.results:
		return copy(b, part[:got.n]), got.err
	case <-p.ctx.Done():
		p.stuck.Store(true)
		return 0, context.Cause(p.ctx)
	}
}

// patient gives up on a reader that returns nothing for ever.
type patient struct{ io.Reader }

func (r patient) Read(p []byte) (int, error) {
	const tries = 100
	for range tries {
		if n, err := r.Reader.Read(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
