package upload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// A recording that is cut off must never be transcribed, and billed, as if it were whole: no byte of the closing
// delimiter may be sent.
func TestFilesThatChangeWhileTheyAreSent(t *testing.T) {
	const size = 200_000
	data := recording(size)
	boom := errors.New("bad sector")
	for name, c := range map[string]struct {
		content func() io.Reader
		says    string
		offset  int64
	}{
		"shrunk":                  {func() io.Reader { return bytes.NewReader(data[:150_000]) }, "fewer than the 200000 bytes that were announced", 150_000},
		"shrunk by a byte":        {func() io.Reader { return bytes.NewReader(data[:size-1]) }, "fewer than", size - 1},
		"shrunk to nothing":       {func() io.Reader { return strings.NewReader("") }, "fewer than", 0},
		"grown":                   {func() io.Reader { return bytes.NewReader(append(bytes.Clone(data), 0)) }, "more than the 200000 bytes that were announced", size},
		"read error":              {func() io.Reader { return io.MultiReader(bytes.NewReader(data[:1000]), iotest.ErrReader(boom)) }, "bad sector", 1000},
		"read error at the start": {func() io.Reader { return iotest.ErrReader(boom) }, "bad sector", 0},
		"read error at the end":   {func() io.Reader { return io.MultiReader(bytes.NewReader(data), iotest.ErrReader(boom)) }, "bad sector", size},
		"nothing for ever":        {func() io.Reader { return io.MultiReader(bytes.NewReader(data[:1000]), idleReader{}) }, io.ErrNoProgress.Error(), 1000},
		"a wrong count":           {func() io.Reader { return io.MultiReader(bytes.NewReader(data[:1000]), miscounting{}) }, "impossible count", 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			body := bodyOf(t, File{Name: "a.wav", Source: FS(changing(data, c.content), "a.wav")})
			_, sending, err := post(t.Context(), s.url, body)
			var failed *ReadError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, ErrSource)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, fmt.Sprintf(`file "a.wav": at byte %d`, c.offset))
			assert.False(t, sending.Complete())

			req, again := attach(t, body)
			sent, err := io.ReadAll(req.Body)
			require.ErrorAs(t, err, &failed)
			assert.False(t, bytes.HasSuffix(sent, body.tail[:1]) && len(sent) > len(body.head)+int(c.offset), "a byte of the delimiter was sent")
			assert.LessOrEqual(t, len(sent), len(body.head)+size)
			_, err = req.Body.Read(make([]byte, 10))
			require.ErrorAs(t, err, &failed, "read on after the failure")
			assert.False(t, again.Complete())
		})
	}
}

// An empty file that is sent on purpose must still be empty.
func TestEmptyFilesThatGrow(t *testing.T) {
	fsys := changing(nil, func() io.Reader { return bytes.NewReader(recording(10)) })
	req, s := attach(t, bodyOf(t, File{Name: "a.wav", Source: FS(fsys, "a.wav")}))
	_, err := io.ReadAll(req.Body)
	require.ErrorContains(t, err, "at byte 0: it has more than the 0 bytes that were announced")
	assert.False(t, s.Complete())
}

// The same for a body whose length is not known, or was wrong: its last chunk must not be written.
func TestReadersThatFailWhileTheyAreSent(t *testing.T) {
	boom := errors.New("the caller hung up")
	data := func() io.Reader { return bytes.NewReader(recording(100_000)) }
	for name, c := range map[string]struct {
		r    io.Reader
		size int64
		says string
	}{
		"chunked":              {io.MultiReader(data(), iotest.ErrReader(boom)), 0, "at byte 100000: the caller hung up"},
		"less than Len says":   {sized{data(), 100_001}, 0, "at byte 100000: it has fewer than the 100001 bytes that were announced"},
		"more than Len says":   {sized{data(), 99_999}, 0, "at byte 99999: it has more than the 99999 bytes that were announced"},
		"less than declared":   {onlyReader{data()}, 100_001, "at byte 100000: it has fewer than the 100001 bytes that were announced"},
		"more than declared":   {onlyReader{data()}, 99_999, "at byte 99999: it has more than the 99999 bytes that were announced"},
		"nothing for ever":     {io.MultiReader(data(), idleReader{}), 0, "at byte 100000"},
		"a seeker that shrank": {onlySeeker{&shrinking{bytes.NewReader(recording(100_000))}}, 0, "at byte 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			_, sending, err := post(t.Context(), s.url, bodyOf(t, File{Name: "a.wav", Size: c.size, Source: Reader(c.r)}))
			require.ErrorContains(t, err, c.says)
			assert.False(t, sending.Complete())
			for _, u := range s.all() {
				assert.Error(t, u.err, "the request looked whole")
			}
		})
	}
}

