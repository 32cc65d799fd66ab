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
	"os"
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
// delimiter may be sent, and no last chunk of a body whose length is not known. An empty file that is sent on purpose
// must still be empty.
func TestFileThatFailsOrChangesIsNeverSentAsWhole(t *testing.T) {
	const size = 200_000
	data := recording(size)
	const fewer = "has fewer than the 200000 bytes that were announced"
	const more = "has more than the 200000 bytes that were announced"
	end, bad := iotest.ErrReader(io.EOF), iotest.ErrReader(errors.New("bad sector"))
	// changed returns a file that held before when it was looked at, and is read later.
	changed := func(before, content []byte, then io.Reader) func() File {
		return func() File {
			fsys := changing(before, func() io.Reader { return io.MultiReader(bytes.NewReader(content), then) })
			return wav(FS(fsys, "a.wav"))
		}
	}
	reader := func(declared int64, r func(*bytes.Reader) io.Reader) func() File {
		return func() File { return File{Name: "a.wav", Size: declared, Source: Reader(r(bytes.NewReader(data)))} }
	}
	plain := func(r *bytes.Reader) io.Reader { return onlyReader{r} }
	for name, c := range map[string]struct {
		file   func() File
		says   string
		offset int64
	}{
		"shrunk":                  {changed(data, data[:150_000], end), fewer, 150_000},
		"shrunk by a byte":        {changed(data, data[:size-1], end), fewer, size - 1},
		"shrunk to nothing":       {changed(data, nil, end), fewer, 0},
		"grown":                   {changed(data, append(bytes.Clone(data), 0), end), more, size},
		"grown from nothing":      {changed(nil, data[:10], end), "more than the 0 bytes", 0},
		"read error":              {changed(data, data[:1000], bad), "bad sector", 1000},
		"read error at the start": {changed(data, nil, bad), "bad sector", 0},
		"read error at the end":   {changed(data, data, bad), "bad sector", size},
		"nothing for ever":        {changed(data, data[:1000], idleReader{}), io.ErrNoProgress.Error(), 1000},
		"a wrong count":           {changed(data, data[:1000], miscounting{}), "impossible count", 1000},
		"less than declared":      {reader(size+1, plain), "fewer than the 200001 bytes", size},
		"more than declared":      {reader(size-1, plain), "more than the 199999 bytes", size - 1},
		"less than Len says": {reader(0, func(r *bytes.Reader) io.Reader {
			return sized{r, size + 1}
		}), "fewer than the 200001 bytes", size},
		"more than Len says": {reader(0, func(r *bytes.Reader) io.Reader {
			return sized{r, size - 1}
		}), "more than the 199999 bytes", size - 1},
		"a seeker that shrank": {reader(0, func(r *bytes.Reader) io.Reader {
			return onlySeeker{&shrinking{r}}
		}), "fewer than the 200001 bytes", size},
		"chunked, then read error": {reader(0, func(r *bytes.Reader) io.Reader {
			return io.MultiReader(r, bad)
		}), "bad sector", size},
		"chunked, then nothing for ever": {reader(0, func(r *bytes.Reader) io.Reader {
			return io.MultiReader(r, idleReader{})
		}), io.ErrNoProgress.Error(), size},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			_, sending, err := post(t.Context(), s.url, bodyOf(t, c.file()))
			var failed *ReadError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, ErrSource)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, fmt.Sprintf(`file "a.wav": at byte %d`, c.offset))
			assert.False(t, sending.Complete())
			for _, u := range s.all() {
				assert.Error(t, u.err, "the request looked whole")
			}

			body := bodyOf(t, c.file())
			req, again := attach(t, body)
			sent, err := io.ReadAll(req.Body)
			require.ErrorAs(t, err, &failed)
			whole := len(sent) > len(body.head)+int(c.offset)
			assert.False(t, bytes.HasSuffix(sent, body.tail[:1]) && whole, "a byte of the delimiter was sent")
			assert.LessOrEqual(t, len(sent), len(body.head)+size)
			_, err = req.Body.Read(make([]byte, 10))
			require.ErrorAs(t, err, &failed, "read on after the failure")
			assert.False(t, again.Complete())
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
func TestUploadIsCompleteFromTheFirstByteOfTheDelimiterOn(t *testing.T) {
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
	req, s := attach(t, bodyOf(t, wav(Bytes(recording(1000)))))
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

// A transport that closes a body, or goes on reading after the call has ended, must get nothing more of the user's
// data, and nothing is read from the user's reader.
func TestNothingIsReadOrHandedOverAfterTheEnd(t *testing.T) {
	reads := 0
	r := readerFunc(func(p []byte) (int, error) {
		reads++
		return len(p), nil
	})
	for _, source := range []Source{Bytes(recording(20_000)), Reader(r)} {
		req, s := attach(t, bodyOf(t, wav(source)))
		_, err := io.ReadFull(req.Body, make([]byte, 10_000))
		require.NoError(t, err)
		s.Close()
		before := reads
		n, err := req.Body.Read(make([]byte, 10))
		assert.Equal(t, io.ErrClosedPipe, err)
		assert.Zero(t, n)
		assert.Equal(t, before, reads)
		assert.NoError(t, req.Body.Close())
	}
	req, _ := attach(t, bodyOf(t, wav(Bytes(recording(100)))))
	require.NoError(t, req.Body.Close())
	n, err := req.Body.Read(make([]byte, 10))
	assert.Equal(t, io.ErrClosedPipe, err)
	assert.Zero(t, n)
}

// The end of an attempt waits no longer than a moment for a Read that hangs, and is then not read on.
func TestTheEndDoesNotWaitForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStuckReader(recording(600))
		req, s := attach(t, bodyOf(t, wav(Reader(r))))
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

// pipeTo sends one upload over a pipe to a service, within a bubble, and returns the clock of the attempt that ended.
func pipeTo(
	t *testing.T, service func(net.Conn), limits wire.Limits, source Source, report func(int64),
) (*wire.Clock, error) {
	transport := fakes.Piped(t, service)
	transport.DisableKeepAlives = true
	req, s, clock, err := begin(t, t.Context(), bodyOf(t, wav(source)), limits, report)
	require.NoError(t, err)
	resp, err := transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	s.Close()
	return clock, err
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
	stuck := func(nc net.Conn) {
		_, _ = io.ReadFull(nc, make([]byte, 100_000))
		time.Sleep(time.Minute)
	}
	for name, c := range map[string]struct {
		source  func(r *stuckReader) Source
		service func(net.Conn)
		phase   wire.Phase
	}{
		"reader":  {func(r *stuckReader) Source { return Reader(r) }, respondSlowly(0), wire.Reading},
		"network": {func(*stuckReader) Source { return Bytes(recording(1 << 20)) }, stuck, wire.Sending},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := newStuckReader(recording(100_000))
			defer synctest.Wait()
			defer close(r.free)
			limits := wire.Limits{Stall: 10 * time.Second, Source: ErrSource}
			clock, err := pipeTo(t, c.service, limits, c.source(r), nil)
			require.Error(t, err)
			var late *wire.TimeoutError
			require.ErrorAs(t, clock.Expired(), &late)
			assert.Equal(t, c.phase, late.Phase)
			assert.Equal(t, c.phase == wire.Reading, errors.Is(late, ErrSource))
		})
	}
}

