package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
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

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// later returns a file whose content is before at the first look, and content when it is sent.
func later(before []byte, content io.Reader) Source {
	opened := 0
	return FS(fakes.FS(func(name string) (fs.File, error) {
		f, err := fstest.MapFS{name: {Data: before}}.Open(name)
		if opened++; opened > 1 {
			return changed{f, content}, err
		}
		return f, err
	}), "a.wav")
}

// changed is a file whose content does not have its size.
type changed struct {
	fs.File
	content io.Reader
}

func (c changed) Read(p []byte) (int, error) { return c.content.Read(p) }

// A recording that is cut off must never be transcribed, and billed, as if it were complete.
func TestFileThatFailsOrChangesNeverLooksComplete(t *testing.T) {
	t.Parallel()
	const size = 200_000
	const fewer, more = "it has fewer than the 200000 bytes", "it has more than the 200000 bytes"
	data := recording(size)
	from := func(readers ...io.Reader) io.Reader { return io.MultiReader(readers...) }
	part := func(n int) io.Reader { return bytes.NewReader(data[:n]) }
	bad := iotest.ErrReader(errors.New("bad sector"))
	idle := readerFunc(func([]byte) (int, error) { return 0, nil })
	plain := func() Source { return Reader(onlyReader{bytes.NewReader(data)}) }
	tape := bytes.NewReader(data)
	rewinds := 0
	for name, row := range map[string]struct {
		source   Source
		declared int64
		text     string
		offset   int
	}{
		"a file that shrank":            {later(data, part(150_000)), 0, fewer, 150_000},
		"a file that shrank by a byte":  {later(data, part(size-1)), 0, fewer, size - 1},
		"a file that shrank to nothing": {later(data, part(0)), 0, fewer, 0},
		"a file that grew":              {later(data, from(part(size), strings.NewReader("x"))), 0, more, size},
		"a file that grew from nothing": {later(nil, part(10)), 0, "it has more than the 0 bytes", 0},
		"a read error":                  {later(data, from(part(1000), bad)), 0, "bad sector", 1000},
		"a read error at the start":     {later(data, bad), 0, "bad sector", 0},
		"a read error at the end":       {later(data, from(part(size), bad)), 0, "bad sector", size},
		"no bytes and no error":         {later(data, from(part(1000), idle)), 0, io.ErrNoProgress.Error(), 1000},
		"less than declared":            {plain(), size + 1, "fewer than the 200001 bytes", size},
		"more than declared":            {plain(), size - 1, "more than the 199999 bytes", size - 1},
		"a chunked file that fails":     {Reader(from(part(size), bad)), 0, "bad sector", size},
		"a seeker that cannot rewind": {Reader(seekerFunc{tape, func(offset int64, whence int) (int64, error) {
			if whence == io.SeekStart {
				if rewinds++; rewinds > 1 {
					return 0, errors.New("the tape is torn")
				}
			}
			return tape.Seek(offset, whence)
		}}), 0, "the tape is torn", 0},
	} {
		rewinds = 0
		req, sending := attach(t, t.Context(), bodyOf(t, File{Name: "a.wav", Size: row.declared, Source: row.source}))
		got, err := io.ReadAll(req.Body)
		require.ErrorAs(t, err, new(*ReadError), name)
		assert.ErrorIs(t, err, ErrSource, name)
		assert.ErrorContains(t, err, fmt.Sprintf(`file "a.wav": at byte %d: `, row.offset), name)
		assert.ErrorContains(t, err, row.text, name)
		_, file, _ := bytes.Cut(got, []byte("audio/wav\r\n\r\n"))
		assert.True(t, len(file) <= row.offset && bytes.HasPrefix(data, file), "%s: more than the file was sent", name)
		_, again := io.ReadAll(req.Body)
		assert.Error(t, again, "%s: read on after the failure", name)
		sent := sending.End()
		assert.False(t, sent.Complete, name)
		assert.Equal(t, err, sent.Err, name)
	}
}

func TestUploadIsCompleteFromTheFirstByteOfTheClosingBoundary(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]Source{
		"bytes": Bytes(recording(1000)), "a reader": Reader(bytes.NewReader(recording(1000))),
	} {
		for extra, want := range []Sent{{File: 1000}, {Complete: true, File: 1000}} {
			req, sending := attach(t, t.Context(), bodyOf(t, wav(source)))
			_, closing := boundaryOf(t, req)
			n := req.ContentLength - int64(len(closing)) + int64(extra)
			_, err := io.CopyN(io.Discard, iotest.OneByteReader(req.Body), n)
			require.NoError(t, err)
			assert.Equal(t, want, sending.End(), "%s: %d", name, extra)
		}
	}
}

