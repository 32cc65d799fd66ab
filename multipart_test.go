package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// recording is an audio file of some size.
func recording(size int) []byte {
	return append([]byte("RIFF\x24\x00\x00\x00WAVEfmt "), bytes.Repeat([]byte{0x80}, size-16)...)
}

// uploads is a service in memory that does one thing to each upload, and notes which came whole.
type uploads struct {
	*Client
	mu    sync.Mutex
	sends int
	whole int
}

// receiving is a client whose nth upload do gets: the header was read, r has the body.
func receiving(t *testing.T, do func(n int, r *bufio.Reader, req *http.Request, nc net.Conn), opts ...Option) *uploads {
	u := &uploads{}
	u.Client = piped(t, func(nc net.Conn) {
		r := bufio.NewReaderSize(nc, 16)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		u.mu.Lock()
		u.sends++
		n := u.sends
		u.mu.Unlock()
		do(n, r, req, nc)
	}, append([]Option{WithRetryPolicy(quick)}, opts...)...)
	return u
}

// take reads the whole form and responds with a record.
func (u *uploads) take(t *testing.T, req *http.Request, nc net.Conn) {
	_, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	require.NoError(t, err)
	form, err := multipart.NewReader(req.Body, params["boundary"]).ReadForm(1 << 20)
	if !assert.NoError(t, err) {
		return
	}
	defer func() { _ = form.RemoveAll() }()
	assert.Len(t, form.File["file"], 1)
	_, _ = io.Copy(io.Discard, req.Body)
	u.mu.Lock()
	u.whole++
	u.mu.Unlock()
	_, _ = io.WriteString(nc, fakes.OnTheWire(201, "", `{"data":{"id":7,"name":"n"}}`))
}

func (u *uploads) store(ctx context.Context, file File, opts ...CallOption) error {
	_, err := u.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: file}, opts...)
	return err
}

const fileSize = 4 << 20

// The most common failure of a large upload: no parser takes a file without its end for whole, so nothing was made, and
// the file is sent again.
func TestUploadsThatBreakOffAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, percent := range []int64{0, 10, 50, 99} {
		for name, file := range map[string]func() File{
			"bytes":         func() File { return FileFromBytes("a.wav", recording(fileSize)) },
			"a seeker":      func() File { return FileFromReader("a.wav", bytes.NewReader(recording(fileSize))) },
			"a reader":      func() File { return FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(fileSize)))) },
			"a short fault": func() File { return FileFromBytes("a.wav", recording(fileSize)) },
		} {
			t.Run(fmt.Sprintf("%d%% of %s", percent, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var u *uploads
					u = receiving(t, func(n int, r *bufio.Reader, req *http.Request, nc net.Conn) {
						if n > 1 && name == "a short fault" {
							u.take(t, req, nc)
							return
						}
						_, _ = io.CopyN(io.Discard, r, fileSize*percent/100)
					})
					err := u.store(t.Context(), file())
					assert.Zero(t, max(u.whole-1, 0), "no record twice")
					switch name {
					case "a short fault":
						require.NoError(t, err)
						assert.Equal(t, []int{2, 1}, []int{u.sends, u.whole})
						return
					case "a reader":
						if percent == 0 {
							assert.Equal(t, quick.MaxAttempts, u.sends, "only its first bytes were read, and they are kept")
							break
						}
						assert.Equal(t, 1, u.sends)
						assert.ErrorContains(t, err, "not retried: the file's reader can be read only once")
					default:
						assert.Equal(t, quick.MaxAttempts, u.sends)
					}
					assert.ErrorContains(t, err, "transcriptions.store: the service closed the connection during the upload: ")
					assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
				})
			})
		}
	}
}

// From the first byte of the closing delimiter on, some parsers take the form for whole.
func TestUploadsThatBreakOffInTheDelimiterAreNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := receiving(t, func(_ int, r *bufio.Reader, req *http.Request, _ net.Conn) {
			_, _ = io.CopyN(io.Discard, r, req.ContentLength-4)
		})
		err := u.store(t.Context(), FileFromBytes("a.wav", recording(fileSize)))
		assert.ErrorContains(t, err, "the service closed the connection before a response came: ")
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		assert.Equal(t, 1, u.sends)
	})
}