// If a transport reports nothing, the wait for the response begins with the last byte of the body, and not before.
func TestTheWaitBeginsWithTheLastByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := wire.Limits{Stall: 10 * time.Second, Wait: time.Second}
		req, s, clock, err := begin(t, t.Context(), bodyOf(t, wav(Bytes(recording(1000)))), limits, nil)
		require.NoError(t, err)
		buf := make([]byte, 100)
		for err == nil && !s.Complete() {
			require.NoError(t, clock.Expired())
			time.Sleep(5 * time.Second)
			_, err = req.Body.Read(buf)
		}
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		assert.Equal(t, &wire.TimeoutError{Phase: wire.Waiting, Limit: time.Second}, clock.Expired())
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
		_, err := pipeTo(t, respondSlowly(9*time.Second), wire.Limits{Stall: 10 * time.Second}, Reader(slow), nil)
		require.NoError(t, err)
	})
}

// An upload must take no more memory for half a gigabyte than for a megabyte. The service is in the same process, so
// that its allocations count as well.
func TestLargeFilesArriveInConstantMemory(t *testing.T) {
	s := newService(t)
	s.takes(t, bodyOf(t, wav(Bytes(recording(1<<20)))))
	for name, c := range map[string]struct {
		size   int64
		source func(path string) Source
	}{
		"path": {512 << 20, Path},
		"file system": {64 << 20, func(string) Source {
			return FS(fstest.MapFS{"a.wav": {Data: make([]byte, 64<<20)}}, "a.wav")
		}},
		"reader that cannot seek": {64 << 20, func(path string) Source {
			f, err := os.Open(path)
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
			return Reader(onlyReader{f})
		}},
	} {
		source := c.source(sparse(t, c.size))
		var got received
		used := fakes.Allocated(func() { got = s.takes(t, bodyOf(t, wav(source))) })
		assert.Equal(t, c.size, got.size, name)
		assert.Less(t, used, uint64(1<<20), "%s: bytes allocated for a file of %d", name, c.size)
	}
}