// A Read never returns bytes of the file together with bytes of the boundary: the transport may have sent none of them.
func TestReadEndsWhereTheClosingBoundaryBegins(t *testing.T) {
	t.Parallel()
	req, _ := attach(t, t.Context(), bodyOf(t, wav(Bytes(recording(1000)))))
	_, closing := boundaryOf(t, req)
	var last []byte
	for p := make([]byte, 1<<20); ; {
		n, err := req.Body.Read(p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		last = bytes.Clone(p[:n])
	}
	assert.Equal(t, closing, string(last))
}

// The clock and the progress depend on these reports.
func TestObserverHearsTheBytesTakenAndTheEnd(t *testing.T) {
	t.Parallel()
	type report struct {
		sent int64
		done bool
	}
	var reports []report
	body := bodyOf(t, wav(Bytes(recording(1000))))
	req := httptest.NewRequest(http.MethodPost, "/", nil)
	sending, err := body.Attach(req, func(sent int64, done bool) { reports = append(reports, report{sent, done}) })
	require.NoError(t, err)
	for err == nil {
		_, err = req.Body.Read(make([]byte, 600))
	}
	require.Equal(t, io.EOF, err)
	sending.End()
	assert.Equal(t, []report{
		{0, false}, {0, false}, // the head
		{0, false}, {600, false}, {600, false}, {1000, false}, // the file
		{1000, false}, {1000, true}, {1000, false}, {1000, true}, // the boundary and the end
	}, reports)
}

// A transport may read a body after its attempt has ended.
func TestNothingIsReadOrReportedAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int64{"within the head": 10, "within the file": 1000} {
		for end, do := range map[string]func(*http.Request, *Sending){
			"ended":  func(_ *http.Request, s *Sending) { s.End() },
			"closed": func(req *http.Request, _ *Sending) { req.Body.Close() },
		} {
			over := false
			body := bodyOf(t, wav(Bytes(recording(20_000))))
			req := httptest.NewRequest(http.MethodPost, "/", nil)
			sending, err := body.Attach(req, func(int64, bool) { assert.False(t, over, "reported after the end") })
			require.NoError(t, err)
			_, err = io.CopyN(io.Discard, req.Body, n)
			require.NoError(t, err)
			do(req, sending)
			over = true
			got, err := req.Body.Read(make([]byte, 10))
			assert.Equal(t, io.ErrClosedPipe, err, "%s, %s", name, end)
			assert.Zero(t, got, "%s, %s", name, end)
			assert.False(t, sending.End().Complete)
		}
	}
}

// The end of an attempt waits for a Read that returns soon, because the user may use the reader afterwards. A Read that
// hangs is left behind, and no attempt uses the reader meanwhile.
func TestEndOfTheContextEndsAReadThatHangs(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		hangs, waits time.Duration
		again        bool // the reader is free when the attempt has ended
	}{
		"for a moment": {grace / 2, grace / 2, true},
		"for an hour":  {time.Hour, grace, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := recording(100_000)
				r := bytes.NewReader(data)
				asked, hangs := make(chan struct{}, 1), true
				body := bodyOf(t, wav(Reader(seeker{readerFunc(func(p []byte) (int, error) {
					if r.Len() < 50_000 && hangs {
						hangs = false
						asked <- struct{}{}
						time.Sleep(row.hangs)
					}
					return r.Read(p[:min(len(p), 10_000)])
				}), r})))
				ctx, cancel := context.WithCancel(t.Context())
				req, sending := attach(t, ctx, body)
				go func() {
					<-asked
					cancel()
				}()
				start := time.Now()
				_, err := io.Copy(io.Discard, req.Body)
				assert.Equal(t, io.ErrClosedPipe, err)
				assert.Zero(t, time.Since(start), "the body must not wait for the reader")
				for range 2 {
					assert.False(t, sending.End().Complete)
					assert.Equal(t, row.waits, time.Since(start))
				}
				assert.Equal(t, row.again, body.Replayable())
				time.Sleep(row.hangs)
				synctest.Wait()
				assert.True(t, body.Replayable())
				req, _ = attach(t, t.Context(), body)
				got, err := io.ReadAll(req.Body)
				require.NoError(t, err)
				assert.Equal(t, 1, bytes.Count(got, data))
			})
		})
	}
}
