package upload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// pieceSize is the most that is read at once, in bytes: as much as net/http asks for.
const pieceSize = 32 << 10

// input is a source that is being read, never ahead of its reader. Code of the user's runs on goroutines of its own:
// when the context ends, what waits is abandoned, and a panic does not end the program.
type input struct {
	ctx    context.Context
	r      io.Reader
	size   int64  // -1 where it is unknown
	done   func() // called once, when nothing uses r any more
	direct bool   // whoever reads can be abandoned too

	piece    []byte       // memory that an abandoned Read may still write to
	left     <-chan error // of what was abandoned; nil for nothing
	panicked error        // if it is a [*wire.Panic]
}

// open starts to read the file. Only an input without an error must be ended.
func (f File) open(ctx context.Context) (*input, error) {
	in := &input{ctx: ctx, size: cmp.Or(f.Size, -1), done: func() {}}
	if err := in.do(func() error { return f.Source.open(in) }); err != nil {
		in.end()
		wire.Raise(in.panicked)
		return nil, err
	}
	return in, nil
}

// do runs f on a goroutine of its own. When the context ends, f is abandoned, and the error is the context's.
func (in *input) do(f func() error) (err error) {
	in.left, err = wire.Call(in.ctx, f)
	if _, ok := err.(*wire.Panic); ok {
		in.panicked = err
	}
	return err
}

func (in *input) Read(p []byte) (int, error) {
	switch in.r.(type) {
	case *bytes.Reader:
		return in.r.Read(p) // which does not wait
	case *os.File:
		if in.direct {
			return in.r.Read(p)
		}
	default:
		if err := in.ctx.Err(); err != nil {
			return 0, err
		}
	}
	if in.piece == nil {
		in.piece = make([]byte, pieceSize)
	}
	piece := in.piece[:min(len(p), pieceSize)]
	n := 0
	err := in.do(func() (err error) {
		n, err = readSome(in.r, piece)
		return err
	})
	if in.left != nil {
		return 0, err
	}
	return copy(p, piece[:n]), err
}

// readSome gives up on a reader that returns nothing a hundred times, as bufio does, and on one that miscounts.
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
	closed := func() error { in.done(); return nil }
	if in.left == nil {
		_ = in.do(closed)
		return
	}
	wire.Go(func() error {
		<-in.left
		return closed()
	})
}