// A response that comes before the upload's end is judged by what it says. After a redirect or a server's error the
// service has no whole file, so nothing was created.
func TestEarlyResponses(t *testing.T) {
	t.Parallel()
	for text, row := range map[string]struct {
		outcome Outcome
		sends   int
	}{
		fakes.OnTheWire(500, "", ``):                     {OutcomeNotExecuted, 3},
		fakes.OnTheWire(502, "", `<html>`):               {OutcomeNotExecuted, 3},
		fakes.OnTheWire(503, "", ``):                     {OutcomeNotExecuted, 3},
		fakes.OnTheWire(504, "", ``):                     {OutcomeNotExecuted, 3},
		fakes.OnTheWire(520, "", ``):                     {OutcomeNotExecuted, 3},
		fakes.OnTheWire(501, "", ``):                     {OutcomeNotExecuted, 1},
		fakes.OnTheWire(507, "", `<html>`):               {OutcomeNotExecuted, 3},
		fakes.OnTheWire(403, "", `<html>`):               {OutcomeNotExecuted, 1},
		fakes.OnTheWire(302, "Location: /login", ``):     {OutcomeNotExecuted, 1},
		fakes.OnTheWire(307, "Location: /elsewhere", ``): {OutcomeNotExecuted, 1},
		fakes.OnTheWire(413, "", `<html>`):               {OutcomeNotExecuted, 1},
		fakes.OnTheWire(401, "", ``):                     {OutcomeNotExecuted, 1},
		fakes.OnTheWire(429, "", ``):                     {OutcomeNotExecuted, 3},
		fakes.OnTheWire(408, "", ``):                     {OutcomeNotExecuted, 3},
		fakes.OnTheWire(200, "", `{}`):                   {OutcomeNotExecuted, 1},
		fakes.OnTheWire(201, "", `<html>`):               {OutcomeExecuted, 1},
		fakes.OnTheWire(200, "", `<html>`):               {OutcomeNotExecuted, 1},
	} {
		t.Run(text[9:12]+text[len(text)-4:], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, nc net.Conn) {
					_, _ = io.CopyN(io.Discard, r, 1000)
					_, _ = io.WriteString(nc, text)
				})
				err := u.store(t.Context(), FileFromBytes("a.wav", recording(fileSize)))
				require.Error(t, err)
				assert.Equal(t, row.outcome, OutcomeOf(err), "%v", err)
				assert.Equal(t, row.sends, u.sends)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, nc net.Conn) {
			_, _ = io.CopyN(io.Discard, r, 1000)
			_, _ = io.WriteString(nc, fakes.OnTheWire(201, "", `{"id":7}`))
		})
		assert.NoError(t, u.store(t.Context(), FileFromBytes("a.wav", recording(fileSize))), "a record is a record")
	})
}

// slowFile has a rest that takes its time.
type slowFile struct {
	*bytes.Reader
	after int64
	pause time.Duration
}

func (f *slowFile) Read(p []byte) (int, error) {
	at, _ := f.Seek(0, io.SeekCurrent)
	if at >= f.after {
		time.Sleep(f.pause)
	}
	return f.Reader.Read(p[:min(len(p), 64<<10)])
}

// A stall ends the attempt, says which side stood still, and costs nothing.
func TestUploadsThatStall(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		file func() File
		take int64 // what the service reads, of each upload
		opts []CallOption
		text string
		took time.Duration
	}{
		"the network": {
			func() File { return FileFromBytes("a.wav", recording(fileSize)) }, 1 << 20, nil,
			"the upload stalled: the network accepted no bytes for 1m0s (WithStallTimeout)", 3 * time.Minute,
		},
		"the reader": {
			func() File {
				return FileFromReader("a.wav", &slowFile{bytes.NewReader(recording(fileSize)), 1 << 20, time.Hour})
			}, fileSize, nil,
			"the upload stalled: the file returned no bytes for 1m0s (WithStallTimeout)", time.Minute,
		},
		"by option": {
			func() File { return FileFromBytes("a.wav", recording(fileSize)) }, 1 << 20, []CallOption{WithStallTimeout(time.Second)},
			"accepted no bytes for 1s", 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) {
					_, _ = io.CopyN(io.Discard, r, row.take)
					_, _ = r.WriteTo(blocked{t.Context()})
				})
				start := time.Now()
				err := u.store(t.Context(), row.file(), row.opts...)
				assert.ErrorContains(t, err, row.text)
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				assert.InDelta(t, row.took, time.Since(start), float64(time.Second))
				var late *wire.TimeoutError
				require.ErrorAs(t, err, &late)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// blocked takes nothing until its context ends.
