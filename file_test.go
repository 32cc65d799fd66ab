package aicontent

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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const storedInterview = `{"data":{"id":7,"name":"Interview"},"status":201}`

// upload is what a service took in of one request.
type upload struct {
	fields    map[string]string
	name      string
	mediaType string
	boundary  string
	size      int64
	sum       string // SHA-256 of the file
	length    int64  // Content-Length; -1 for a chunked body
	body      int64  // bytes of the body that came
	peer      string
	err       error // of reading it
}

// takeIn reads an upload as a service would, holding none of it.
func takeIn(r *http.Request) (u upload) {
	u = upload{fields: map[string]string{}, length: r.ContentLength, peer: r.RemoteAddr}
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		u.err = err
		return u
	}
	u.boundary = params["boundary"]
	counted := &countedBody{r: r.Body}
	defer func() { u.body = counted.n }()
	form := multipart.NewReader(counted, u.boundary)
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
			value, err := io.ReadAll(part)
			if err != nil {
				u.err = err
				return u
			}
			u.fields[part.FormName()] = string(value)
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

type countedBody struct {
	r io.Reader
	n int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// intake is a service that stores every upload it can read, and remembers it.
type intake struct {
	mu      sync.Mutex
	uploads []upload
}

func (in *intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/tenant/api/v1/transcriptions" {
		http.NotFound(w, r)
		return
	}
	u := takeIn(r)
	in.mu.Lock()
	in.uploads = append(in.uploads, u)
	in.mu.Unlock()
	if u.err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, storedInterview)
}

func (in *intake) last(t *testing.T) upload {
	in.mu.Lock()
	defer in.mu.Unlock()
	require.NotEmpty(t, in.uploads)
	return in.uploads[len(in.uploads)-1]
}

// uploadClient is a client of a service that the handler is.
func uploadClient(t testing.TB, handler http.Handler, opts ...Option) *Client {
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	c, err := NewClient(srv.URL+"/tenant", "test-key", opts...)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func storeFile(ctx context.Context, c *Client, f File, opts ...CallOption) error {
	_, err := c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "Interview", File: f}, opts...)
	return err
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

// The readers below have what their fields' methods give them, and nothing else.
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

// unseekable is a file whose position cannot be told, as a terminal's.
type unseekable struct{ io.Reader }

func (unseekable) Seek(int64, int) (int64, error) { return 0, errors.New("illegal seek") }

// filesOf is a file of every kind that holds data, and whether its size can be known beforehand.
func filesOf(t *testing.T, data []byte) map[string]func() (file File, exact bool) {
	dir := t.TempDir()
	path := filepath.Join(dir, "interview.wav")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	long := append([]byte("<!DOCTYPE html> what was read before"), data...)
	before := int64(len(long) - len(data))
	open := func(data []byte) *os.File {
		f, err := os.CreateTemp(dir, "open")
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		_, err = f.Write(data)
		require.NoError(t, err)
		_, err = f.Seek(0, io.SeekStart)
		require.NoError(t, err)
		return f
	}
	middle := func(r io.ReadSeeker) io.ReadSeeker {
		_, err := r.Seek(before, io.SeekStart)
		require.NoError(t, err)
		return r
	}
	reader := func(exact bool, r func() io.Reader) func() (File, bool) {
		return func() (File, bool) { return FileFromReader("interview.wav", r()), exact }
	}
	return map[string]func() (File, bool){
		"path":            func() (File, bool) { return FileFromPath(path), true },
		"directory as fs": func() (File, bool) { return FileFromFS(os.DirFS(dir), "interview.wav"), true },
		"fs in memory": func() (File, bool) {
			return FileFromFS(fstest.MapFS{"a/interview.wav": {Data: data}}, "a/interview.wav"), true
		},
		"bytes":                   func() (File, bool) { return FileFromBytes("interview.wav", data), true },
		"bytes.Reader":            reader(true, func() io.Reader { return bytes.NewReader(data) }),
		"bytes.Buffer":            reader(true, func() io.Reader { return bytes.NewBuffer(bytes.Clone(data)) }),
		"strings.Reader":          reader(true, func() io.Reader { return strings.NewReader(string(data)) }),
		"open file":               reader(true, func() io.Reader { return open(data) }),
		"seeker":                  reader(true, func() io.Reader { return onlySeeker{bytes.NewReader(data)} }),
		"section":                 reader(true, func() io.Reader { return io.NewSectionReader(bytes.NewReader(long), before, int64(len(data))) }),
		"Len":                     reader(true, func() io.Reader { return sized{bytes.NewReader(data), len(data)} }),
		"reader":                  reader(false, func() io.Reader { return onlyReader{bytes.NewReader(data)} }),
		"ReaderAt":                reader(false, func() io.Reader { return readerAt{bytes.NewReader(data), bytes.NewReader(data)} }),
		"seeker that cannot":      reader(false, func() io.Reader { return unseekable{bytes.NewReader(data)} }),
		"end of file with data":   reader(false, func() io.Reader { return iotest.DataErrReader(bytes.NewReader(data)) }),
		"half of what is asked":   reader(false, func() io.Reader { return iotest.HalfReader(bytes.NewReader(data)) }),
		"open file in the middle": reader(true, func() io.Reader { return middle(open(long)) }),
		"seeker in the middle":    reader(true, func() io.Reader { return onlySeeker{middle(bytes.NewReader(long))} }),
		"pipe": reader(false, func() io.Reader {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			t.Cleanup(func() { r.Close() })
			go func() {
				_, _ = w.Write(data)
				w.Close()
			}()
			return r
		}),
	}
}

