package upload

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func inputOf(ctx context.Context, r io.Reader, done func()) *input {
	return &input{ctx: ctx, r: r, done: done, results: make(chan error, 1)}
}

func TestInputsReadWhatTheReaderHas(t *testing.T) {
	data := recording(200_000)
	for _, r := range []io.Reader{bytes.NewReader(data), onlyReader{bytes.NewReader(data)}} {
		require.NoError(t, iotest.TestReader(inputOf(t.Context(), r, nil), data))
	}
}

// A Read that is about to return is waited for: what the user does with the reader afterwards must not meet it.
func TestInputsWaitForReadsThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		read, ended := 0, false
		in := inputOf(ctx, readerFunc(func(p []byte) (int, error) {
			<-time.After(grace / 2)
			read++
			return len(p), nil
		}), func() { ended = true })
		cancelled := time.AfterFunc(grace/4, cancel)
		defer cancelled.Stop()
		n, err := in.Read(make([]byte, 10))
		require.NoError(t, err)
		assert.Equal(t, 10, n)
		assert.Equal(t, 1, read, "the Read was abandoned")
		_, err = in.Read(make([]byte, 10))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, read, "read after the end of the context")
		in.end()
		assert.True(t, ended)
	})
}

// A Read that waits for ever is abandoned, and what it brings later must not change the caller's memory. The file is
// closed when it returns, not before.
func TestInputsAbandonReadsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, ended := make(chan struct{}), false
		in := inputOf(ctx, readerFunc(func(p []byte) (int, error) {
			<-free
			return copy(p, "late"), nil
		}), func() { ended = true })
		buf := make([]byte, 10)
		start := time.Now()
		_, err := in.Read(buf)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+grace, time.Since(start))
		in.end()
		synctest.Wait()
		assert.False(t, ended, "closed while it is read")
		close(free)
		synctest.Wait()
		assert.True(t, ended, "never closed")
		assert.Equal(t, make([]byte, 10), buf)
	})
}

// A reader that never gets on, or lies, must not keep a goroutine busy for ever or crash the program.
func TestReadersThatMisbehaveAreErrors(t *testing.T) {
	negative := readerFunc(func([]byte) (int, error) { return -1, nil })
	for r, want := range map[io.Reader]string{idleReader{}: io.ErrNoProgress.Error(), miscounting{}: "impossible count", &negative: "impossible count"} {
		n, err := inputOf(t.Context(), r, nil).Read(make([]byte, 10))
		require.ErrorContains(t, err, want)
		assert.Zero(t, n)
	}
	n, err := io.Copy(io.Discard, inputOf(t.Context(), iotest.OneByteReader(bytes.NewReader(recording(1000))), nil))
	require.NoError(t, err)
	assert.EqualValues(t, 1000, n)
	hesitant := 99
	n99, err := inputOf(t.Context(), readerFunc(func(p []byte) (int, error) {
		if hesitant--; hesitant >= 0 {
			return 0, nil
		}
		return copy(p, "at last"), nil
	}), nil).Read(make([]byte, 10))
	require.NoError(t, err)
	assert.Equal(t, len("at last"), n99)
}