type blocked struct{ ctx context.Context }

func (b blocked) Write([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

// The end of the context in the middle of an upload leaves nothing behind.
func TestContextEndsAnUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, time.Second)
		defer cancel()
		u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) {
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			_, _ = r.WriteTo(blocked{t.Context()})
		})
		err := u.store(ctx, FileFromBytes("a.wav", recording(fileSize)))
		assert.ErrorIs(t, err, errUserLeft)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
		assert.Equal(t, 1, u.sends)
	})
}

// brokenFile fails at a byte.
type brokenFile struct {
	*bytes.Reader
	at  int64
	err error
}

func (f *brokenFile) Read(p []byte) (int, error) {
	pos, _ := f.Seek(0, io.SeekCurrent)
	if pos >= f.at {
		return 0, f.err
	}
	return f.Reader.Read(p[:min(int64(len(p)), f.at-pos)])
}

// A file that cannot be read ends the call: another attempt would fail as well, and the service got no whole file.
func TestFilesThatFailWhileTheyAreSent(t *testing.T) {
	t.Parallel()
	broken := errors.New("bad sector")
	for name, row := range map[string]struct {
		file File
		text string
	}{
		"a read error":    {FileFromReader("a.wav", &brokenFile{bytes.NewReader(recording(fileSize)), 1 << 20, broken}), `file "a.wav": at byte 1048576: bad sector`},
		"a broken source": {FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(1<<20)), iotest.ErrReader(io.ErrUnexpectedEOF))), `file "a.wav": at byte 1048576: unexpected EOF`},
		"more than Size":  {sized(FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(fileSize)))), 1<<20), `file "a.wav": at byte 1048576: it has more than the 1048576 bytes that were announced`},
		"fewer than Size": {sized(FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(fileSize)))), fileSize+1), `file "a.wav": at byte 4194304: it has fewer than the 4194305 bytes that were announced`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) { _, _ = io.Copy(io.Discard, r) })
				err := u.store(t.Context(), row.file)
				assert.ErrorContains(t, err, row.text)
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				assert.Equal(t, 1, u.sends)
				var failed *upload.ReadError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, name == "a read error", errors.Is(err, broken))
				assert.NotContains(t, err.Error(), "the service closed the connection")
			})
		})
	}
}

func sized(file File, size int64) File {
	file.Size = size
	return file
}

// A size that is told is announced: Django, and PHP after Apache's proxy, see an empty form when an upload is chunked.
func TestFileSizeIsAnnounced(t *testing.T) {
	t.Parallel()
	data := recording(100_000)
	for name, row := range map[string]struct {
		file    File
		chunked bool
	}{
		"told":       {sized(FileFromReader("a.wav", io.MultiReader(bytes.NewReader(data))), 100_000), false},
		"not told":   {FileFromReader("a.wav", io.MultiReader(bytes.NewReader(data))), true},
		"found out":  {FileFromReader("a.wav", bytes.NewReader(data)), false},
		"from bytes": {FileFromBytes("a.wav", data), false},
	} {
		var length int64
		var got []byte
		c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
			length = r.ContentLength
			if file, _, err := r.FormFile("file"); assert.NoError(t, err, name) {
				got, _ = io.ReadAll(file)
			}
			_, _ = io.WriteString(w, fakes.StoredImage)
		})
		_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: row.file})
		require.NoError(t, err, name)
		assert.Equal(t, row.chunked, length < 0, name)
		assert.Equal(t, data, got, name)
	}
}