// shrinking has a byte less than it says.
type shrinking struct{ *bytes.Reader }

func (s *shrinking) Seek(offset int64, whence int) (int64, error) {
	n, err := s.Reader.Seek(offset, whence)
	if whence == io.SeekEnd {
		n++
	}
	return n, err
}

// An upload that broke off is complete from the first byte of the closing delimiter on, and not before: it decides
// whether a recording may be sent, and billed, once more.
func TestCompleteFromTheFirstByteOfTheDelimiter(t *testing.T) {
	for kind, file := range filesOf(t, recording(1000)) {
		body := bodyOf(t, file.File)
		req, s := attach(t, body)
		before := make([]byte, len(body.head)+1000)
		_, err := io.ReadFull(iotest.OneByteReader(req.Body), before)
		require.NoError(t, err, kind)
		assert.False(t, s.Complete(), kind)
		n, err := req.Body.Read(before[:1])
		require.NoError(t, err, kind)
		require.Equal(t, "\r", string(before[:n]), kind)
		assert.True(t, s.Complete(), kind)
	}
}

// A piece of the body never holds bytes of the file and of the delimiter: the transport may have written none of it.
func TestPiecesEndWhereTheDelimiterBegins(t *testing.T) {
	body := bodyOf(t, File{Name: "a.wav", Source: Bytes(recording(1000))})
	req, s := attach(t, body)
	buf, total := make([]byte, 1<<20), 0
	for !s.Complete() {
		n, err := req.Body.Read(buf)
		require.NoError(t, err)
		total += n
	}
	assert.EqualValues(t, req.ContentLength, total)
	n, err := req.Body.Read(buf)
	assert.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
}

// A transport goes on reading when it has a response: after the end nothing is read from the user's reader.
func TestNothingIsReadAfterTheEnd(t *testing.T) {
	reads := 0
	r := readerFunc(func(p []byte) (int, error) {
		reads++
		return len(p), nil
	})
	req, s := attach(t, bodyOf(t, File{Name: "a.wav", Source: Reader(r)}))
	_, err := io.ReadFull(req.Body, make([]byte, 10_000))
	require.NoError(t, err)
	s.Close()
	before := reads
	_, err = req.Body.Read(make([]byte, 10))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	assert.Equal(t, before, reads)
	assert.NoError(t, req.Body.Close())
}

// The end of an attempt waits no longer than a moment for a Read that hangs, and is then not read on.
func TestTheEndDoesNotWaitForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStuckReader(recording(600))
		req, s := attach(t, bodyOf(t, File{Name: "a.wav", Source: Reader(r)}))
		failed := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, req.Body)
			failed <- err
		}()
		<-r.waits
		start := time.Now()
		go s.Close()
		assert.Equal(t, context.Canceled, <-failed, "the file did not fail")
		s.Close()
		assert.Equal(t, Grace, time.Since(start))
		assert.False(t, s.Complete())
		close(r.free)
		synctest.Wait()
	})
}

// pipeTo sends one upload over a pipe to a service, within a bubble, and returns what ended the attempt.
func pipeTo(t *testing.T, service func(net.Conn), limits wire.Limits, source Source, report func(int64)) (*wire.Clock, error) {
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer theirs.Close()
		service(theirs)
	}()
	body := bodyOf(t, File{Name: "a.wav", Source: source})
	ctx, attempt := wire.NewClock(t.Context(), limits)
	defer attempt.Stop()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service.test/", nil)
	require.NoError(t, err)
	s, err := body.Attach(req, clockOf(attempt), report)
	require.NoError(t, err)
	resp, err := transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	s.Close()
	ours.Close()
	<-served
	return attempt, err
}

