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

const fileSize = 4 << 20

// inMemory is a recording in memory.
func inMemory(size int) File { return FileFromBytes("a.wav", recording(size)) }

// readOnce is a recording from a reader that cannot seek, with the size that is announced, or 0.
func readOnce(length int, size int64) File {
	file := FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(length))))
	file.Size = size
	return file
}

// The most common failure of a large upload: no parser takes a file without its end for whole, so nothing was made, and
// the file is sent again. From the first byte of the closing delimiter on, some parsers take the form for whole.
func TestUploadsThatBreakOffBeforeTheDelimiterAreSentAgain(t *testing.T) {
	t.Parallel()
	memory := inMemory(fileSize)
	seeker := func() File { return FileFromReader("a.wav", bytes.NewReader(recording(fileSize))) }
	reader := func() File { return readOnce(fileSize, 0) }
	const (
		during = ""
		once   = "not retried: the file's reader can be read only once"
	)
	for name, row := range map[string]struct {
		file    func() File
		percent int64 // of the file that the service reads; above 99, all but the end of the form
		sends   int
		outcome Outcome
		text    string
	}{
		"bytes in the middle":    {func() File { return memory }, 50, 3, OutcomeNotExecuted, during},
		"bytes in the delimiter": {func() File { return memory }, 100, 1, OutcomeUnknown, ""},
		// Only its first bytes were read, and they are kept.
		"a reader at once":       {reader, 0, 3, OutcomeNotExecuted, during},
		"a seeker in the middle": {seeker, 50, 3, OutcomeNotExecuted, during},
		"a reader soon":          {reader, 10, 1, OutcomeNotExecuted, once},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := receiving(t, func(_ int, r *bufio.Reader, req *http.Request, _ net.Conn) {
					n := fileSize * row.percent / 100
					if row.percent > 99 {
						n = req.ContentLength - 4
					}
					_, _ = io.CopyN(io.Discard, r, n)
				})
				err := transcribe(t.Context(), u.Client, row.file())
				assert.ErrorContains(t, err, row.text)
				assert.Equal(t, row.outcome, OutcomeOf(err), "%v", err)
				assert.Equal(t, row.sends, u.sends)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var u *uploads
		u = receiving(t, func(n int, r *bufio.Reader, req *http.Request, nc net.Conn) {
			if n == 1 {
				_, _ = io.CopyN(io.Discard, r, fileSize/2)
				return
			}
			u.take(t, req, nc)
		})
		require.NoError(t, transcribe(t.Context(), u.Client, memory), "a short fault")
		assert.Equal(t, []int{2, 1}, []int{u.sends, u.whole})
	})
}

// A file that cannot be read ends the call: another attempt would fail as well, and the service got no whole file. A
// program that passes an upload on must tell a browser that stalls from a service that does.
func TestFileThatFailsWhileItIsSentEndsTheCall(t *testing.T) {
	t.Parallel()
	broken := errors.New("bad sector")
	failing := func(err error) File {
		return FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(1<<20)), iotest.ErrReader(err)))
	}
	for name, row := range map[string]struct {
		file  File
		cause error
		text  string
	}{
		"a read error":    {failing(broken), broken, "bad sector"},
		"a broken source": {failing(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF, "unexpected EOF"},
		"more than Size": {readOnce(fileSize, 1<<20), ErrFile,
			"it has more than the 1048576 bytes that were announced"},
		"fewer than Size": {readOnce(1<<20, 1<<20+1), ErrFile,
			"it has fewer than the 1048577 bytes that were announced"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) {
					_, _ = io.Copy(io.Discard, r)
				})
				err := transcribe(t.Context(), u.Client, row.file)
				assert.ErrorContains(t, err, `file "a.wav": at byte 1048576: `+row.text)
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				assert.Equal(t, 1, u.sends)
				require.ErrorAs(t, err, new(*upload.ReadError))
				assert.ErrorIs(t, err, ErrFile)
				assert.ErrorIs(t, err, row.cause)
				assert.NotContains(t, err.Error(), "the service closed the connection")
			})
		})
	}
	c := over(t, fakes.RoundTripper(fakes.Lose), WithRetryPolicy(oneAttempt))
	assert.ErrorIs(t, transcribe(t.Context(), c, FileFromPath("testdata/none.wav")), ErrFile)
	assert.NotErrorIs(t, transcribe(t.Context(), c, FileFromBytes("a.wav", []byte("%PDF-1.7"))), ErrFile)
	assert.NotErrorIs(t, transcribe(t.Context(), c, inMemory(100_000)), ErrFile, "the request was lost")
}

