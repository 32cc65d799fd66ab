package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// pipeOf reads from r; done is called when nothing uses it any more.
func pipeOf(t *testing.T, ctx context.Context, r io.Reader, ahead bool, done func()) *pipe {
	p, err := wav(opener(func(in *input) error {
		in.r, in.ahead, in.done = r, ahead, done
		return nil
	})).open(ctx, nil, true)
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

func TestPipesReadTheBytesOfTheReader(t *testing.T) {
	data := recording(200_000)
	for _, r := range []io.Reader{
		bytes.NewReader(data), onlyReader{bytes.NewReader(data)}, iotest.DataErrReader(bytes.NewReader(data)),
	} {
		require.NoError(t, iotest.TestReader(pipeOf(t, t.Context(), r, false, func() {}), data))
	}
}

// A Read of memory never waits. Any other may hang, be it of a local file whose disk is on the network, so it must run
// where it can be left behind. A user's reader is never read ahead: the next attempt would miss those bytes.
func TestOnlyMemoryIsReadDirectlyAndOnlyFilesAhead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.wav")
	require.NoError(t, os.WriteFile(path, []byte("RIFF"), 0o600))
	for name, test := range map[string]struct {
		source        Source
		direct, ahead bool
	}{
		"memory":             {Bytes([]byte("RIFF")), true, false},
		"path":               {Path(path), false, true},
		"folder":             {FS(os.DirFS(dir), "a.wav"), false, true},
		"user's file system": {FS(fstest.MapFS{"a.wav": {Data: []byte("RIFF")}}, "a.wav"), false, true},
		"open file":          {Reader(open(t, nil)), false, false},
		"reader":             {Reader(onlyReader{bytes.NewReader(nil)}), false, false},
	} {
		p, err := wav(test.source).open(t.Context(), nil, true)
		require.NoError(t, err)
		assert.Equal(t, test.direct, p.direct, name)
		assert.Equal(t, test.ahead, p.ahead, name)
		p.close()
	}
}

// pieces is a file that counts how often it was read, and fills each buffer.
type pieces struct {
	fs.File
	read atomic.Int64
}

func (f *pieces) Read(p []byte) (int, error) {
	f.read.Add(1)
	return len(p), nil
}

// Reading ahead keeps disk and network busy at once, and must not fill the memory if the network is the slower one.
func TestFilesAreReadOnePieceAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &pieces{}
		fsys := &guarded{FS: fstest.MapFS{"a.wav": {Data: recording(10)}}, wrap: func(f fs.File, _ int) fs.File {
			file.File = f
			return file
		}}
		p, err := wav(FS(fsys, "a.wav")).open(t.Context(), nil, true)
		require.NoError(t, err)
		defer p.close()
		synctest.Wait()
		assert.Zero(t, file.read.Load(), "read before it was asked for")
		half := p.room / 2
		for sent := range int64(5) {
			for _, size := range []int{half, p.room - half} { // the second time, a piece is waiting
				_, err := io.ReadFull(p, make([]byte, size))
				require.NoError(t, err)
				synctest.Wait()
				assert.Equal(t, sent+2, file.read.Load())
			}
		}
	})
}

// Large pieces save CPU time, but many uploads at once must not hold many of them.
func TestOnlyAFewUploadsHaveLargePieces(t *testing.T) {
	open := func(bytes int) *pipe {
		fsys := fstest.MapFS{"a.wav": {Data: make([]byte, bytes)}}
		p, err := File{Source: FS(fsys, "a.wav")}.open(t.Context(), nil, true)
		require.NoError(t, err)
		t.Cleanup(p.close)
		return p
	}
	assert.Equal(t, 1001, open(1000).room, "a small file needs no more")
	first := open(largePiece)
	assert.Equal(t, largePiece, first.room)
	for range largePipes - 1 {
		assert.Equal(t, largePiece, open(largePiece).room)
	}
	assert.Equal(t, smallPiece, open(largePiece).room)
	first.close()
	assert.Equal(t, largePiece, open(largePiece).room, "an upload that has ended keeps its room")
}

