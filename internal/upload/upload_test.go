package upload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// received describes an upload that a service read.
type received struct {
	name      string
	mediaType string
	size      int64
	sum       string // SHA-256 of the file
	length    int64  // Content-Length; -1 for a chunked body
	body      int64  // bytes of the body that came
	err       error  // of reading it
}

// receive reads an upload as a service would, holding none of it.
func receive(r *http.Request) (u received) {
	u.length = r.ContentLength
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		u.err = err
		return u
	}
	counted := &countingReader{r: r.Body}
	defer func() { u.body = counted.n }()
	form := multipart.NewReader(counted, params["boundary"])
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			_, u.err = io.Copy(io.Discard, counted)
			return u
		}
		if err != nil {
			u.err = err
			return u
		}
		if part.FormName() != "file" {
			continue
		}
		u.name, u.mediaType = part.FileName(), part.Header.Get("Content-Type")
		hash := sha256.New()
		if u.size, u.err = io.Copy(hash, part); u.err != nil {
			return u
		}
		u.sum = hex.EncodeToString(hash.Sum(nil))
	}
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// service takes in uploads and remembers them. It responds with 400 where it cannot read one.
type service struct {
	url     string
	mu      sync.Mutex
	uploads []received
}

func newService(t testing.TB) *service {
	s := &service{}
	s.url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		u := receive(r)
		s.mu.Lock()
		s.uploads = append(s.uploads, u)
		s.mu.Unlock()
		if u.err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	return s
}

func (s *service) all() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.uploads...)
}

// takes posts a body and returns the upload as the service read it.
func (s *service) takes(t testing.TB, b *Body) received {
	t.Helper()
	status, sending, err := post(t.Context(), s.url, b)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.True(t, sending.Complete())
	all := s.all()
	return all[len(all)-1]
}

func serve(t testing.TB, handler http.HandlerFunc) string {
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv.URL
}

// wav returns a file with this source.
func wav(s Source) File { return File{Name: "a.wav", Source: s} }

// bodyOf makes the body of a file without problems.
func bodyOf(t testing.TB, f File) *Body {
	t.Helper()
	size, problem, err := f.Inspect(t.Context())
	require.NoError(t, err)
	require.True(t, problem.Reason == "" || problem.Waivable, "%s", problem.Reason)
	return Multipart(url.Values{"name": {"Interview"}}, "file", f, size)
}

// problemOf returns the problem of a file that has one.
func problemOf(t testing.TB, f File) Problem {
	t.Helper()
	_, problem, err := f.Inspect(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, problem.Reason)
	return problem
}

// clockOf lets a clock hear the reports of an attempt.
func clockOf(w *wire.Clock) Clock { return Clock{Reading: w.Reading, Taken: w.Taken} }

// inspect looks at a file for as long as a stall may take.
func inspect(ctx context.Context, f File, stall time.Duration) (int64, Problem, error) {
	ctx, clock := wire.NewClock(ctx, wire.Limits{Upload: true, Stall: stall, Source: ErrSource})
	defer clock.Stop()
	clock.Reading()
	return f.Inspect(ctx)
}

// stalled is the error of a file that returned no bytes for this long.
func stalled(limit time.Duration) error {
	return &wire.TimeoutError{Phase: wire.Reading, Limit: limit, Source: ErrSource}
}

// client sends as the SDK does.
var client = &http.Client{Transport: wire.New(nil, false)}

// begin opens a body for an attempt, without sending it. The end of the test ends the attempt.
func begin(
	t testing.TB, ctx context.Context, b *Body, limits wire.Limits, report func(int64),
) (*http.Request, *Sending, *wire.Clock, error) {
	limits.Upload = true
	ctx, clock := wire.NewClock(ctx, limits)
	t.Cleanup(clock.Stop)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service.test/", nil)
	require.NoError(t, err)
	s, err := b.Attach(req, clockOf(clock), report)
	t.Cleanup(func() { s.Close() })
	return req, s, clock, err
}

// attach is begin without limits, for a body that can be opened.
func attach(t testing.TB, b *Body) (*http.Request, *Sending) {
	t.Helper()
	req, s, _, err := begin(t, t.Context(), b, wire.Limits{}, nil)
	require.NoError(t, err)
	return req, s
}

// post makes one attempt, and returns its result when it is over.
func post(ctx context.Context, address string, b *Body) (status int, s *Sending, err error) {
	ctx, clock := wire.NewClock(ctx, wire.Limits{Upload: true})
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return 0, nil, err
	}
	if s, err = b.Attach(req, clockOf(clock), nil); err != nil {
		return 0, nil, err
	}
	defer s.Close()
	resp, err := client.Do(req)
	if err != nil {
		return 0, s, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, s, err
}

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

// recording is audio of which no two stretches are alike.
func recording(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16 ^ i>>24*7)
	}
	copy(data, "RIFF\xff\xff\xff\xffWAVEfmt ")
	return data
}