// Mistakes with readers are told before anything is sent.
func TestReadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(1000), 0o600))
	atEnd, err := os.Open(path)
	require.NoError(t, err)
	defer atEnd.Close()
	_, err = atEnd.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	used := FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(1000))))
	store := func(file File, opts ...CallOption) error {
		_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file}, opts...)
		return err
	}
	require.NoError(t, store(used))
	*requests = nil
	var noBuffer *bytes.Buffer
	var noFile *os.File
	for name, row := range map[string]struct {
		file         File
		reason, hint string
	}{
		"no reader":         {FileFromReader("a.wav", nil), "is required", "make it with FileFromPath"},
		"no constructor":    {File{Name: "a.wav"}, "is required", "make it with FileFromPath"},
		"no path":           {FileFromPath(""), "must have a file name", "FileFromPath and FileFromFS take it from their path"},
		"a nil buffer":      {FileFromReader("a.wav", noBuffer), "cannot be read: the reader is a nil *bytes.Buffer", ""},
		"a nil file":        {FileFromReader("a.wav", noFile), "cannot be read: the reader is a nil *os.File", ""},
		"a file at its end": {FileFromReader("a.wav", atEnd), "must not be empty", "the reader is at its end, byte 1000: seek to the start, Seek(0, io.SeekStart); WithoutValidation sends it anyway"},
		"used before":       {used, "cannot be read: the reader was used by an earlier call, and cannot be rewound", "open a reader for each call, or use one that can seek"},
		"a negative size":   {sized(FileFromBytes("a.wav", recording(100)), -1), "must have a Size of at least 0, not -1", "0 means unknown"},
		"a wrong size":      {sized(FileFromBytes("a.wav", recording(100)), 99), "has 100 bytes, but its Size says 99", ""},
		"a PDF":             {FileFromBytes("a.wav", []byte("%PDF-1.7")), "must be an audio file, but it is a PDF", "WithoutValidation sends it anyway"},
		"a gzip file":       {FileFromBytes("a.wav", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00")), "must be an audio file, but it is ", "WithoutValidation sends it anyway"},
	} {
		err := store(row.file)
		var invalid *ValidationError
		if assert.ErrorAs(t, err, &invalid, name) {
			assert.Contains(t, invalid.Problems[0].Reason, row.reason, name)
			assert.Contains(t, invalid.Problems[0].Hint, row.hint, name)
			assert.Equal(t, "file", invalid.Problems[0].Field)
		}
	}
	assert.Empty(t, *requests)
	assert.NoError(t, store(FileFromBytes("a.ul", bytes.Repeat([]byte{0xff}, 8000))), "silence of G.711 is audio")
	assert.NoError(t, store(FileFromBytes("a.wav", []byte("%PDF-1.7")), WithoutValidation()))
}

// A dead source must not hold a call before its first request either.
func TestReadersThatWaitAreLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		defer writer.Close()
		c, requests := capturing(t)
		start := time.Now()
		_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: FileFromReader("a.wav", reader)}, WithStallTimeout(time.Second))
		assert.ErrorContains(t, err, "transcriptions.store: the upload stalled: the file returned no bytes for 1s (WithStallTimeout)")
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
		assert.False(t, Retryable(err), "a reader that stands still does so again")
		assert.LessOrEqual(t, time.Since(start), 2*time.Second)
		assert.Empty(t, *requests)
	})
}

// stuckFile waits in a Read until it is freed, and then has ended.
type stuckFile struct {
	fs.File
	free chan struct{}
}

func (f stuckFile) Read([]byte) (int, error) {
	<-f.free
	return 0, io.EOF
}

// A Read of a file system that hangs, be it over a network or on a broken disk, holds a call neither before its first
// request nor later.
func TestFilesThatHangAreLeft(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		hangs int // the file that hangs, of those that the call opens one after the other
		stall time.Duration
		text  string
	}{
		"looked at, stall":    {1, time.Second, "the file returned no bytes for 1s (WithStallTimeout)"},
		"looked at, deadline": {1, 0, context.DeadlineExceeded.Error()},
		"sent, stall":         {2, time.Second, "the file returned no bytes for 1s (WithStallTimeout)"},
		"sent, deadline":      {2, 0, context.DeadlineExceeded.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free, opened := make(chan struct{}), 0
				fsys := fakes.FS(func(name string) (fs.File, error) {
					f, err := fstest.MapFS{"a.wav": {Data: recording(fileSize)}}.Open(name)
					if opened++; opened == row.hangs {
						return stuckFile{f, free}, err
					}
					return f, err
				})
				u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) { _, _ = io.Copy(io.Discard, r) })
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				err := u.store(ctx, FileFromFS(fsys, "a.wav"), WithStallTimeout(row.stall), WithRetryPolicy(oneAttempt))
				assert.ErrorContains(t, err, row.text)
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				assert.Less(t, time.Since(start), 3*time.Second)
				close(free)
			})
		})
	}
}