// respondSlowly reads a request in pieces, with a pause before each, and responds to it.
func respondSlowly(pause time.Duration) func(net.Conn) {
	return func(nc net.Conn) {
		slow := readerFunc(func(p []byte) (int, error) {
			time.Sleep(pause)
			return nc.Read(p)
		})
		req, err := http.ReadRequest(bufio.NewReader(slow))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
}

// The error of a stalled upload says which side stalled.
func TestStallsNameTheSideThatStoodStill(t *testing.T) {
	limits := wire.Limits{Upload: true, Stall: 10 * time.Second, Source: ErrSource}
	for name, phase := range map[string]wire.Phase{"reader": wire.Reading, "network": wire.Sending} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newStuckReader(recording(100_000))
				defer synctest.Wait()
				defer close(r.free)
				source, service := Reader(r), respondSlowly(0)
				if phase == wire.Sending {
					source, service = Bytes(recording(1<<20)), func(nc net.Conn) {
						_, _ = io.ReadFull(nc, make([]byte, 100_000))
						time.Sleep(time.Minute)
					}
				}
				attempt, err := pipeTo(t, service, limits, source, nil)
				require.Error(t, err)
				var late *wire.TimeoutError
				require.ErrorAs(t, attempt.Expired(), &late)
				assert.Equal(t, phase, late.Phase)
				assert.Equal(t, phase == wire.Reading, errors.Is(late, ErrSource))
			})
		})
	}
}

// Where a transport tells of nothing, the wait for the response begins with the last byte of the body, and not before.
func TestTheWaitBeginsWithTheLastByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true, Stall: 10 * time.Second, Wait: time.Second})
		defer attempt.Stop()
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
		s, err := bodyOf(t, File{Name: "a.wav", Source: Bytes(recording(1000))}).Attach(req, clockOf(attempt), nil)
		require.NoError(t, err)
		defer s.Close()
		buf := make([]byte, 100)
		for err == nil && !s.Complete() {
			require.NoError(t, attempt.Expired())
			time.Sleep(5 * time.Second)
			_, err = req.Body.Read(buf)
		}
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		assert.Equal(t, &wire.TimeoutError{Phase: wire.Waiting, Limit: time.Second}, attempt.Expired())
	})
}

// A slow reader is no stall, and neither is a slow network, as long as both move.
func TestSlowUploadsDoNotStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := bytes.NewReader(recording(10_000))
		slow := readerFunc(func(p []byte) (int, error) {
			time.Sleep(9 * time.Second)
			return content.Read(p[:min(len(p), 1000)])
		})
		_, err := pipeTo(t, respondSlowly(9*time.Second), wire.Limits{Upload: true, Stall: 10 * time.Second}, Reader(slow), nil)
		require.NoError(t, err)
	})
}

// An upload must take no more memory for half a gigabyte than for a megabyte. The service is in the same process, so
// that what it allocates counts as well.
func TestLargeFilesArriveInConstantMemory(t *testing.T) {
	s := newService(t)
	_, _, err := post(t.Context(), s.url, bodyOf(t, File{Name: "warm.wav", Source: Bytes(recording(1 << 20))}))
	require.NoError(t, err)
	const bound = 1 << 20
	for name, c := range map[string]struct {
		size, bound int64
		source      func(path string) Source
	}{
		"path": {512 << 20, bound, Path},
		"file system": {64 << 20, bound, func(string) Source {
			return FS(fstest.MapFS{"a.wav": {Data: make([]byte, 64<<20)}}, "a.wav")
		}},
		"reader that cannot seek": {64 << 20, bound, func(path string) Source {
			f, err := os.Open(path)
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
			return Reader(onlyReader{f})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			source := c.source(sparse(t, c.size))
			used := fakes.Allocated(func() { _, _, err = post(t.Context(), s.url, bodyOf(t, File{Name: "a.wav", Source: source})) })
			require.NoError(t, err)
			t.Logf("%d bytes allocated for a file of %d", used, c.size)
			assert.Equal(t, c.size, s.last(t).size)
			assert.Less(t, used, uint64(c.bound))
		})
	}
}