// A file must arrive byte by byte, whatever it is read from, with its length in the header where that can be known.
func TestFilesOfEveryKindArrive(t *testing.T) {
	var in intake
	c := uploadClient(t, &in)
	for _, size := range []int{0, 1, headSize, 32<<10 - 1, 32 << 10, 32<<10 + 1, 1 << 20} {
		data := recording(size)
		for kind, make := range filesOf(t, data) {
			file, exact := make()
			require.NoError(t, storeFile(t.Context(), c, file, WithoutValidation()), "%s of %d bytes", kind, size)
			got := in.last(t)
			assert.Equal(t, sum(data), got.sum, "%s of %d bytes", kind, size)
			assert.Equal(t, "interview.wav", got.name, kind)
			if exact {
				assert.Equal(t, got.body, got.length, "%s of %d bytes", kind, size)
			} else {
				assert.EqualValues(t, -1, got.length, "%s of %d bytes", kind, size)
			}
		}
	}
}

// allocated is how many bytes f allocates, on all goroutines; what was freed again counts too.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// An upload must take no more memory for half a gigabyte than for a megabyte. The service is in the same process, so that
// what it allocates counts as well.
func TestLargeFilesArriveInConstantMemory(t *testing.T) {
	var in intake
	c := uploadClient(t, &in)
	require.NoError(t, storeFile(t.Context(), c, FileFromBytes("warm.wav", recording(1<<20))))
	const bound = 1 << 20
	for name, file := range map[string]func(*testing.T, string) File{
		"path": func(_ *testing.T, path string) File { return FileFromPath(path) },
		"reader that cannot seek": func(t *testing.T, path string) File {
			f, err := os.Open(path)
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
			return FileFromReader("sparse.wav", onlyReader{f})
		},
	} {
		t.Run(name, func(t *testing.T) {
			size := int64(512 << 20)
			if name != "path" {
				size = 64 << 20
			}
			path := sparse(t, size)
			f, err := os.Open(path)
			require.NoError(t, err)
			defer f.Close()
			hash := sha256.New()
			_, err = io.Copy(hash, f)
			require.NoError(t, err)

			used := allocated(func() { err = storeFile(t.Context(), c, file(t, path)) })
			require.NoError(t, err)
			t.Logf("%d bytes allocated for a file of %d", used, size)
			got := in.last(t)
			assert.Equal(t, size, got.size)
			assert.Equal(t, hex.EncodeToString(hash.Sum(nil)), got.sum)
			if name == "path" {
				assert.Less(t, used, int64(bound))
			} else {
				// A goroutine for each Read.
				assert.Less(t, used, int64(bound)+size/pumpSize*1024)
			}
		})
	}
}