// A reader or callback that panics ends neither the program nor the file's next call: the file cannot be read. In the
// end of an upload there is nothing left to read.
func TestUploadsThatPanic(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		attempts int
		file     func() File
		opt      CallOption
		works    bool
	}{
		"reader, looked at": {0, func() File {
			return FileFromReader("a.wav", readerFunc(func([]byte) (int, error) { panic("boom") }))
		}, nil, false},
		"reader, sent": {1, func() File {
			return FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(100_000)),
				readerFunc(func([]byte) (int, error) { panic("boom") })))
		}, nil, false},
		"callback at once": {1, func() File { return FileFromBytes("a.wav", recording(100_000)) }, WithProgress(func(Progress) { panic("boom") }), false},
		"callback in the end": {1, func() File { return FileFromBytes("a.wav", recording(100_000)) }, WithProgress(func(p Progress) {
			if p.Sent == p.Total {
				panic("boom")
			}
		}), true},
	} {
		var told []AttemptResult
		c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				_, _ = io.WriteString(w, fakes.StoredImage)
			}
		}, WithAttemptHook(func(context.Context, Attempt) (func(AttemptResult), error) {
			return func(r AttemptResult) { told = append(told, r) }, nil
		}))
		opts := []CallOption{}
		if row.opt != nil {
			opts = append(opts, row.opt)
		}
		_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: row.file()}, opts...)
		if row.works {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorIs(t, err, ErrFile, name)
			assert.ErrorContains(t, err, "it panicked: boom", name)
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), name)
		}
		assert.Len(t, told, row.attempts, name)
		_, err = c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", recording(1000))})
		assert.NoError(t, err, name)
	}
}

// A callback that hangs must not hold a call whose context has ended.
func TestProgressThatBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, time.Minute)
		defer cancel()
		release := make(chan struct{})
		c, _ := capturing(t, WithProgress(func(Progress) { <-release }))
		start := time.Now()
		_, err := c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", recording(1000))})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
		assert.InDelta(t, time.Minute, time.Since(start), float64(time.Second))
		close(release)
	})
}

// Progress is of the file, ends at its size, and never comes from two goroutines at once in a call.
func TestProgress(t *testing.T) {
	t.Parallel()
	var at atomic.Int32
	var reports []Progress
	report := func(p Progress) {
		assert.EqualValues(t, 1, at.Add(1))
		reports = append(reports, p)
		at.Add(-1)
	}
	requests := 0
	c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests++; requests == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, fakes.StoredImage)
	}, WithRetryPolicy(quick))
	_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", recording(1<<20))}, WithProgress(report))
	require.NoError(t, err)
	require.NotEmpty(t, reports)
	assert.Equal(t, Progress{Sent: 1 << 20, Total: 1 << 20, Attempt: 2}, reports[len(reports)-1])
	for i, p := range reports {
		assert.EqualValues(t, 1<<20, p.Total)
		if i > 0 && reports[i-1].Attempt == p.Attempt {
			assert.Greater(t, p.Sent, reports[i-1].Sent)
		}
	}
	reports = nil
	_, err = c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(5000))))}, WithProgress(report))
	require.NoError(t, err)
	assert.Equal(t, Progress{Sent: 5000, Total: -1, Attempt: 1}, reports[len(reports)-1])
	reports = nil
	_, err = c.Images.Store(t.Context(), aStore, WithProgress(report))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7", WithProgress(report))
	require.NoError(t, err)
	assert.Empty(t, reports, "what has no file has no progress")
	_, err = c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", recording(100))}, WithProgress(nil))
	assert.NoError(t, err)
}

// net/http sends a request again by itself on a connection that the service closed, if the request can be read again
// or says that it may come twice. For a create request that is a second record.
func TestNetHTTPNeverRepeatsAStore(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key", "X-Other"} {
		for _, kind := range []string{"images.store", "transcriptions.store"} {
			for name, opts := range map[string][]Option{
				"own":         nil,
				"given":       {WithHTTPClient(&http.Client{Transport: &http.Transport{}})},
				"given other": {WithHTTPClient(&http.Client{Transport: fakes.RoundTripper((&http.Transport{}).RoundTrip)})},
				"middleware": {WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return fakes.RoundTripper(next.RoundTrip)
				})},
			} {
				t.Run(name+" "+kind+" "+header, func(t *testing.T) {
					var stores atomic.Int32
					srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						if stores.Add(1) == 2 {
							// It has read the second whole, and goes away.
							panic(http.ErrAbortHandler)
						}
						_, _ = io.WriteString(w, fakes.StoredImage)
					}))
					defer srv.Close()
					c, err := NewClient(srv.URL+"/tenant", fakes.Key, append(opts, WithRetryPolicy(oneAttempt))...)
					require.NoError(t, err)
					defer c.CloseIdleConnections()
					store := allTen(c)[kind]
					require.NoError(t, store(t.Context(), WithHeader(header, "x")))
					err = store(t.Context(), WithHeader(header, "x"))
					assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", err)
					assert.EqualValues(t, 2, stores.Load())
				})
			}
		}
	}
}

