package upload

import (
	"context"
	"errors"
	"io"
	"time"
)

const (
	// pumpSize is the most that a pump reads at once, in bytes: as much as net/http asks for.
	pumpSize = 32 << 10
	// grace is how long the end of a context waits for what is under way. Most Reads return by then.
	grace = 100 * time.Millisecond
)

// pump reads on another goroutine and into memory of its own, so that a Read that waits can be abandoned when the
// context ends. It never reads ahead.
type pump struct {
	ctx       context.Context
	r         io.Reader
	then      func() // called once after the last Read has returned
	buf       []byte
	results   chan result
	abandoned bool
}

type result struct {
	n   int
	err error
}

func newPump(ctx context.Context, r io.Reader, then func()) *pump {
	return &pump{ctx: ctx, r: r, then: then, results: make(chan result, 1)}
}

func (p *pump) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	if p.buf == nil {
		p.buf = make([]byte, pumpSize)
	}
	part := p.buf[:min(len(b), len(p.buf))]
	go func() {
		n, err := p.r.Read(part)
		p.results <- result{n, err}
	}()
	select {
	case got := <-p.results:
		if got.n > 0 && got.n <= len(part) {
			copy(b, part[:got.n])
		}
		return got.n, got.err
	case <-p.ctx.Done():
	}
	select {
	case <-p.results:
	case <-time.After(grace):
		p.abandoned = true
	}
	return 0, context.Cause(p.ctx)
}

// end must not be called during a Read of the pump.
func (p *pump) end() {
	if !p.abandoned {
		p.then()
		return
	}
	go func() {
		<-p.results
		p.then()
	}()
}

var errCount = errors.New("the reader returned an impossible count")

// checkedReader gives up on a reader that keeps returning nothing, and on one that miscounts.
type checkedReader struct{ io.Reader }

func (r checkedReader) Read(p []byte) (int, error) {
	for range 100 {
		n, err := r.Reader.Read(p)
		if n < 0 || n > len(p) {
			return 0, errCount
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}
