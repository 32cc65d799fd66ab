package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	// Grace is the time that the end of an attempt waits for the user's running code. Nearly all code returns by then.
	Grace = 100 * time.Millisecond
	// pieceSize is the largest Read of a user's reader, in bytes. net/http asks for as much.
	pieceSize = 32 << 10
	// largePiece is the largest Read of a file that the SDK opened, in up to largePipes pipes at once, and smallPiece
	// in all others. Pieces of 64, 128 and 256 KiB cost an upload over loopback 1.5, 1.2 and 1.05 times the CPU time of
	// net/http by hand, because the goroutine wakes less often. With small pieces, 64 uploads at once hold 14 MiB.
	largePiece = 256 << 10
	smallPiece = 64 << 10
	largePipes = 3
)

// large is the number of pipes that have large pieces.
var large atomic.Int32

// input is an open source.
type input struct {
	r    io.Reader
	size int64  // -1 if unknown
	done func() // called once, after the last use of r

	direct bool // r reads memory, so a Read never blocks and runs no code of the user
	ahead  bool // the SDK opened r, so it may read more bytes than it sends
}

// takeRoom returns the size of the pieces read ahead, and a function that gives the room for them back.
func (in *input) takeRoom() (size int, free func()) {
	if 0 < in.size && in.size < smallPiece {
		return int(in.size) + 1, func() {} // with room to see that the file has grown
	}
	if large.Add(1) > largePipes {
		large.Add(-1)
		return smallPiece, func() {}
	}
	return largePiece, func() { large.Add(-1) }
}

// pipe reads a source. User code and all calls that may block run on one goroutine, which turns a panic into an error.
// After the context has ended, the goroutine starts no further call. A Read that does not return keeps its buffer, and
// the pipe abandons both.
//
// The goroutine reads a file that the SDK opened one piece ahead, so that disk and network work at the same time. It
// never reads ahead from a user's reader, because the next attempt would miss the bytes read but not sent.
type pipe struct {
	input
	ctx      context.Context
	cancel   context.CancelFunc
	progress *progress    // nil for none
	due      time.Time    // of the next report of progress, for Read
	sent     atomic.Int64 // bytes of the file

	calls  chan func() error // to the goroutine, one at a time
	errs   chan error        // results of calls
	over   chan struct{}     // closed after the last use of the source
	isLeft atomic.Bool       // the goroutine is abandoned

	room   int          // size of a piece read ahead
	free   func()       // gives back the room, at the end of the goroutine
	next   func() error // p.read, allocated once
	asked  bool         // the goroutine is reading the next piece
	coming []byte       // the next piece; belongs to the goroutine while asked is set
	buf    []byte       // buffer of coming
	other  []byte       // buffer of piece, if the goroutine reads ahead
	piece  []byte       // bytes read from the source but not from the pipe
	behind error        // returned after piece
}

// open opens the source and starts the goroutine, which reads ahead if that is allowed. The caller must close the pipe.
func (f File) open(ctx context.Context, report *progress, ahead bool) (*pipe, error) {
	p := &pipe{
		input: input{size: cmp.Or(f.Size, -1), done: func() {}}, progress: report, free: func() {},
		calls: make(chan func() error, 1), errs: make(chan error, 1), over: make(chan struct{}),
	}
	p.next = p.read
	p.ctx, p.cancel = context.WithCancel(ctx)
	go p.run()
	err := p.call(func() error {
		p.report()
		err := f.Source.open(&p.input)
		if p.ahead = p.ahead && ahead && err == nil; p.ahead {
			p.room, p.free = p.takeRoom()
		}
		return err
	})
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// run is the goroutine. It ends with the context or with a runtime.Goexit in the user's code.
func (p *pipe) run() {
	defer close(p.over)
	defer func() { p.free() }()
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

// call calls f on the goroutine.
func (p *pipe) call(f func() error) error {
	p.calls <- f
	return p.wait()
}

// wait waits for the current call and returns its error.
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

// report reports the progress, unless the pipe is abandoned: the user's call may have returned.
func (p *pipe) report() {
	if p.progress != nil && !p.isLeft.Load() {
		p.progress.at(p.sent.Load(), p.ctx.Err() != nil)
	}
}

// read reads the next piece, on the goroutine.
func (p *pipe) read() error {
	room := p.coming
	p.coming = nil
	p.report()
	n, err := p.fill(room)
	p.coming = room[:n]
	return err
}

// fill calls Read until it returns bytes or an error. After a hundred calls without either it fails, as bufio does.
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

// receive waits for the next piece. The previous one must be used up. The error is the context's.
func (p *pipe) receive(size int) error {
	if p.ahead {
		size = p.room
	}
	if !p.asked {
		p.ask(size)
	}
	p.behind = p.wait()
	if err := p.ctx.Err(); err != nil {
		return err // and leave coming to the goroutine
	}
	p.asked, p.piece = false, p.coming
	if p.ahead && p.behind == nil {
		p.buf, p.other = p.other, p.buf
		p.ask(size)
	}
	p.due = time.Now().Add(reportInterval)
	return nil
}

// ask makes the goroutine read up to size bytes into buf.
func (p *pipe) ask(size int) {
	if len(p.buf) < size {
		p.buf = make([]byte, size)
	}
	p.asked, p.coming = true, p.buf[:size]
	p.calls <- p.next
}

// close ends the reading. It waits up to Grace for a running Read.
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

// guard calls f, the user's code, and returns its error, or its panic as an error.
func guard(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("it panicked: %w", redact.NotNil(v))
		default:
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return redact.NotNil(f())
}