// With a RoundTripper of another kind a store has no GetBody, so that no net/http below it can replay what was read.
func TestStoresCannotBeReadAgain(t *testing.T) {
	t.Parallel()
	var got []bool
	c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.GetBody == nil)
		_, err := io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		return fakes.OK(fakes.StoredImage)(r)
	})}))
	require.NoError(t, err)
	require.NoError(t, allTen(c)["images.store"](t.Context()))
	require.NoError(t, allTen(c)["transcriptions.store"](t.Context()))
	assert.Equal(t, []bool{true, true}, got)
}

// A server that sends its status before it has read the file must not have an upload cut off that still moves: the
// record would be lost, although it was created. The wait begins with the last byte of the request.
func TestUploadsGoOnAfterAnEarlySuccess(t *testing.T) {
	t.Parallel()
	for _, stalls := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const body = `{"data":{"id":7,"name":"n"}}`
			var read atomic.Pointer[time.Time]
			u := receiving(t, func(_ int, _ *bufio.Reader, req *http.Request, nc net.Conn) {
				_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n", len(body))
				for {
					time.Sleep(time.Second)
					if _, err := io.CopyN(io.Discard, req.Body, 4<<20); err != nil {
						break
					}
				}
				read.Store(new(time.Now()))
				if stalls {
					time.Sleep(time.Hour)
				}
				_, _ = io.WriteString(nc, body)
			}, WithStoreTimeout(3*time.Second))
			err := u.store(t.Context(), FileFromBytes("a.wav", recording(32<<20)))
			if stalls {
				assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
				assert.ErrorContains(t, err, "WithStoreTimeout")
				assert.Equal(t, OutcomeExecuted, OutcomeOf(err))
				assert.Equal(t, 3*time.Second, time.Since(*read.Load()))
				time.Sleep(time.Hour)
				return
			}
			assert.NoError(t, err)
		})
	}
}

// A response that begins before the file is sent is waited for as any other.
func TestEarlyResponsesThatStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, nc net.Conn) {
			_, _ = io.WriteString(nc, "HTTP/1.1 413 Status\r\nContent-Length: 10\r\n\r\n")
			time.Sleep(time.Hour)
			_, _ = io.Copy(io.Discard, r)
		}, WithStoreTimeout(time.Second), WithStallTimeout(0))
		start := time.Now()
		err := u.store(t.Context(), FileFromBytes("a.wav", recording(fileSize)))
		assert.ErrorIs(t, err, ErrTooLarge)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

// A file that is gone when it is to be sent again ends the call, with what came before it.
func TestFilesThatAreGoneAtTheNextAttempt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(1000), 0o600))
	s := &fakes.Script{Responses: fakes.Responses{func(r *http.Request) (*http.Response, error) {
		assert.NoError(t, os.Remove(path))
		return fakes.Respond(429, ``)(r)
	}}}
	_, err := over(t, s, WithRetryPolicy(quick)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: FileFromPath(path)})
	var failed *upload.ReadError
	require.ErrorAs(t, err, &failed)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
	assert.ErrorContains(t, err, "attempt 2 of 3")
	assert.Len(t, s.Asked, 1)
}

// A reader that can seek can be sent again after any response, and after a transport that panicked.
func TestReadersAreReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakes.Ledger{Store: func(n int, add func()) (*http.Response, error) {
			if n == 1 {
				return fakes.Respond(429, ``)(nil)
			}
			return fakes.Respond(201, `{"data":{"id":1,"name":"n"}}`)(nil)
		}}
		file := FileFromReader("a.wav", bytes.NewReader(recording(1000)))
		_, err := over(t, l).Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file})
		require.NoError(t, err)
		assert.Equal(t, 2, l.Stores)
	})
	file := FileFromReader("a.wav", bytes.NewReader(recording(1000)))
	panics := true
	c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadFull(r.Body, make([]byte, 400))
		if panics {
			panic("the transport is at fault")
		}
		return fakes.OK(fakes.StoredImage)(r)
	})}))
	require.NoError(t, err)
	params := TranscriptionStoreParams{Name: "n", File: file}
	assert.Panics(t, func() { _, _ = c.Transcriptions.Store(t.Context(), params) })
	panics = false
	_, err = c.Transcriptions.Store(t.Context(), params)
	assert.NoError(t, err)
}