// A web service must be able to pass an upload on without storing it: the part of a form, or the body itself.
func TestIncomingUploadsArePassedOn(t *testing.T) {
	data := recording(3<<20 + 5)
	var in intake
	c := uploadClient(t, &in)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if r.URL.Path == "/body" {
			err = storeFile(r.Context(), c, FileFromReader("passed.wav", r.Body))
		} else {
			form, formErr := r.MultipartReader()
			if !assert.NoError(t, formErr) {
				return
			}
			part, partErr := form.NextPart()
			if !assert.NoError(t, partErr) {
				return
			}
			err = storeFile(r.Context(), c, FileFromReader(part.FileName(), part))
		}
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer front.Close()

	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("recording", "passed.wav")
	require.NoError(t, err)
	_, _ = part.Write(data)
	require.NoError(t, writer.Close())
	for path, body := range map[string]struct {
		mediaType string
		r         io.Reader
	}{"/part": {writer.FormDataContentType(), &form}, "/body": {"audio/wav", bytes.NewReader(data)}} {
		resp, err := http.Post(front.URL+path, body.mediaType, body.r)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		assert.Equal(t, sum(data), in.last(t).sum, path)
		assert.Equal(t, "passed.wav", in.last(t).name, path)
	}
}

// The problems of files are found before anything is sent, and told apart.
func TestFileProblems(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.wav")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	beyond := bytes.NewReader(recording(100))
	_, err := beyond.Seek(200, io.SeekStart)
	require.NoError(t, err)
	reader := func(r io.Reader) File { return FileFromReader("a.wav", r) }
	boom := errors.New("the disk is on fire")
	for name, c := range map[string]struct {
		file   File
		reason string
		waived bool // by WithoutValidation
	}{
		"none":                   {File{Name: "a.wav"}, "is required", false},
		"nil reader":             {FileFromReader("a.wav", nil), "is required", false},
		"nil file system":        {FileFromFS(nil, "a.wav"), "is required", false},
		"missing":                {FileFromPath(filepath.Join(dir, "none.wav")), "no such file", false},
		"directory":              {FileFromPath(dir), "is a directory", false},
		"directory of fs":        {FileFromFS(fstest.MapFS{"a/b.wav": {}}, "a"), "is a directory", false},
		"empty":                  {FileFromPath(empty), "must not be empty", true},
		"empty bytes":            {FileFromBytes("a.wav", nil), "must not be empty", true},
		"empty reader":           {reader(onlyReader{strings.NewReader("")}), "must not be empty", true},
		"reader behind its end":  {reader(beyond), "must not be empty", true},
		"text":                   {FileFromBytes("a.wav", []byte("Dear sir or madam")), "text/plain", true},
		"no name":                {FileFromBytes("", recording(9)), "must have a file name", false},
		"blank name":             {FileFromBytes(" ", recording(9)), "must have a file name", false},
		"directory for a name":   {FileFromBytes("recordings/", recording(9)), "must have a file name", false},
		"parent for a name":      {FileFromBytes("recordings/..", recording(9)), "must have a file name", false},
		"line break in the name": {FileFromBytes("a\r\nb.wav", recording(9)), "without control characters", false},
		"nul in the name":        {FileFromBytes("a\x00.wav", recording(9)), "without control characters", false},
		"name in Latin-1":        {FileFromBytes("caf\xe9.wav", recording(9)), "UTF-8", false},
		"line break in the type": {File{Name: "a.wav", ContentType: "audio/wav\r\nX: y", source: memory(recording(9))}, "control characters", false},
		"unreadable":             {reader(iotest.ErrReader(boom)), "at byte 0: the disk is on fire", false},
		"unreadable after a bit": {reader(io.MultiReader(strings.NewReader("RIFF"), iotest.ErrReader(boom))), "at byte 4: the disk is on fire", false},
		"reads nothing for ever": {reader(idleReader{}), io.ErrNoProgress.Error(), false},
		"miscounts":              {reader(miscounting{}), errCount.Error(), false},
		"lost when rewound":      {reader(&lostSeeker{Reader: bytes.NewReader(recording(9))}), "gone with the tape", false},
	} {
		t.Run(name, func(t *testing.T) {
			client := uploadClient(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
			err := storeFile(t.Context(), client, c.file)
			var invalid *ValidationError
			require.ErrorAs(t, err, &invalid)
			require.Len(t, invalid.Problems, 1)
			assert.Equal(t, "file", invalid.Problems[0].Field)
			assert.Contains(t, invalid.Problems[0].Reason, c.reason)
			assert.Equal(t, c.waived, strings.Contains(invalid.Problems[0].Reason, "WithoutValidation"))
			assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
		})
	}
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

type miscounting struct{}

func (miscounting) Read(p []byte) (int, error) { return len(p) + 1, nil }

// lostSeeker goes to its end and not back.
type lostSeeker struct{ *bytes.Reader }

func (s *lostSeeker) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		return 0, errors.New("gone with the tape")
	}
	return s.Reader.Seek(offset, whence)
}