// The bytes that an attempt did not send belong to the next one.
func TestReadersAreNotReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bytes.NewReader(recording(100_000))
		p := pipeOf(t, t.Context(), r, false, func() {})
		_, err := io.ReadFull(p, make([]byte, 1000))
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 99_000, r.Len())
	})
}

// The end of an attempt waits for a Read that is about to return, because the user may use the reader afterwards. No
// Read begins later.
func TestPipesWaitForReadsThatReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, ended := 0, false
		p := pipeOf(t, t.Context(), readerFunc(func(p []byte) (int, error) {
			time.Sleep(Grace / 2)
			read++
			return len(p), nil
		}), false, func() { ended = true })
		failed := make(chan error)
		go func() {
			_, err := p.Read(make([]byte, 10))
			failed <- err
		}()
		synctest.Wait()
		start := time.Now()
		go p.close()
		require.ErrorIs(t, <-failed, context.Canceled)
		p.close()
		assert.Equal(t, Grace/2, time.Since(start))
		assert.Equal(t, 1, read)
		assert.True(t, ended)
		_, err := p.Read(make([]byte, 10))
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(time.Minute)
		assert.Equal(t, 1, read, "read after the end")
	})
}

// A Read that waits for ever is left behind, and its late bytes must not change the caller's memory. The file is closed
// when it returns, not before.
func TestPipesLeaveReadsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, ended := make(chan struct{}), false
		p := pipeOf(t, ctx, readerFunc(func(p []byte) (int, error) {
			<-free
			return copy(p, "late"), nil
		}), false, func() { ended = true })
		buf := make([]byte, 10)
		start := time.Now()
		_, err := p.Read(buf)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		p.close()
		p.close()
		assert.Equal(t, time.Second+Grace, time.Since(start))
		synctest.Wait()
		assert.False(t, ended, "closed while it is read")
		close(free)
		synctest.Wait()
		assert.True(t, ended, "never closed")
		assert.Equal(t, make([]byte, 10), buf)
	})
}

// A piece that is read ahead and never comes keeps nothing of the pieces before it. If it comes after the end of the
// call, it must not change memory of the caller, or of a transport that still writes the last piece.
func TestPiecesReadAheadAreLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		free, reads, ended := make(chan struct{}), 0, false
		r := readerFunc(func(p []byte) (int, error) {
			if reads++; reads > 2 {
				<-free
			}
			for i := range p {
				p[i] = byte(reads)
			}
			return len(p), nil
		})
		p := pipeOf(t, ctx, r, true, func() { ended = true })
		start := time.Now()
		got := make([]byte, 2*p.room)
		_, err := io.ReadFull(p, got)
		require.NoError(t, err)
		assert.Zero(t, time.Since(start), "waited for a piece that nobody has asked for")
		late := make([]byte, 10)
		_, err = p.Read(late)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		p.close()
		assert.Equal(t, time.Second+Grace, time.Since(start))
		assert.False(t, ended, "closed while it is read")
		close(free)
		synctest.Wait()
		assert.True(t, ended, "never closed")
		one, two := bytes.Repeat([]byte{1}, p.room), bytes.Repeat([]byte{2}, p.room)
		assert.Equal(t, append(one, two...), got)
		assert.Equal(t, make([]byte, 10), late)
		assert.Equal(t, 3, reads)
	})
}

// A reader that never gets on, or lies, must not keep a goroutine busy for ever or crash the program.
func TestReadersThatMisbehaveAreErrors(t *testing.T) {
	hesitant := func(times int) readerFunc {
		return func(p []byte) (int, error) {
			if times--; times >= 0 {
				return 0, nil
			}
			return copy(p, "at last"), nil
		}
	}
	for name, c := range map[string]struct {
		r   io.Reader
		n   int
		err string
	}{
		"never gets on":     {idleReader{}, 0, io.ErrNoProgress.Error()},
		"counts too high":   {miscounting{}, 0, "impossible count"},
		"counts negatively": {readerFunc(func([]byte) (int, error) { return -1, nil }), 0, "impossible count"},
		"hesitates":         {hesitant(99), len("at last"), ""},
	} {
		n, err := pipeOf(t, t.Context(), c.r, false, func() {}).Read(make([]byte, 10))
		assert.Equal(t, c.n, n, name)
		if c.err == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, c.err, name)
		}
	}
}