// A size that is told is announced: Django, and PHP after Apache's proxy, see an empty form when an upload is chunked.
func TestFileSizeIsAnnounced(t *testing.T) {
	t.Parallel()
	const size = 100_000
	for name, row := range map[string]struct {
		file    File
		chunked bool
	}{
		"told":       {readOnce(size, size), false},
		"not told":   {readOnce(size, 0), true},
		"found out":  {FileFromReader("a.wav", bytes.NewReader(recording(size))), false},
		"from bytes": {inMemory(size), false},
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
		require.NoError(t, transcribe(t.Context(), c, row.file), name)
		assert.Equal(t, row.chunked, length < 0, name)
		assert.Equal(t, recording(size), got, name)
	}
}

// Mistakes with readers are told before anything is sent.
func TestReadersThatCannotBeSentAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(1000), 0o600))
	atEnd, err := os.Open(path)
	require.NoError(t, err)
	defer atEnd.Close()
	_, err = atEnd.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	used := readOnce(1000, 0)
	require.NoError(t, transcribe(t.Context(), c, used))
	*requests = nil
	sized := func(size int64) File {
		file := inMemory(100)
		file.Size = size
		return file
	}
	var noFile *os.File
	pdf := FileFromBytes("a.wav", []byte("%PDF-1.7"))
	const (
		how    = "make it with FileFromPath"
		waived = "WithoutValidation sends it anyway"
	)
	for name, row := range map[string]struct {
		file         File
		reason, hint string
	}{
		"no reader":         {FileFromReader("a.wav", nil), "is required", how},
		"no file system":    {FileFromFS(nil, "a.wav"), "is required", how},
		"no constructor":    {File{Name: "a.wav"}, "is required", how},
		"a nil file":        {FileFromReader("a.wav", noFile), "cannot be read: invalid argument", ""},
		"a negative size":   {sized(-1), "must have a Size of at least 0, which means unknown", ""},
		"a wrong size":      {sized(99), "has 100 bytes, but its Size says 99", ""},
		"a PDF":             {pdf, "must be an audio file, but it is a PDF", waived},
		"a file at its end": {FileFromReader("a.wav", atEnd), "must not be empty", waived},
		"used before": {used,
			"cannot be read: the reader was used by an earlier call, and cannot be rewound", ""},
	} {
		err := transcribe(t.Context(), c, row.file)
		var invalid *ValidationError
		if assert.ErrorAs(t, err, &invalid, name) {
			assert.Contains(t, invalid.Problems[0].Reason, row.reason, name)
			assert.Contains(t, invalid.Problems[0].Hint, row.hint, name)
			assert.Equal(t, "file", invalid.Problems[0].Field)
		}
	}
	assert.Empty(t, *requests)
	silence := FileFromBytes("a.ul", bytes.Repeat([]byte{0xff}, 8000))
	assert.NoError(t, transcribe(t.Context(), c, silence), "silence of G.711 is audio")
	assert.NoError(t, transcribe(t.Context(), c, pdf, WithoutValidation()))
}

// A file system that hangs, be it over a network or on a broken disk, or a dead source, holds a call neither before its
// first request nor later. A user who left is not a broken file: the call may be made again.
func TestFileThatHangsDoesNotHoldTheCall(t *testing.T) {
	t.Parallel()
	type stuck = chan struct{}
	recorded := fstest.MapFS{"a.wav": {Data: recording(fileSize)}}
	// hanging is a file system whose nth file hangs, of those that the call opens one after the other.
	hanging := func(n int, file func(fs.File, stuck) fs.File) func(stuck) File {
		return func(stuck stuck) File {
			opened := 0
			return FileFromFS(fakes.FS(func(name string) (fs.File, error) {
				f, err := recorded.Open(name)
				if opened++; opened == n {
					return file(f, stuck), err
				}
				return f, err
			}), "a.wav")
		}
	}
	reads := func(f fs.File, stuck stuck) fs.File { return &stallingFile{f, stuck, 0} }
	opens := func(f fs.File, stuck stuck) fs.File { <-stuck; return f }
	reader := func(stuck stuck) File {
		return FileFromReader("a.wav", readerFunc(func([]byte) (int, error) { <-stuck; return 0, io.EOF }))
	}
	type limit = func(*testing.T) (context.Context, context.CancelFunc)
	never := func(t *testing.T) (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }
	soon := func(t *testing.T) (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 2*time.Second)
	}
	leaves := func(t *testing.T) (context.Context, context.CancelFunc) { return contextAfter(t, 2*time.Second) }
	for name, hangs := range map[string]struct {
		file func(stuck) File
		sent bool // the request has begun
	}{
		"a reader":  {reader, false},
		"opened":    {hanging(1, opens), false},
		"looked at": {hanging(1, reads), false},
		"sent":      {hanging(2, reads), true},
	} {
		for end, row := range map[string]struct {
			stall        time.Duration
			ctx          limit
			want         error
			text, reason string
		}{
			"a stall":    {time.Second, never, os.ErrDeadlineExceeded, "1s (WithStallTimeout)", ""},
			"a deadline": {0, soon, context.DeadlineExceeded, "context deadline exceeded", "timed out"},
			"the user":   {0, leaves, errUserLeft, "context canceled: the user left", "stopped"},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					stuck := make(stuck)
					defer close(stuck)
					u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) {
						_, _ = io.Copy(io.Discard, r)
					})
					ctx, cancel := row.ctx(t)
					defer cancel()
					start := time.Now()
					err := transcribe(ctx, u.Client, hangs.file(stuck), WithStallTimeout(row.stall),
						WithRetryPolicy(oneAttempt))
					assert.Less(t, time.Since(start), 3*time.Second)
					require.ErrorAs(t, err, new(*CallError))
					assert.ErrorIs(t, err, row.want)
					assert.ErrorContains(t, err, row.text)
					assert.True(t, hangs.sent == false || Retryable(err), "%v", err)
					assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
					assert.Contains(t, Reason(err), row.reason)
					assert.Equal(t, hangs.sent, u.sends > 0)
				})
			})
		}
	}
}