// The reader is to blame only where a file that can be read again would have been sent again.
func TestReadersAreBlamedForMissingRetriesAlone(t *testing.T) {
	t.Parallel()
	const note = "the file's reader can be read only once"
	rotating := WithAPIKeySource(func() func(context.Context) (string, error) {
		n := 0
		return func(context.Context) (string, error) { n++; return fmt.Sprint("api-key-", n), nil }
	}())
	for name, row := range map[string]struct {
		respond func(*http.Request) (*http.Response, error)
		opts    []Option
		blamed  bool
	}{
		"overloaded":                      {respond: fakes.Respond(429, ``), blamed: true},
		"overloaded for a while":          {respond: fakes.Respond(429, ``, "Retry-After", "1"), blamed: true},
		"overloaded for hours":            {respond: fakes.Respond(429, ``, "Retry-After", "7200")},
		"the only attempt":                {respond: fakes.Respond(429, ``), opts: []Option{WithRetryPolicy(oneAttempt)}},
		"refused":                         {respond: fakes.Respond(422, ``)},
		"broken":                          {respond: fakes.Respond(500, ``)},
		"the key is refused":              {respond: fakes.Respond(401, ``)},
		"the key is refused, another one": {respond: fakes.Respond(401, ``), opts: []Option{rotating}, blamed: true},
		"lost":                            {respond: fakes.Lose},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakes.Script{Responses: fakes.Responses{row.respond}}
				sends := 0
				opts := append([]Option{WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodGet {
						return fakes.OK(`{"data":[]}`)(r)
					}
					sends++
					return s.RoundTrip(r)
				})})}, row.opts...)
				c, err := NewClient("https://content.example.com/tenant", fakes.Key, opts...)
				require.NoError(t, err)
				file := FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(fileSize))))
				_, err = c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file})
				require.Error(t, err)
				assert.Equal(t, row.blamed, strings.Contains(err.Error(), note), err.Error())
				assert.Equal(t, 1, sends)
				if name == "overloaded for hours" {
					assert.ErrorContains(t, err, "the service asks to wait 2h0m0s")
				}
			})
		})
	}
}

// A file of an embedded file system is sent under its own name.
func TestFileFromFS(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	file := FileFromFS(fstest.MapFS{"calls/a.wav": {Data: recording(100)}}, "calls/a.wav")
	assert.Equal(t, "a.wav", file.Name)
	_, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: file})
	require.NoError(t, err)
	assert.Contains(t, (*requests)[0].body, string(recording(100)))
}

// Files end up in keys of maps and in comparisons, often within params, also those that a test makes of what a mock
// was called with.
func TestFilesCanBeCompared(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]func() File{
		"path":   func() File { return FileFromPath("testdata/a.wav") },
		"fs":     func() File { return FileFromFS(fstest.MapFS{}, "a.wav") },
		"bytes":  func() File { return FileFromBytes("a.wav", []byte(wavHead)) },
		"reader": func() File { return FileFromReader("a.wav", strings.NewReader(wavHead)) },
		"zero":   func() File { return File{} },
	} {
		one, other := file(), file()
		seen := map[TranscriptionStoreParams]bool{{Name: "n", File: one}: true}
		assert.True(t, seen[TranscriptionStoreParams{Name: "n", File: one}], name)
		assert.Equal(t, name == "path" || name == "zero", one == other, name)
		assert.Equal(t, one, other, name)
	}
	assert.NotEqual(t, FileFromPath("a/1.wav"), FileFromPath("b/1.wav"))
	assert.NotEqual(t, FileFromBytes("a.wav", []byte("1")), FileFromBytes("a.wav", []byte("2")))
}

