package aicontent

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// pumpSize is how much a pump reads at once, in bytes: as much as net/http asks for.
	pumpSize = 32 << 10
	// parting is how long the end of the context waits for a Read under way. Most return by then, and are then not
	// left behind.
	parting = 100 * time.Millisecond
)

var (
	errBusy  = errors.New("an earlier read of it has not returned")
	errCount = errors.New("the reader returned an impossible count")
)

// pump reads on another goroutine and into memory of its own, so that the end of the context is heard while a Read
// waits, and what that Read brings later hurts nobody. It never reads ahead.
type pump struct {
	ctx     context.Context
	r       io.Reader
	busy    *busy
	buf     []byte
	results chan piece
}

type piece struct {
	n   int
	err error
}

func (p *pump) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	if !p.busy.begin() {
		return 0, errBusy
	}
	if p.results == nil {
		p.buf, p.results = make([]byte, pumpSize), make(chan piece, 1)
	}
	part := p.buf[:min(len(b), len(p.buf))]
	go func() {
		n, err := p.r.Read(part)
		p.busy.end()
		p.results <- piece{n, err}
	}()
	select {
	case got := <-p.results:
		if got.n > 0 && got.n <= len(part) {
			copy(b, part[:got.n])
		}
		return got.n, got.err
	case <-p.ctx.Done():
	}
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-p.results:
	case <-timer.C:
	}
	return 0, context.Cause(p.ctx)
}

// busy says whether a Read of a reader is under way.
type busy struct {
	mu      sync.Mutex
	reading bool
	then    func() // what is to follow the Read under way
}

// begin reports false where there is one already.
func (b *busy) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		return false
	}
	b.reading = true
	return true
}

func (b *busy) end() {
	b.mu.Lock()
	b.reading = false
	then := b.then
	b.then = nil
	b.mu.Unlock()
	if then != nil {
		then()
	}
}

func (b *busy) now() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reading
}

// after calls f, once no Read is under way.
func (b *busy) after(f func()) {
	b.mu.Lock()
	if b.reading {
		b.then = f
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	f()
}

// patient gives up on a reader that returns nothing for ever, and on one that cannot count.
type patient struct{ io.Reader }

func (r patient) Read(p []byte) (int, error) {
	const tries = 100
	for range tries {
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