// Opening a named pipe waits for its writer: the call would hang where it promises an error.
func TestNamedPipesAreRefusedUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.wav")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("mkfifo is missing: ", err)
	}
	err := storeFile(t.Context(), uploadClient(t, http.NotFoundHandler()), FileFromPath(path))
	require.ErrorIs(t, err, ErrInvalid)
	assert.ErrorContains(t, err, "use FileFromReader")
}

// guarded counts what is opened and not closed.
type guarded struct {
	fs.FS
	mu     sync.Mutex
	opened int
	open   int
	wrap   func(fs.File, int) fs.File // of the nth file opened; nil leaves it
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

func (g *guarded) left() (opened, open int) {
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

// failingFile fails, or ends, when so many bytes have been read.
type failingFile struct {
	fs.File
	left int
	err  error
}

func (f *failingFile) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, f.err
	}
	n, err := f.File.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// A process that uploads for weeks must not run out of file descriptors: whatever a call comes to, it leaves no file open.
func TestFilesAreClosedOnEveryPath(t *testing.T) {
	data := recording(1 << 20)
	fsys := func() *guarded {
		return &guarded{FS: fstest.MapFS{"a.wav": {Data: data}, "a.html": {Data: []byte("<!DOCTYPE html>")}}}
	}
	failAt := func(left int, err error) *guarded {
		g := fsys()
		g.wrap = func(f fs.File, nth int) fs.File {
			if nth == 1 {
				return f
			}
			return &failingFile{f, left, err}
		}
		return g
	}
	var in intake
	refusing := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		handler http.Handler
		fsys    *guarded
		file    string
		opened  int
		failure string
	}{
		"success":           {&in, fsys(), "a.wav", 2, ""},
		"not audio":         {&in, fsys(), "a.html", 1, "text/html"},
		"refused":           {refusing(401), fsys(), "a.wav", 2, "401"},
		"refused early":     {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(422) }), fsys(), "a.wav", 2, "422"},
		"tried three times": {refusing(429), fsys(), "a.wav", 4, "429"},
		"redirected":        {refusing(307, "Location", "/elsewhere"), fsys(), "a.wav", 2, "307"},
		"read error":        {&in, failAt(1000, errors.New("bad sector")), "a.wav", 2, "bad sector"},
		"shrunk":            {&in, failAt(1000, io.EOF), "a.wav", 2, "shrunk"},
		"no answer":         {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), fsys(), "a.wav", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := uploadClient(t, c.handler, WithRetryPolicy(RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}))
			err := storeFile(t.Context(), client, FileFromFS(c.fsys, c.file))
			if name == "success" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.failure)
			}
			opened, open := c.fsys.left()
			assert.Equal(t, c.opened, opened)
			assert.Zero(t, open, "left open")
		})
	}
	t.Run("cannot connect", func(t *testing.T) {
		g := fsys()
		srv := httptest.NewServer(&in)
		srv.Close()
		client, err := NewClient(srv.URL+"/tenant", "test-key", WithRetryPolicy(RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}))
		require.NoError(t, err)
		err = storeFile(t.Context(), client, FileFromFS(g, "a.wav"))
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), "%v", err)
		opened, open := g.left()
		assert.Equal(t, 4, opened)
		assert.Zero(t, open)
	})
	t.Run("cancelled", func(t *testing.T) {
		g := fsys()
		ctx, cancel := context.WithCancel(t.Context())
		client := uploadClient(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		require.ErrorIs(t, storeFile(ctx, client, FileFromFS(g, "a.wav")), context.Canceled)
		_, open := g.left()
		assert.Zero(t, open)
	})
}

// What the user has opened is the user's to close, whatever the call comes to.
func TestReadersOfTheUserAreNeverClosed(t *testing.T) {
	var in intake
	c := uploadClient(t, &in)
	for _, data := range [][]byte{recording(100), []byte("<html>")} {
		f, err := os.CreateTemp(t.TempDir(), "open")
		require.NoError(t, err)
		_, err = f.Write(data)
		require.NoError(t, err)
		_, err = f.Seek(0, io.SeekStart)
		require.NoError(t, err)
		_ = storeFile(t.Context(), c, FileFromReader("a.wav", f))
		assert.NoError(t, f.Close(), "closed before")
	}
}
