package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// Grace is how long the end of an attempt waits for code of the user's that is under way. Most returns by then.
	Grace = 100 * time.Millisecond
	// pieceSize limits what is read at once from a user's reader, in bytes: as much as net/http asks for.
	pieceSize = 32 << 10
	// aheadSize is the same for a file that is read ahead. At half the size, the goroutine wakes twice as often, and an
	// upload takes a sixth more CPU time. Twice the size saves a tenth, but 64 uploads at once would hold 16 MiB.
	aheadSize = 64 << 10
)

// input is a source that was opened.
type input struct {
	r    io.Reader
	size int64  // -1 where it is unknown
	done func() // called once, when nothing uses r any more

	// direct is set if a Read copies memory: it never waits, and is no code of the user's.
	direct bool
	// ahead is set if the SDK opened r, so that reading more than is sent does no harm.
	ahead bool
}

// pipe hands on the bytes of a source. All that may wait, and all code of the user's, runs on one goroutine, where a
// panic is an error. When the context ends, the goroutine begins nothing more, and a Read that does not return is left
// behind with its buffer.
//
// The goroutine reads a file that the SDK opened one piece ahead, so that disk and network work at the same time. It
// never reads ahead from a user's reader: bytes that were read but not sent would be lost to the next attempt.
type pipe struct {
	input
	ctx      context.Context
	cancel   context.CancelFunc
	progress *progress    // nil for none
	due      time.Time    // of the next report of progress, as the reader knows it
	sent     atomic.Int64 // bytes of the file

	calls  chan func() error // for the goroutine, one at a time
	errs   chan error        // that they returned
	over   chan struct{}     // closed when nothing uses the source any more
	isLeft atomic.Bool       // that is not waited for

	next   func() error // fills coming; made once
	asked  bool         // the goroutine was asked for the next piece
	coming []byte       // the goroutine's while asked is set: room, then the next piece
	buf    []byte       // the buffer of the next piece
	other  []byte       // the buffer of piece, if the next one is read meanwhile
	piece  []byte       // the bytes that came and were not handed on yet
	behind error        // what follows them
}

// open starts to read the file. A pipe without an error must be closed.
func (f File) open(ctx context.Context, report *progress) (*pipe, error) {
	p := &pipe{
		input: input{size: cmp.Or(f.Size, -1), done: func() {}}, progress: report,
		calls: make(chan func() error, 1), errs: make(chan error, 1), over: make(chan struct{}),
	}
	p.next = p.read
	p.ctx, p.cancel = context.WithCancel(ctx)
	go p.run()
	err := p.call(func() error {
		p.report()
		return f.Source.open(&p.input)
	})
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// run is the goroutine. It ends with the context, or a user's code that ends it.
func (p *pipe) run() {
	defer close(p.over)
	defer func() { _ = guard(func() error { p.done(); return nil }) }()
	for p.ctx.Err() == nil {
		select {
		case call := <-p.calls:
			if p.ctx.Err() == nil {
				p.errs <- guard(call)
			}
		case <-p.ctx.Done():
		}
	}
	_ = guard(func() error { p.report(); return nil })
}

// call lets the goroutine call f.
func (p *pipe) call(f func() error) error {
	p.calls <- f
	return p.wait()
}

// wait returns the error of the function that the goroutine is calling.
func (p *pipe) wait() error {
	select {
	case err := <-p.errs:
		return err
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-p.over:
		return cmp.Or(p.ctx.Err(), errors.New("it ended its goroutine"))
	}
}

// report tells how much was sent, unless the call may have returned.
func (p *pipe) report() {
	if p.progress != nil && !p.isLeft.Load() {
		p.progress.at(p.sent.Load(), p.ctx.Err() != nil)
	}
}

// read fills coming, on the goroutine.
func (p *pipe) read() error {
	room := p.coming
	p.coming = nil
	p.report()
	n, err := p.fill(room)
	p.coming = room[:n]
	return err
}

// fill gives up on a reader that returns nothing a hundred times, as bufio does, and on one that miscounts.
func (p *pipe) fill(room []byte) (int, error) {
	for range 100 {
		if p.ctx.Err() != nil {
			break
		}
		n, err := p.r.Read(room)
		if n < 0 || n > len(room) {
			return 0, errors.New("the reader returned an impossible count")
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

func (p *pipe) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil || len(b) == 0 {
		return 0, err
	}
	if len(p.piece) == 0 && p.behind == nil {
		if p.direct && (p.progress == nil || time.Now().Before(p.due)) {
			return p.fill(b)
		}
		if err := p.receive(min(len(b), pieceSize)); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.piece)
	if p.piece = p.piece[n:]; len(p.piece) > 0 {
		return n, nil
	}
	return n, p.behind
}

// receive waits for the next piece, when all of the last one was handed on. The error is the context's.
func (p *pipe) receive(size int) error {
	if p.ahead {
		size = aheadSize
	}
	if !p.asked {
		p.ask(size)
	}
	p.behind = p.wait()
	if err := p.ctx.Err(); err != nil {
		return err // The goroutine may still use coming.
	}
	p.asked, p.piece = false, p.coming
	if p.ahead && p.behind == nil {
		p.buf, p.other = p.other, p.buf
		p.ask(size)
	}
	p.due = time.Now().Add(reportInterval)
	return nil
}

// ask lets the goroutine read up to size bytes into buf.
func (p *pipe) ask(size int) {
	if len(p.buf) < size {
		p.buf = make([]byte, size)
	}
	p.asked, p.coming = true, p.buf[:size]
	p.calls <- p.next
}

// close lets nothing more be read, and waits a moment for what is under way.
func (p *pipe) close() {
	p.cancel()
	if p.isLeft.Load() {
		return
	}
	select {
	case <-p.over:
	case <-time.After(Grace):
		p.isLeft.Store(true)
	}
}

// guard calls code of the user's. A panic is an error.
func guard(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("it panicked: %w", v)
		default:
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return f()
}