// BenchmarkRead is what a transport pays to read a body, against reading the file itself.
func BenchmarkRead(b *testing.B) {
	const size = 64 << 20
	path := sparse(b, size)
	body := bodyOf(b, File{Name: "a.wav", Source: Path(path)})
	buf := make([]byte, pieceSize)
	b.Run("body", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			ctx, attempt := wire.NewClock(context.Background(), wire.Limits{Upload: true, Stall: time.Minute})
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			s, err := body.Attach(req, clockOf(attempt), nil)
			require.NoError(b, err)
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, req.Body, buf)
			require.NoError(b, err)
			s.Close()
			attempt.Stop()
		}
	})
	b.Run("file", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			f, err := os.Open(path)
			require.NoError(b, err)
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
			require.NoError(b, err)
			f.Close()
		}
	})
}

// A transport that closes a body, or goes on reading after the call has ended, must get nothing more of the user's
// data.
func TestNothingIsHandedOverAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*http.Request, *Sending){
		"closed": func(req *http.Request, _ *Sending) { require.NoError(t, req.Body.Close()) },
		"ended":  func(_ *http.Request, s *Sending) { s.Close() },
	} {
		req, s := attach(t, bodyOf(t, File{Name: "a.wav", Source: Bytes(recording(100))}))
		end(req, s)
		n, err := req.Body.Read(make([]byte, 10))
		assert.Equal(t, io.ErrClosedPipe, err, name)
		assert.Zero(t, n, name)
	}
}

// A source that was opened is no longer waited for: if nothing is taken then, the network stands still.
func TestUploadsThatAreNeverReadStallByTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := bodyOf(t, File{Name: "a.wav", Source: Bytes(recording(100))})
		ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true, Stall: time.Minute})
		defer attempt.Stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/", nil)
		require.NoError(t, err)
		s, err := body.Attach(req, clockOf(attempt), nil)
		require.NoError(t, err)
		defer s.Close()
		<-ctx.Done()
		assert.Equal(t, &wire.TimeoutError{Phase: wire.Sending, Limit: time.Minute}, attempt.Expired())
	})
}

// A body that has failed must never look complete, however often a transport reads on.
func TestFailedBodiesStayFailed(t *testing.T) {
	boom := errors.New("the disk is on fire")
	for name, c := range map[string]struct {
		size  int64
		told  int64 // by the user
		then  error // after four bytes
		text  string
		ended bool // the context has
	}{
		"broken":  {-1, 0, boom, boom.Error(), false},
		"shorter": {10, 0, io.EOF, "has fewer than the 10 bytes", false},
		"longer":  {2, 0, io.EOF, "has more than the 2 bytes that were announced", false},
		"told":    {1, 1, io.EOF, "has more than the 1 bytes that were announced", false},
		"ended":   {-1, 0, boom, context.Canceled.Error(), true},
	} {
		t.Run(name, func(t *testing.T) {
			source := opener(func() (io.Reader, int64, error) {
				return &failsOnce{r: io.MultiReader(strings.NewReader("RIFF"), iotest.ErrReader(c.then))}, c.size, nil
			})
			ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true})
			defer attempt.Stop()
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			s, err := Multipart(nil, "file", File{Name: "a.wav", Size: c.told, Source: source}, c.size).Attach(req, clockOf(attempt), nil)
			require.NoError(t, err)
			defer s.Close()
			if c.ended {
				attempt.Stop()
			}
			p := make([]byte, 1000)
			var failed error
			for range 20 {
				n, err := req.Body.Read(p)
				if failed != nil {
					require.Equal(t, failed, err)
				}
				if failed = err; err != nil {
					require.ErrorContains(t, err, c.text)
					require.Zero(t, n)
				} else {
					require.Positive(t, n, "a Read of nothing without an error")
				}
			}
			require.Error(t, failed)
			assert.False(t, s.Complete())
		})
	}
}

