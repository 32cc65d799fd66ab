package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

func TestLookReturnsTheSizeAndTheFirstBytes(t *testing.T) {
	t.Parallel()
	once := func(size int) Source { return Reader(onlyReader{bytes.NewReader(recording(size))}) }
	atEnd := bytes.NewReader(recording(100))
	_, err := atEnd.Seek(200, io.SeekStart)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		source   Source
		declared int64
		size     int64
		head     int
	}{
		"nothing":                        {Bytes(nil), 0, 0, 0},
		"a short file":                   {Bytes(recording(9)), 0, 9, 9},
		"a long file":                    {Bytes(recording(10_000)), 0, 10_000, HeadSize},
		"a short reader":                 {once(9), 0, 9, 9},
		"a long reader":                  {once(10_000), 0, -1, HeadSize},
		"a long reader, declared":        {once(10_000), 10_000, 10_000, HeadSize},
		"a short reader, declared wrong": {once(9), 10, 9, 9},
		"a short file, declared wrong":   {Bytes(recording(9)), 10, 9, 9},
		"a long file, declared wrong":    {Bytes(recording(10_000)), 10, 10_000, HeadSize},
		"a reader beyond its end":        {Reader(atEnd), 0, 0, 0},
	} {
		file := File{Name: "a.wav", Size: row.declared, Source: row.source}
		for range 2 {
			size, head, err := file.Look(t.Context())
			require.NoError(t, err, name)
			assert.Equal(t, row.size, size, name)
			assert.Len(t, head, row.head, name)
		}
	}
}

func TestFileThatCannotBeReadIsAReadError(t *testing.T) {
	t.Parallel()
	boom := errors.New("bad sector")
	broken := Reader(io.MultiReader(strings.NewReader("RIFF"), iotest.ErrReader(boom)))
	shorter := FS(fakes.FS(func(name string) (fs.File, error) {
		f, err := fstest.MapFS{"a.wav": {Data: recording(8)}}.Open(name)
		return statFile{File: f, size: 9}, err
	}), "a.wav")
	for text, row := range map[string]struct {
		source Source
		cause  error
	}{
		"at byte 4: bad sector":                      {broken, boom},
		"at byte 0: open a.wav: file does not exist": {FS(fstest.MapFS{}, "a.wav"), fs.ErrNotExist},
		"at byte 8: it ended, but its size is 9":     {shorter, ErrSource},
	} {
		_, _, err := File{Name: `C:\calls\a.wav`, Source: row.source}.Look(t.Context())
		require.ErrorAs(t, err, new(*ReadError))
		assert.ErrorIs(t, err, ErrSource)
		assert.ErrorIs(t, err, row.cause)
		assert.ErrorContains(t, err, `file "a.wav": `+text)
	}
}

// send looks at the file and sends it.
func send(t *testing.T, file File) (Sent, error) {
	size, _, err := file.Look(t.Context())
	if err != nil {
		return Sent{}, err
	}
	req, sending := attach(t, t.Context(), Multipart(nil, "file", file, size))
	_, err = io.Copy(io.Discard, req.Body)
	return sending.End(), err
}

// seeker has the Read of one value and the Seek of another.
type seeker struct {
	io.Reader
	io.Seeker
}

// A panic on a goroutine of the SDK would end the program.
func TestReaderThatPanicsOrExitsIsAnErrorAndMayBeSentAgain(t *testing.T) {
	t.Parallel()
	r := bytes.NewReader(recording(100_000))
	memory := fstest.MapFS{"a.wav": {Data: recording(100_000)}}
	for method, row := range map[string]struct {
		source func(at func()) Source // which calls at in the method
		calls  int                    // of the method, in a look and an upload
	}{
		"Open": {func(at func()) Source {
			return FS(fakes.FS(func(name string) (fs.File, error) { at(); return memory.Open(name) }), "a.wav")
		}, 2},
		"Read": {func(at func()) Source {
			return Reader(seeker{readerFunc(func(p []byte) (int, error) { at(); return r.Read(p) }), r})
		}, 3},
		"Seek": {func(at func()) Source {
			return Reader(seekerFunc{r, func(offset int64, whence int) (int64, error) {
				at()
				return r.Seek(offset, whence)
			}})
		}, 5},
	} {
		for text, end := range map[string]func(){
			"it panicked: boom":      func() { panic("boom") },
			"it ended its goroutine": runtime.Goexit,
		} {
			for nth := range row.calls {
				file := wav(row.source(func() {
					if nth--; nth == -1 {
						end()
					}
				}))
				sent, err := send(t, file)
				require.ErrorIs(t, err, ErrSource, method)
				assert.ErrorContains(t, err, text, method)
				assert.False(t, sent.Complete, method)
				sent, err = send(t, file)
				require.NoError(t, err, "%s: sent again", method)
				assert.True(t, sent.Complete, method)
				_, _ = r.Seek(0, io.SeekStart)
			}
		}
	}
}

// A file system over a network may hang, and so may a reader. No other call uses the reader before it returns.
func TestLookEndsWithTheContextWhileAFileHangs(t *testing.T) {
	t.Parallel()
	data := recording(1000)
	for name, row := range map[string]struct {
		source func(hang func()) Source
		again  bool // while the file hangs
	}{
		"Open": {func(hang func()) Source {
			return FS(fakes.FS(func(name string) (fs.File, error) {
				hang()
				return fstest.MapFS{"a.wav": {Data: data}}.Open(name)
			}), "a.wav")
		}, true},
		"Read": {func(hang func()) Source {
			r := bytes.NewReader(data)
			return Reader(readerFunc(func(p []byte) (int, error) { hang(); return r.Read(p) }))
		}, false},
		"Seek": {func(hang func()) Source {
			r := bytes.NewReader(data)
			return Reader(seekerFunc{r, func(offset int64, whence int) (int64, error) {
				hang()
				return r.Seek(offset, whence)
			}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left, free := errors.New("the user left"), make(chan struct{})
				file := wav(row.source(func() { <-free }))
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(left) })
				time.AfterFunc(time.Hour, func() { close(free) })
				start := time.Now()
				_, _, err := file.Look(ctx)
				assert.Equal(t, left, err)
				assert.Equal(t, time.Minute+grace, time.Since(start))
				body := Multipart(nil, "file", file, -1)
				assert.Equal(t, row.again, body.Replayable())
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.True(t, body.Replayable())
				sent, err := send(t, file)
				require.NoError(t, err)
				assert.Equal(t, Sent{Complete: true, File: 1000}, sent, "the first bytes were lost")
			})
		})
	}
}

func TestLookAfterTheContextTouchesNoReader(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := wav(Reader(readerFunc(func([]byte) (int, error) {
		t.Error("the reader was read")
		return 0, io.EOF
	}))).Look(ctx)
	assert.Equal(t, context.Canceled, err)
	size, _, err := wav(Bytes(recording(9))).Look(ctx)
	assert.NoError(t, err, "a problem of another file is found all the same")
	assert.EqualValues(t, 9, size)
}