// stray panics, or ends its goroutine, at the nth call of one of its methods.
type stray struct {
	*bytes.Reader
	fs.FileInfo
	method string
	nth    int
	end    func()
}

func (s *stray) count(method string) {
	if s.method == method {
		if s.nth--; s.nth == 0 {
			s.end()
		}
	}
}

func (s *stray) Open(string) (fs.File, error) {
	s.count("Open")
	_, err := s.Reader.Seek(0, io.SeekStart)
	return s, err
}

func (s *stray) Stat() (fs.FileInfo, error) { s.count("Stat"); return s, nil }
func (s *stray) IsDir() bool                { return false }
func (s *stray) Mode() fs.FileMode          { return 0 }
func (s *stray) Size() int64                { return s.Reader.Size() }
func (s *stray) Close() error               { s.count("Close"); return nil }
func (s *stray) Read(p []byte) (int, error) { s.count("Read"); return s.Reader.Read(p) }

func (s *stray) Seek(offset int64, whence int) (int64, error) {
	s.count("Seek")
	return s.Reader.Seek(offset, whence)
}

// The error of a panic is read later, outside of any recover.
func TestErrorsOfPanicsCanBeRead(t *testing.T) {
	err := guard(func() error { panic(fmt.Errorf("a mistake: %w", (*ReadError)(nil))) })
	assert.EqualError(t, err, "it panicked: a *fmt.wrapError that holds a nil error")
	assert.NotErrorIs(t, err, ErrSource)
}

// A user's reader or file system that panics, or ends its goroutine, is one that cannot be read, and does not end the
// program. The file can then be sent again.
func TestPanicsAreErrors(t *testing.T) {
	boom := errors.New("boom")
	panics := func() { panic(boom) }
	for kind, source := range map[string]struct {
		of      func(*stray) Source
		methods []string
	}{
		"reader":      {func(s *stray) Source { return Reader(s) }, []string{"Seek", "Read"}},
		"file system": {func(s *stray) Source { return FS(s, "a.wav") }, []string{"Open", "Stat", "Read", "Close"}},
	} {
		for _, method := range source.methods {
			for name, row := range map[string]struct {
				end   func()
				wraps bool // the error wraps the value of the panic
			}{
				"panics": {panics, true},
				"exits":  {runtime.Goexit, false},
			} {
				for nth := 1; nth < 5; nth++ {
					s := &stray{Reader: bytes.NewReader(recording(100_000)), method: method, end: row.end}
					file := wav(source.of(s))
					complete, err := s.send(t, file)
					require.True(t, complete && err == nil, "%s: %s", kind, method)

					s.nth = nth
					complete, err = s.send(t, file)
					at := fmt.Sprintf("%s at the %d. %s of a %s", name, nth, method, kind)
					if s.nth > 0 {
						continue // it is not called so often
					}
					if method == "Close" {
						assert.NoError(t, err, at)
					} else {
						assert.ErrorIs(t, err, ErrSource, at)
						assert.Equal(t, row.wraps, errors.Is(err, boom), at)
						assert.False(t, complete, at)
					}
					complete, err = s.send(t, file)
					assert.True(t, complete && err == nil, "%s: not again: %v", at, err)
				}
			}
		}
	}
}

// send makes a call of one attempt with the file, which reads from s.
func (s *stray) send(t *testing.T, file File) (complete bool, err error) {
	_, _ = s.Reader.Seek(0, io.SeekStart)
	size, problem, err := file.Inspect(t.Context())
	require.NoError(t, err)
	if problem.Err != nil {
		return false, problem.Err
	}
	req, sending, _, err := begin(t, t.Context(), Multipart(nil, "file", file, size), wire.Limits{}, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, req.Body)
	}
	sending.Close()
	return sending.Complete(), err
}
