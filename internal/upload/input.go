package upload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

const (
	// pieceSize is the most that is read at once, in bytes: as much as net/http asks for.
	pieceSize = 32 << 10
	// grace is how long the end of a context waits for what is under way. Most Reads return by then.
	grace = 100 * time.Millisecond
)

// input is a source that is being read, never ahead of its reader. When the context ends, it abandons what waits.
type input struct {
	ctx  context.Context
	r    io.Reader
	size int64  // -1 where it is unknown
	done func() // called once, when nothing uses r any more

	piece     []byte // memory that an abandoned Read may still write to
	results   chan error
	abandoned bool
}

// open starts to read the file. Only an input without an error must be ended.
func (f File) open(ctx context.Context) (*input, error) {
	in := &input{ctx: ctx, size: cmp.Or(f.Size, -1), done: func() {}, results: make(chan error, 1)}
	if err := in.do(func() error { return f.Source.open(in) }); err != nil {
		in.end()
		return nil, err
	}
	return in, nil
}

// do runs f on a goroutine of its own. When the context ends, f is abandoned, and the error is the context's.
func (in *input) do(f func() error) error {
	go func() { in.results <- f() }()
	err, ok := await(in.ctx, in.results)
	if !ok {
		in.abandoned = true
		return in.ctx.Err()
	}
	return err
}

// await receives from c, until the context has ended and a moment has passed.
func await[T any](ctx context.Context, c <-chan T) (value T, ok bool) {
	select {
	case value = <-c:
		return value, true
	case <-ctx.Done():
	}
	select {
	case value = <-c:
		return value, true
	case <-time.After(grace):
		return value, false
	}
}

func (in *input) Read(p []byte) (int, error) {
	switch in.r.(type) {
	case *bytes.Reader, *os.File:
		return in.r.Read(p)
	}
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	if in.piece == nil {
		in.piece = make([]byte, pieceSize)
	}
	piece := in.piece[:min(len(p), pieceSize)]
	var n int
	err := in.do(func() (err error) {
		n, err = readSome(in.r, piece)
		return err
	})
	if in.abandoned {
		return 0, err
	}
	return copy(p, piece[:n]), err
}

// readSome gives up on a reader that keeps returning nothing, and on one that miscounts.
func readSome(r io.Reader, p []byte) (int, error) {
	for range 100 {
		n, err := r.Read(p)
		if n < 0 || n > len(p) {
			return 0, errors.New("the reader returned an impossible count")
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// end must not be called during a Read of the input.
func (in *input) end() {
	if !in.abandoned {
		in.done()
		return
	}
	go func() {
		<-in.results
		in.done()
	}()
}