// A reader that panics does not end the program: the file cannot be read.
func TestPanicOfAReaderIsAnError(t *testing.T) {
	t.Parallel()
	panicking := readerFunc(func([]byte) (int, error) { panic("boom") })
	later := io.MultiReader(bytes.NewReader(recording(100_000)), panicking)
	for name, row := range map[string]struct {
		attempts int
		file     File
	}{
		"looked at": {0, FileFromReader("a.wav", panicking)},
		"sent":      {1, FileFromReader("a.wav", later)},
	} {
		o := &observer{}
		c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				_, _ = io.WriteString(w, fakes.StoredImage)
			}
		}, WithAttemptHook(o.hook))
		err := transcribe(t.Context(), c, row.file)
		assert.ErrorIs(t, err, ErrFile, name)
		assert.ErrorContains(t, err, "it panicked: boom", name)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), name)
		assert.Len(t, o.results, row.attempts, name)
		assert.NoError(t, transcribe(t.Context(), c, inMemory(1000)), name)
	}
}

// Progress is of the file, ends at its size, and never comes from two goroutines at once in a call.
func TestProgressGrowsToTheSizeOfTheFile(t *testing.T) {
	t.Parallel()
	var at atomic.Int32
	var reports []Progress
	report := WithProgress(func(p Progress) {
		assert.EqualValues(t, 1, at.Add(1))
		reports = append(reports, p)
		at.Add(-1)
	})
	requests := 0
	c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fakes.RespondToAll(w, r)
	}, WithRetryPolicy(quick))
	require.NoError(t, transcribe(t.Context(), c, inMemory(1<<20), report))
	require.NotEmpty(t, reports)
	assert.Equal(t, Progress{Sent: 1 << 20, Total: 1 << 20, Attempt: 2}, reports[len(reports)-1])
	for i, p := range reports {
		assert.EqualValues(t, 1<<20, p.Total)
		if i > 0 && reports[i-1].Attempt == p.Attempt {
			assert.Greater(t, p.Sent, reports[i-1].Sent)
		}
	}
	reports = nil
	require.NoError(t, transcribe(t.Context(), c, readOnce(5000, 0), report))
	assert.Equal(t, Progress{Sent: 5000, Total: -1, Attempt: 1}, reports[len(reports)-1])
	reports = nil
	for _, name := range []string{"images.store", "images.show"} {
		require.NoError(t, allTen(c)[name](t.Context(), report))
	}
	assert.Empty(t, reports, "what has no file has no progress")
}

// net/http sends a request again by itself on a connection that the service closed, if the request can be read again
// or says that it may come twice. For a create request that is a second record.
func TestNetHTTPNeverRepeatsAStore(t *testing.T) {
	t.Parallel()
	other := fakes.RoundTripper((&http.Transport{}).RoundTrip)
	wrap := func(next http.RoundTripper) http.RoundTripper { return fakes.RoundTripper(next.RoundTrip) }
	for name, opts := range map[string][]Option{
		"own":         nil,
		"given":       {WithHTTPClient(&http.Client{Transport: &http.Transport{}})},
		"given other": {WithHTTPClient(&http.Client{Transport: other})},
		"middleware":  {WithMiddleware(wrap)},
	} {
		for _, kind := range bothStores {
			t.Run(name+" "+kind, func(t *testing.T) {
				var stores atomic.Int32
				c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if stores.Add(1) == 2 {
						// It has read the second whole, and goes away.
						panic(http.ErrAbortHandler)
					}
					_, _ = io.WriteString(w, fakes.StoredImage)
				}, opts...)
				store := allTen(c)[kind]
				require.NoError(t, store(t.Context(), WithHeader("Idempotency-Key", "x")))
				err := store(t.Context(), WithHeader("Idempotency-Key", "x"))
				assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", err)
				assert.EqualValues(t, 2, stores.Load())
			})
		}
	}
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
			err := transcribe(t.Context(), u.Client, inMemory(32<<20))
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