// sparse is a file of any size that takes no room, with marks that a lost or doubled block would move.
func sparse(t testing.TB, size int64) string {
	path := filepath.Join(t.TempDir(), "sparse.wav")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(size))
	for i, at := range []int64{0, size / 3, size / 2, size - 16} {
		_, err = f.WriteAt(append([]byte("RIFF0000WAVEmar"), byte(i)), at)
		require.NoError(t, err)
	}
	return path
}

// The readers below have the methods of their fields, and no others.
type (
	onlyReader struct{ io.Reader }
	onlySeeker struct{ io.ReadSeeker }
	readerAt   struct {
		io.Reader
		io.ReaderAt
	}
	sized struct {
		io.Reader
		n int
	}
)

func (s sized) Len() int { return s.n }

// unseekable is a file whose position cannot be told, such as a terminal.
type unseekable struct{ io.Reader }

func (unseekable) Seek(int64, int) (int64, error) { return 0, errors.New("illegal seek") }

// endless is a file whose end cannot be told, such as one that is fetched in pieces.
type endless struct{ io.ReadSeeker }

func (e endless) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return 0, errors.New("illegal seek")
	}
	return e.ReadSeeker.Seek(offset, whence)
}

// shortSeeker says that its end is its beginning, as a file of /proc does.
type shortSeeker struct{ *bytes.Reader }

func (s shortSeeker) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		whence = io.SeekStart
	}
	return s.Reader.Seek(offset, whence)
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

type miscounting struct{}

func (miscounting) Read(p []byte) (int, error) { return len(p) + 1, nil }

// open returns an open file that stands at its start.
func open(t testing.TB, data []byte) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "open.wav"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	_, err = f.Write(data)
	require.NoError(t, err)
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	return f
}

// readable is a file of some kind, with the facts that can be known of it.
type readable struct {
	File
	sized bool // its size is known
	again bool // it can be sent twice
}

// filesOf returns a file of every kind that holds data.
func filesOf(t testing.TB, data []byte) map[string]readable {
	dir := t.TempDir()
	path := filepath.Join(dir, "interview.wav")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	long := append([]byte("<!DOCTYPE html> read before"), data...)
	size, before := int64(len(data)), int64(len(long)-len(data))
	middle := func(r io.ReadSeeker) io.ReadSeeker {
		_, err := r.Seek(before, io.SeekStart)
		require.NoError(t, err)
		return r
	}
	piped, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { piped.Close() })
	go func() {
		_, _ = w.Write(data)
		w.Close()
	}()
	sent := func(s Source, sized, again bool) readable {
		return readable{File{Name: "interview.wav", Source: s}, sized, again}
	}
	declared := func(s Source, again bool) readable {
		return readable{File{Name: "interview.wav", Size: size, Source: s}, true, again}
	}
	reader := func() io.Reader { return onlyReader{bytes.NewReader(data)} }
	// telling returns a file of a file system that tells a size of its own.
	telling := func(mode fs.FileMode, size int64) Source {
		files := fstest.MapFS{"interview.wav": {Data: data, Mode: mode}}
		wrap := func(f fs.File, _ int) fs.File { return ofSize{f, size} }
		return FS(&guarded{FS: files, wrap: wrap}, "interview.wav")
	}
	const object = fs.ModeIrregular
	inMemory := fstest.MapFS{"a/interview.wav": {Data: data}}
	section := io.NewSectionReader(bytes.NewReader(long), before, size)
	return map[string]readable{
		"path":                        sent(Path(path), true, true),
		"directory as fs":             sent(FS(os.DirFS(dir), "interview.wav"), true, true),
		"fs in memory":                sent(FS(inMemory, "a/interview.wav"), true, true),
		"object":                      sent(telling(object, size), true, true),
		"object without a size":       sent(telling(object, -1), false, true),
		"object of size 0":            sent(telling(object, 0), false, true),
		"object declared":             declared(telling(object, 0), true),
		"object of another size":      declared(telling(object, 2*size), true),
		"file of /proc":               sent(telling(0, 0), false, true),
		"file of /proc, declared":     declared(telling(0, 0), true),
		"open file of /proc":          sent(Reader(shortSeeker{bytes.NewReader(data)}), false, true),
		"open file of /proc, told":    declared(Reader(shortSeeker{bytes.NewReader(data)}), true),
		"bytes":                       sent(Bytes(data), true, true),
		"bytes.Reader":                sent(Reader(bytes.NewReader(data)), true, true),
		"bytes.Reader, declared":      declared(Reader(bytes.NewReader(data)), true),
		"bytes.Buffer":                sent(Reader(bytes.NewBuffer(bytes.Clone(data))), true, false),
		"strings.Reader":              sent(Reader(strings.NewReader(string(data))), true, true),
		"open file":                   sent(Reader(open(t, data)), true, true),
		"open file in the middle":     sent(Reader(middle(open(t, long))), true, true),
		"seeker":                      sent(Reader(onlySeeker{bytes.NewReader(data)}), true, true),
		"seeker in the middle":        sent(Reader(onlySeeker{middle(bytes.NewReader(long))}), true, true),
		"section":                     sent(Reader(section), true, true),
		"Len":                         sent(Reader(sized{reader(), len(data)}), true, false),
		"negative Len":                sent(Reader(sized{reader(), -7}), false, false),
		"Len of 0":                    sent(Reader(sized{reader(), 0}), false, false),
		"Len of 0, declared":          declared(Reader(sized{reader(), 0}), false),
		"Len of a part, declared":     declared(Reader(sized{reader(), len(data) / 2}), false),
		"declared":                    declared(Reader(reader()), false),
		"reader":                      sent(Reader(reader()), false, false),
		"ReaderAt":                    sent(Reader(readerAt{reader(), bytes.NewReader(data)}), false, false),
		"seeker that cannot":          sent(Reader(unseekable{bytes.NewReader(data)}), false, false),
		"seeker without an end":       sent(Reader(endless{bytes.NewReader(data)}), false, true),
		"end of file with data":       sent(Reader(iotest.DataErrReader(bytes.NewReader(data))), false, false),
		"half of the bytes asked for": sent(Reader(iotest.HalfReader(bytes.NewReader(data))), false, false),
		"pipe":                        sent(Reader(piped), false, false),
	}
}