// A program that passes an upload on must tell a browser that stalls from a service that does.
func TestErrorsOfTheFile(t *testing.T) {
	t.Parallel()
	refuse := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return nil, err
	})
	broken := io.MultiReader(bytes.NewReader(recording(100_000)), iotest.ErrReader(errors.New("gone")))
	for name, row := range map[string]struct {
		file File
		is   bool
	}{
		"missing":        {FileFromPath("testdata/none.wav"), true},
		"breaks off":     {FileFromReader("a.wav", broken), true},
		"shorter":        {File{Name: "a.wav", Size: 200_000, source: FileFromReader("a.wav", bytes.NewBuffer(recording(100_000))).source}, true},
		"no audio":       {FileFromBytes("a.wav", []byte("%PDF-1.7")), false},
		"a lost request": {FileFromBytes("a.wav", recording(100_000)), false},
	} {
		_, err := over(t, refuse, WithRetryPolicy(oneAttempt)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{Name: "n", File: row.file})
		require.Error(t, err)
		assert.Equal(t, row.is, errors.Is(err, ErrFile), "%s: %v", name, err)
	}
}

// A form can be checked before its file is uploaded: with a context that has ended, nothing is sent, but what is wrong
// is said first. A user's reader is not touched.
func TestFilesAreCheckedBeforeTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scan.mp3")
	require.NoError(t, os.WriteFile(path, []byte("%PDF-1.7"), 0o600))
	c := over(t, fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	}))
	ended, end := context.WithCancel(t.Context())
	end()
	for name, file := range map[string]File{
		"memory": FileFromBytes("scan.mp3", []byte("%PDF-1.7")),
		"path":   FileFromPath(path),
	} {
		_, err := c.Transcriptions.Store(ended, TranscriptionStoreParams{File: file, Language: "en"})
		var invalid *ValidationError
		require.ErrorAs(t, err, &invalid, name)
		assert.Len(t, invalid.Problems, 3, "%s: %v", name, err)
	}
	sound := strings.NewReader("sound")
	_, err := c.Transcriptions.Store(ended, TranscriptionStoreParams{Name: "n", File: FileFromReader("a.mp3", struct{ io.Reader }{sound})})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 5, sound.Len())
}

// A reader that is used up must not turn a 429 into an upload of nothing.
func TestReaderThatCannotBeReadAgainMeansOneAttempt(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, `{"message":"later"}`)}}
	audio := "RIFF\x00\x00\x00\x00WAVE" + strings.Repeat("\x00", 1000)
	_, err := over(t, s, WithRetryPolicy(quick)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "n", File: FileFromReader("a.wav", io.MultiReader(strings.NewReader(audio))),
	})
	require.ErrorIs(t, err, ErrRateLimited)
	assert.Len(t, s.Asked, 1)

	s = &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``), fakes.OK(fakes.StoredImage)}}
	_, err = over(t, s, WithRetryPolicy(quick)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "n", File: FileFromReader("a.wav", strings.NewReader(audio)),
	})
	require.NoError(t, err)
	require.Len(t, s.Bodies, 2)
	assert.Equal(t, s.Bodies[0], s.Bodies[1])
}

// A user who left is not a broken file: the call may be made again.
func TestContextThatEndsWhileTheFirstBytesAreAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		pipe := readerFunc(func([]byte) (int, error) { <-stuck; return 0, io.EOF })
		for name, file := range map[string]File{
			"a reader that waits": FileFromReader("a.wav", pipe),
			"a file system":       FileFromFS(openingFS{stuck}, "a.wav"),
		} {
			ctx, cancel := contextAfter(t, time.Second)
			_, err := over(t, fakes.RoundTripper(fakes.Lose)).Transcriptions.Store(ctx, TranscriptionStoreParams{
				Name: "n", File: file,
			})
			cancel()
			require.ErrorAs(t, err, new(*CallError), name)
			assert.ErrorIs(t, err, context.Canceled, name)
			assert.ErrorIs(t, err, errUserLeft, name)
			assert.NotErrorIs(t, err, ErrFile, name)
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), name)
			assert.True(t, Retryable(err), name)
			assert.Equal(t, "stopped", Reason(err), name)
		}
		_, err := over(t, fakes.RoundTripper(fakes.Lose)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
			Name: "n", File: FileFromFS(openingFS{stuck}, "a.wav"),
		}, WithStallTimeout(time.Second))
		require.ErrorAs(t, err, new(*CallError))
		assert.ErrorIs(t, err, ErrFile)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.False(t, Retryable(err))
		assert.Equal(t, "the file could not be read", Reason(err))
	})
}

// openingFS has files that wait to be opened.
type openingFS struct{ until chan struct{} }

func (f openingFS) Open(string) (fs.File, error) { <-f.until; return nil, fs.ErrNotExist }