// A file that is gone when it is to be sent again ends the call, with what came before it.
func TestFileThatIsGoneAtTheNextAttemptEndsTheCall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(1000), 0o600))
	s := script(func(r *http.Request) (*http.Response, error) {
		assert.NoError(t, os.Remove(path))
		return fakes.Respond(429, ``)(r)
	}, fakes.OK(fakes.StoredImage))
	err := transcribe(t.Context(), over(t, s, WithRetryPolicy(quick)), FileFromPath(path))
	require.ErrorAs(t, err, new(*upload.ReadError))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
	assert.ErrorContains(t, err, "attempt 2 of 3")
	assert.Len(t, s.Asked, 2)
}

// A reader that is used up must not turn a 429 into an upload of nothing. It is to blame only where a file that can be
// read again would have been sent again.
func TestReadersAreBlamedForMissingRetriesAlone(t *testing.T) {
	t.Parallel()
	const (
		blamed = "the file's reader can be read only once"
		tooFar = "the service asks to wait 2h0m0s"
	)
	policy := WithRetryPolicy(quick)
	for name, row := range map[string]struct {
		rt     fakes.RoundTripper
		opt    Option
		reason string // why there is no further attempt, if the error says it
	}{
		"overloaded":                      {fakes.Respond(429, ``), policy, blamed},
		"overloaded for hours":            {fakes.Respond(429, ``, "Retry-After", "7200"), policy, tooFar},
		"the key is refused":              {fakes.Respond(401, ``), policy, ""},
		"the key is refused, another one": {fakes.Respond(401, ``), rotating(), blamed},
		"lost":                            {fakes.Lose, policy, ""},
	} {
		s := script(row.rt)
		err := transcribe(t.Context(), over(t, s, row.opt), readOnce(fileSize, 0))
		require.Error(t, err, name)
		for _, reason := range []string{blamed, tooFar} {
			assert.Equal(t, row.reason == reason, strings.Contains(err.Error(), reason), "%s: %v", name, err)
		}
		assert.Len(t, s.Sent, 1, name)
	}
}

// Files end up in keys of maps and in comparisons, often within params, also those that a test makes of what a mock
// was called with.
func TestFilesCanBeCompared(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		file func() File
		same bool // two that are made alike are the same file
	}{
		"path":   {func() File { return FileFromPath("testdata/a.wav") }, true},
		"fs":     {func() File { return FileFromFS(fstest.MapFS{}, "a.wav") }, false},
		"bytes":  {func() File { return FileFromBytes("a.wav", []byte(wavHead)) }, false},
		"reader": {func() File { return FileFromReader("a.wav", strings.NewReader(wavHead)) }, false},
		"zero":   {func() File { return File{} }, true},
	} {
		one, other := row.file(), row.file()
		seen := map[TranscriptionStoreParams]bool{{Name: "n", File: one}: true}
		assert.True(t, seen[TranscriptionStoreParams{Name: "n", File: one}], name)
		assert.Equal(t, row.same, one == other, name)
		assert.Equal(t, one, other, name)
	}
	assert.NotEqual(t, FileFromPath("a/1.wav"), FileFromPath("b/1.wav"))
	assert.NotEqual(t, FileFromBytes("a.wav", []byte("1")), FileFromBytes("a.wav", []byte("2")))
}

// A form can be checked before its file is uploaded: with a context that has ended, nothing is sent, but what is wrong
// is said first. A user's reader is not touched.
func TestFilesAreCheckedBeforeTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "scan.mp3")
	require.NoError(t, os.WriteFile(path, []byte("%PDF-1.7"), 0o600))
	c, requests := capturing(t)
	ended := cancelledContext(t)
	for _, file := range []File{FileFromBytes("scan.mp3", []byte("%PDF-1.7")), FileFromPath(path)} {
		_, err := c.Transcriptions.Store(ended, TranscriptionStoreParams{File: file, Language: "en"})
		assert.ElementsMatch(t, []string{"name", "file", "language"}, fieldsOf(t, err))
	}
	sound := strings.NewReader("sound")
	assert.ErrorIs(t, transcribe(ended, c, FileFromReader("a.mp3", struct{ io.Reader }{sound})), context.Canceled)
	assert.Equal(t, 5, sound.Len())
	assert.Empty(t, *requests)
}