// guarded counts the files that are opened and not closed.
type guarded struct {
	fs.FS
	wrap func(f fs.File, nth int) fs.File // of the nth file opened, from 1; nil leaves it

	mu     sync.Mutex
	opened int
	open   int
}

func (g *guarded) Open(name string) (fs.File, error) {
	f, err := g.FS.Open(name)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened++
	g.open++
	if g.wrap != nil {
		f = g.wrap(f, g.opened)
	}
	return &guardedFile{File: f, of: g}, nil
}

func (g *guarded) counts() (opened, open int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened, g.open
}

type guardedFile struct {
	fs.File
	of     *guarded
	closed bool
}

func (f *guardedFile) Close() error {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.closed {
		panic("closed twice")
	}
	f.closed = true
	f.of.open--
	return f.File.Close()
}

// unknown is a file that cannot be asked for its size.
type unknown struct {
	fs.File
	err error
}

func (u *unknown) Stat() (fs.FileInfo, error) { return nil, u.err }

// ofSize is a file that tells a size of its own.
type ofSize struct {
	fs.File
	size int64
}

func (f ofSize) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return sizeInfo{info, f.size}, err
}

type sizeInfo struct {
	fs.FileInfo
	size int64
}

func (i sizeInfo) Size() int64 { return i.size }

// changed is a regular file whose content does not have its size.
type changed struct {
	fs.File
	content io.Reader
}

func (c *changed) Read(p []byte) (int, error) { return c.content.Read(p) }

// changing is a file that was whole when it was looked at and has other content afterwards.
func changing(data []byte, content func() io.Reader) *guarded {
	return &guarded{FS: fstest.MapFS{"a.wav": {Data: data}}, wrap: func(f fs.File, nth int) fs.File {
		if nth == 1 {
			return f
		}
		return &changed{f, content()}
	}}
}

// A file must arrive byte by byte, whatever it is read from, with its length in the header if that can be known.
func TestFilesOfEveryKindArrive(t *testing.T) {
	s := newService(t)
	for _, size := range []int{
		0, 1, headSize - 1, headSize, headSize + 1, pieceSize - 1, pieceSize, pieceSize + 1, 1 << 20,
	} {
		data := recording(size)
		for kind, file := range filesOf(t, data) {
			body := bodyOf(t, file.File)
			got := s.takes(t, body)
			assert.Equal(t, sum(data), got.sum, "%s of %d bytes", kind, size)
			assert.Equal(t, "interview.wav", got.name, kind)
			// A file that ends within the first bytes is in memory by then.
			if file.sized || size < headSize {
				assert.Equal(t, got.body, got.length, "%s of %d bytes", kind, size)
				assert.EqualValues(t, size, body.FileSize, kind)
			} else {
				assert.EqualValues(t, -1, got.length, "%s of %d bytes", kind, size)
				assert.EqualValues(t, -1, body.FileSize, kind)
			}
			assert.Equal(t, file.again, body.Replayable(), kind)
		}
	}
}

// Many uploads at once share nothing: each arrives as it is.
func TestUploadsAtOnceDoNotMix(t *testing.T) {
	s := newService(t)
	var all sync.WaitGroup
	want, got := map[string]bool{}, map[string]bool{}
	for i := range 32 {
		data := recording(300_000 + i)
		want[sum(data)] = true
		source := Bytes(data)
		if i%2 == 0 {
			source = Reader(onlyReader{bytes.NewReader(data)})
		}
		all.Go(func() {
			_, _, err := post(t.Context(), s.url, bodyOf(t, wav(source)))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, u := range s.all() {
		got[u.sum] = true
	}
	assert.Equal(t, want, got)
}

// opener is a source in a function.
type opener func(in *input) error

func (o opener) open(in *input) error { return o(in) }

// opening returns a source with this reader, of a known size or -1.
func opening(r io.Reader, size int64) Source {
	return opener(func(in *input) error {
		in.r, in.size = r, size
		return nil
	})
}

// inBubble runs a test in a bubble, as a subtest.
func inBubble(t *testing.T, name string, do func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, do) })
}
