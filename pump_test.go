package aicontent

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
	p := &pump{ctx: t.Context(), r: onlyReader{bytes.NewReader(data)}, busy: new(busy)}
	require.NoError(t, iotest.TestReader(p, data))
}

// A Read that is about to return is waited for: what the user does with the reader afterwards must not meet it.
func TestPumpsWaitForReadsThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("the user left")
		var read bool
		p := &pump{ctx: ctx, busy: new(busy), r: readerFunc(func(p []byte) (int, error) {
			<-time.After(parting / 2)
			read = true
			return len(p), nil
		})}
		cancelled := time.AfterFunc(parting/4, func() { cancel(left) })
		defer cancelled.Stop()
		_, err := p.Read(make([]byte, 10))
		require.ErrorIs(t, err, left)
		assert.True(t, read, "the Read was left behind")
		assert.False(t, p.busy.now())
		read = false
		_, err = p.Read(make([]byte, 10))
		require.ErrorIs(t, err, left)
		assert.False(t, read, "read after the end of the context")
	})
}

// A Read that waits for ever is left behind, and what it brings later must not change the caller's memory. Nothing else reads
// while it is under way, and what was opened is closed when it returns.
func TestPumpsLeaveReadsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, b := make(chan struct{}), &busy{}
		p := &pump{ctx: ctx, busy: b, r: readerFunc(func(p []byte) (int, error) {
			<-free
			return copy(p, "late"), nil
		})}
		buf := make([]byte, 10)
		start := time.Now()
		_, err := p.Read(buf)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+parting, time.Since(start))
		assert.True(t, b.now())
		_, err = (&pump{ctx: t.Context(), busy: b, r: p.r}).Read(buf)
		require.ErrorIs(t, err, errBusy)
		closed := false
		b.after(func() { closed = true })
		assert.False(t, closed, "closed while it is read")
		close(free)
		synctest.Wait()
		assert.True(t, closed, "never closed")
		assert.False(t, b.now())
		assert.Equal(t, make([]byte, 10), buf)
	})
}

// An upload that was refused while the user's reader was being read can go again, when that Read has returned.
func TestReadersLeftBehindCanBeSentAgainLater(t *testing.T) {
	data := recording(100_000)
	free, waits := make(chan struct{}), make(chan struct{})
	seeker := &waitingSeeker{Reader: bytes.NewReader(data), at: 50_000, free: free, waits: waits}
	file := FileFromReader("a.wav", seeker)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-waits
		cancel()
	}()
	var in intake
	c := uploadClient(t, &in)
	require.ErrorIs(t, storeFile(ctx, c, file), context.Canceled)
	require.ErrorContains(t, storeFile(t.Context(), c, file), errBusy.Error())
	returned := make(chan struct{})
	file.source.(*stream).busy.after(func() { close(returned) })
	close(free)
	<-returned
	require.NoError(t, storeFile(t.Context(), c, file))
	assert.Equal(t, sum(data), in.last(t).sum)
}

// waitingSeeker waits once, when it comes to a place.
type waitingSeeker struct {
	*bytes.Reader
	at          int64
	free, waits chan struct{}
}

func (s *waitingSeeker) Read(p []byte) (int, error) {
	if at := s.Size() - int64(s.Len()); at >= s.at && s.waits != nil {
		close(s.waits)
		s.waits = nil
		<-s.free
	}
	return s.Reader.Read(p)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestPatienceEnds(t *testing.T) {
	n, err := io.Copy(io.Discard, patient{idleReader{}})
	assert.Zero(t, n)
	require.ErrorIs(t, err, io.ErrNoProgress)
	_, err = patient{miscounting{}}.Read(make([]byte, 10))
	require.ErrorIs(t, err, errCount)
	_, err = patient{readerFunc(func([]byte) (int, error) { return -1, nil })}.Read(make([]byte, 10))
	require.ErrorIs(t, err, errCount)
	n, err = io.Copy(io.Discard, patient{iotest.OneByteReader(bytes.NewReader(recording(1000)))})
	require.NoError(t, err)
	assert.EqualValues(t, 1000, n)
}
