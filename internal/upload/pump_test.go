package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPumpsReadWhatTheReaderHas(t *testing.T) {
	data := recording(200_000)
	require.NoError(t, iotest.TestReader(newPump(t.Context(), onlyReader{bytes.NewReader(data)}, func() {}), data))
}

// A Read that is about to return is waited for: what the user does with the reader afterwards must not meet it.
func TestPumpsWaitForReadsThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the user left")
		read, ended := 0, false
		p := newPump(ctx, readerFunc(func(p []byte) (int, error) {
			<-time.After(grace / 2)
			read++
			return len(p), nil
		}), func() { ended = true })
		cancelled := time.AfterFunc(grace/4, func() { cancel(left) })
		defer cancelled.Stop()
		_, err := p.Read(make([]byte, 10))
		require.ErrorIs(t, err, left)
		assert.Equal(t, 1, read, "the Read was abandoned")
		_, err = p.Read(make([]byte, 10))
		require.ErrorIs(t, err, left)
		assert.Equal(t, 1, read, "read after the end of the context")
		p.end()
		assert.True(t, ended)
	})
}

// A Read that waits for ever is abandoned, and what it brings later must not change the caller's memory. The file is
// closed when it returns, not before.
func TestPumpsAbandonReadsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, ended := make(chan struct{}), false
		p := newPump(ctx, readerFunc(func(p []byte) (int, error) {
			<-free
			return copy(p, "late"), nil
		}), func() { ended = true })
		buf := make([]byte, 10)
		start := time.Now()
		_, err := p.Read(buf)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+grace, time.Since(start))
		p.end()
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
	n, err := io.Copy(io.Discard, checkedReader{idleReader{}})
	assert.Zero(t, n)
	require.ErrorIs(t, err, io.ErrNoProgress)
	for _, r := range []io.Reader{miscounting{}, readerFunc(func([]byte) (int, error) { return -1, nil })} {
		_, err = checkedReader{r}.Read(make([]byte, 10))
		require.ErrorIs(t, err, errCount)
		_, err = checkedReader{newPump(t.Context(), r, func() {})}.Read(make([]byte, 10))
		require.ErrorIs(t, err, errCount)
	}
	n, err = io.Copy(io.Discard, checkedReader{iotest.OneByteReader(bytes.NewReader(recording(1000)))})
	require.NoError(t, err)
	assert.EqualValues(t, 1000, n)
	n64, err := checkedReader{idleReader{}}.Read(nil)
	require.NoError(t, err)
	assert.Zero(t, n64)
}
