package upload

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// The readers below have the methods of their fields, and no others.
type (
	onlyReader struct{ io.Reader }
	onlySeeker struct{ io.ReadSeeker }
	sized      struct {
		io.Reader
		n int
	}
)

func (s sized) Len() int { return s.n }

// seekerFunc replaces the Seek of a reader.
type seekerFunc struct {
	*bytes.Reader
	seek func(offset int64, whence int) (int64, error)
}

func (s seekerFunc) Seek(offset int64, whence int) (int64, error) { return s.seek(offset, whence) }

// statFile is a file with another size and mode.
type statFile struct {
	fs.File
	fs.FileInfo
	size int64
	mode fs.FileMode
}

func (f statFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f statFile) Size() int64                { return f.size }
func (f statFile) Mode() fs.FileMode          { return f.mode }
func (f statFile) IsDir() bool                { return false }

// openFile returns an open file with data, at its start.
func openFile(t testing.TB, data []byte) *os.File {
	path := filepath.Join(t.TempDir(), "open.wav")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestFilesOfEveryKindArriveWithTheirLength(t *testing.T) {
	t.Parallel()
	const before = "read before"
	for _, size := range []int{0, 1, HeadSize - 1, HeadSize, HeadSize + 1, bufferSize, 3 * bufferSize} {
		data := recording(size)
		memory := fstest.MapFS{"a.wav": {Data: data}}
		long := append([]byte(before), data...)
		ahead := func(r io.ReadSeeker) io.ReadSeeker {
			_, err := r.Seek(int64(len(before)), io.SeekStart)
			require.NoError(t, err)
			return r
		}
		// stating returns a file whose Stat tells another size and mode.
		stating := func(told int64, mode fs.FileMode) Source {
			return FS(fakes.FS(func(name string) (fs.File, error) {
				f, err := memory.Open(name)
				return statFile{File: f, size: told, mode: mode}, err
			}), "a.wav")
		}
		// seeking returns a reader whose Seek fails, or tells an end of 0, for one whence.
		seeking := func(whence int, err error) Source {
			r := bytes.NewReader(data)
			return Reader(seekerFunc{r, func(offset int64, w int) (int64, error) {
				if w == whence {
					return 0, err
				}
				return r.Seek(offset, w)
			}})
		}
		illegal := errors.New("illegal seek")
		once := func() io.Reader { return onlyReader{bytes.NewReader(data)} }
		const object = fs.ModeIrregular
		told := int64(size)
		for name, row := range map[string]struct {
			source Source
			size   int64 // as the user declares it
			known  bool  // the length is announced
			again  bool
		}{
			"a path":                       {Path(openFile(t, data).Name()), 0, true, true},
			"a file system":                {FS(memory, "a.wav"), 0, true, true},
			"bytes":                        {Bytes(data), 0, true, true},
			"an object":                    {stating(told, object), 0, true, true},
			"an object without a size":     {stating(-1, object), 0, false, true},
			"a file of size 0":             {stating(0, 0), 0, false, true},
			"an open file, partly read":    {Reader(ahead(openFile(t, long))), 0, true, true},
			"a seeker, partly read":        {Reader(onlySeeker{ahead(bytes.NewReader(long))}), 0, true, true},
			"a seeker whose end is 0":      {seeking(io.SeekEnd, nil), 0, true, true},
			"a seeker without an end":      {seeking(io.SeekEnd, illegal), told, true, true},
			"a seeker without a position":  {seeking(io.SeekCurrent, illegal), told, true, false},
			"a bytes.Buffer":               {Reader(bytes.NewBuffer(bytes.Clone(data))), 0, true, false},
			"a reader":                     {Reader(once()), 0, false, false},
			"a reader, declared":           {Reader(once()), told, true, false},
			"a reader with a part's Len":   {Reader(sized{once(), size / 2}), told, true, false},
			"the end with the last byte":   {Reader(iotest.DataErrReader(once())), 0, false, false},
			"a reader that hesitates once": {Reader(io.MultiReader(&hesitant{}, once())), 0, false, false},
		} {
			body := bodyOf(t, File{Name: "a.wav", Size: row.size, Source: row.source})
			req, sending := attach(t, t.Context(), body)
			_, closing := boundaryOf(t, req)
			got, err := io.ReadAll(req.Body)
			require.NoError(t, err, "%s of %d bytes", name, size)
			require.True(t, bytes.HasSuffix(got, []byte("\r\n\r\n"+string(data)+closing)), "%s of %d bytes", name, size)
			assert.NotContains(t, string(got), before, name)
			assert.Equal(t, Sent{Complete: true, File: told}, sending.End(), name)
			// The first look reads a short file whole.
			want := int64(-1)
			if row.known || size < HeadSize {
				want = int64(len(got))
				assert.Equal(t, told, body.FileSize, "%s of %d bytes", name, size)
			}
			assert.Equal(t, want, req.ContentLength, "%s of %d bytes", name, size)
			assert.Equal(t, row.again, body.Replayable(), name)
			if row.again {
				again, _ := attach(t, t.Context(), body)
				second, err := io.ReadAll(iotest.HalfReader(again.Body))
				require.NoError(t, err)
				require.True(t, bytes.Equal(got, second), "%s of %d bytes: another attempt differs", name, size)
			}
		}
	}
}

// hesitant returns nothing, without an error, and then its end.
type hesitant struct{ asked bool }

func (h *hesitant) Read([]byte) (int, error) {
	if h.asked {
		return 0, io.EOF
	}
	h.asked = true
	return 0, nil
}

// A process that uploads for weeks must not run out of file descriptors.
func TestFilesAreClosedOnEveryPath(t *testing.T) {
	t.Parallel()
	whole := fstest.MapFS{"a.wav": {Data: recording(1 << 20)}, "folder/a.wav": {}}
	for name, row := range map[string]struct {
		path string
		stat error
		read int64 // bytes of the body
	}{
		"sent":                  {"a.wav", nil, 2 << 20},
		"ended within the file": {"a.wav", nil, 1000},
		"never read":            {"a.wav", nil, 0},
		"a folder":              {"folder", nil, 0},
		"without a size":        {"a.wav", errors.New("stale handle"), 0},
	} {
		opened, closed := 0, 0
		file := wav(FS(fakes.FS(func(name string) (fs.File, error) {
			f, err := whole.Open(name)
			opened++
			return closing{f, row.stat, &closed}, err
		}), row.path))
		size, _, err := file.Look(t.Context())
		if err == nil {
			req, sending := attach(t, t.Context(), Multipart(nil, "file", file, size))
			_, _ = io.CopyN(io.Discard, req.Body, row.read)
			sending.End()
		}
		assert.Equal(t, opened, closed, name)
		assert.Positive(t, opened, name)
	}
}

// closing is a file that counts its Close, and whose Stat may fail.
type closing struct {
	fs.File
	stat   error
	closed *int
}

func (c closing) Close() error { *c.closed++; return c.File.Close() }

func (c closing) Stat() (fs.FileInfo, error) {
	info, err := c.File.Stat()
	return info, errors.Join(err, c.stat)
}

// Opening a named pipe would wait for a writer, and a device has no end or no bytes.
func TestPathThatIsNoRegularFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, os.DevNull} {
		_, _, err := wav(Path(path)).Look(t.Context())
		require.ErrorIs(t, err, ErrSource)
		assert.ErrorContains(t, err, "is not a regular file")
	}
	_, _, err := wav(Path(filepath.Join(dir, "none.wav"))).Look(t.Context())
	require.ErrorIs(t, err, ErrSource)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