// A reader that ends with the context is not to blame: a file that fails is not sent again.
func TestReadersThatEndWithTheContext(t *testing.T) {
	ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true})
	r := readerFunc(func([]byte) (int, error) {
		attempt.Stop()
		return 0, errors.New("the reader was closed")
	})
	source := opener(func() (io.Reader, int64, error) { return r, -1, nil })
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	s, err := Multipart(nil, "file", File{Name: "a.wav", Source: source}, -1).Attach(req, clockOf(attempt), nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = io.Copy(io.Discard, req.Body)
	assert.Equal(t, context.Canceled, err)
}

// A context that was cancelled with io.EOF as its cause must not make half a file look whole.
func TestContextsThatEndWithEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, again := range map[string]func(*stuckReader) (int, error){
			"waits": func(r *stuckReader) (int, error) { <-r.free; return 0, io.ErrClosedPipe },
			"fails": func(*stuckReader) (int, error) { return 0, io.ErrClosedPipe },
		} {
			parent, cancel := context.WithCancelCause(t.Context())
			ctx, attempt := wire.NewClock(parent, wire.Limits{Upload: true})
			stuck := newStuckReader(nil)
			read := 0
			r := readerFunc(func(p []byte) (int, error) {
				if read++; read == 1 {
					return copy(p, "RIFF0000WAVE"), nil
				}
				cancel(io.EOF)
				return again(stuck)
			})
			source := opener(func() (io.Reader, int64, error) { return r, -1, nil })
			file := File{Name: "a.wav", Source: source}

			req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			s, err := Multipart(nil, "file", file, -1).Attach(req, clockOf(attempt), nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, req.Body)
			assert.ErrorIs(t, err, context.Canceled, name)
			s.Close()
			assert.False(t, s.Complete(), name)

			read = 0
			parent, cancel = context.WithCancelCause(t.Context())
			defer cancel(nil)
			_, _, err = file.Inspect(parent)
			assert.Error(t, err, name)
			close(stuck.free)
			attempt.Stop()
		}
	})
}

// failsOnce returns its first error once, and then goes on as if nothing had happened.
type failsOnce struct {
	r      io.Reader
	failed bool
}

func (f *failsOnce) Read(p []byte) (int, error) {
	if f.failed {
		return 0, io.EOF
	}
	n, err := f.r.Read(p)
	f.failed = err != nil
	return n, err
}

// A Read without room for a byte, which io.Reader allows, takes nothing.
func TestReadsWithoutRoom(t *testing.T) {
	req, s := attach(t, bodyOf(t, File{Name: "a.wav", Source: Bytes(recording(100))}))
	for {
		n, err := req.Body.Read(nil)
		require.NoError(t, err)
		require.Zero(t, n)
		if n, err = req.Body.Read(make([]byte, 7)); err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.Positive(t, n)
	}
	assert.True(t, s.Complete())
}

// A source that returns single bytes has progress too, and one that has grown is not reported beyond its size.
func TestProgressOfSingleBytes(t *testing.T) {
	for given, want := range map[int]int64{9: 9, 10: 10, 11: 10} {
		synctest.Test(t, func(t *testing.T) {
			r := &reports{t: t}
			ctx, attempt := wire.NewClock(t.Context(), wire.Limits{Upload: true, Stall: time.Minute})
			defer attempt.Stop()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/", nil)
			require.NoError(t, err)
			slow := readerFunc(func(p []byte) (int, error) {
				time.Sleep(time.Minute / 2)
				if given--; given < 0 {
					return 0, io.EOF
				}
				p[0] = 'x'
				return 1, nil
			})
			source := opener(func() (io.Reader, int64, error) { return slow, 10, nil })
			s, err := Multipart(nil, "file", File{Name: "a.wav", Source: source}, 10).Attach(req, clockOf(attempt), r.of(1))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, req.Body)
			s.Close()
			require.NoError(t, attempt.Expired())
			assert.Equal(t, want, r.last().sent)
		})
	}
}