// A source that was opened is no longer waited for: if nothing is taken then, the network stands still.
func TestUploadsThatAreNeverReadStallByTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := bodyOf(t, wav(Bytes(recording(100))))
		req, _, clock, err := begin(t, t.Context(), body, wire.Limits{Stall: time.Minute}, nil)
		require.NoError(t, err)
		<-req.Context().Done()
		assert.Equal(t, &wire.TimeoutError{Phase: wire.Sending, Limit: time.Minute}, clock.Expired())
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
		r := &failsOnce{r: io.MultiReader(bytes.NewReader([]byte("RIFF")), iotest.ErrReader(c.then))}
		body := Multipart(nil, "file", File{Name: "a.wav", Size: c.told, Source: opening(r, c.size)}, c.size)
		req, s, clock, err := begin(t, t.Context(), body, wire.Limits{}, nil)
		require.NoError(t, err)
		if c.ended {
			clock.Stop()
		}
		p := make([]byte, 1000)
		var failed error
		for range 20 {
			n, err := req.Body.Read(p)
			if failed != nil {
				require.Equal(t, failed, err, name)
			}
			if failed = err; err != nil {
				require.ErrorContains(t, err, c.text, name)
				require.Zero(t, n, name)
			} else {
				require.Positive(t, n, "%s: a Read of nothing without an error", name)
			}
		}
		require.Error(t, failed, name)
		assert.False(t, s.Complete(), name)
	}
}

// A reader that ends with the context is not to blame: a file that fails is not sent again.
func TestReaderThatEndsWithTheContextIsNotBlamed(t *testing.T) {
	var clock *wire.Clock
	source := opening(readerFunc(func([]byte) (int, error) {
		clock.Stop()
		return 0, errors.New("the reader was closed")
	}), -1)
	req, _, clock, err := begin(t, t.Context(), Multipart(nil, "file", wav(source), -1), wire.Limits{}, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, req.Body)
	assert.Equal(t, context.Canceled, err)
}

// A context that was cancelled with io.EOF as its cause must not make half a file look whole.
func TestContextThatEndsWithEOFMakesNoFileWhole(t *testing.T) {
	for name, waits := range map[string]bool{"the reader waits": true, "the reader fails": false} {
		inBubble(t, name, func(t *testing.T) {
			free := make(chan struct{})
			defer synctest.Wait()
			defer close(free)
			// ending returns a context, and a file whose second Read ends it.
			ending := func() (context.Context, File) {
				ctx, cancel := context.WithCancelCause(t.Context())
				reads := 0
				return ctx, wav(opening(readerFunc(func(p []byte) (int, error) {
					if reads++; reads == 1 {
						return copy(p, "RIFF0000WAVE"), nil
					}
					if cancel(io.EOF); waits {
						<-free
					}
					return 0, io.ErrClosedPipe
				}), -1))
			}
			ctx, file := ending()
			req, s, _, err := begin(t, ctx, Multipart(nil, "file", file, -1), wire.Limits{}, nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, req.Body)
			assert.ErrorIs(t, err, context.Canceled)
			s.Close()
			assert.False(t, s.Complete())

			ctx, file = ending()
			_, _, err = file.Inspect(ctx)
			assert.Error(t, err)
		})
	}
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
func TestReadWithoutRoomTakesNothing(t *testing.T) {
	req, s := attach(t, bodyOf(t, wav(Bytes(recording(100)))))
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
func TestProgressOfSingleBytesStopsAtTheSize(t *testing.T) {
	for given, want := range map[int]int64{9: 9, 10: 10, 11: 10} {
		synctest.Test(t, func(t *testing.T) {
			r := &reports{t: t}
			slow := readerFunc(func(p []byte) (int, error) {
				time.Sleep(time.Minute / 2)
				if given--; given < 0 {
					return 0, io.EOF
				}
				p[0] = 'x'
				return 1, nil
			})
			body := Multipart(nil, "file", wav(opening(slow, 10)), 10)
			req, s, clock, err := begin(t, t.Context(), body, wire.Limits{Stall: time.Minute}, r.of(1))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, req.Body)
			s.Close()
			require.NoError(t, clock.Expired())
			assert.Equal(t, want, r.last().sent)
		})
	}
}
