package upload

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The problems of files are found before anything is sent, and told apart.
func TestFileProblems(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.wav")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	beyond := bytes.NewReader(recording(100))
	_, err := beyond.Seek(200, io.SeekStart)
	require.NoError(t, err)
	named := func(name string) File { return File{Name: name, Source: Bytes(recording(9))} }
	holds := func(s Source) File { return File{Name: "a.wav", Source: s} }
	reader := func(r io.Reader) File { return holds(Reader(r)) }
	declared := func(size int64, s Source) File { return File{Name: "a.wav", Size: size, Source: s} }
	once := func(size int) Source { return Reader(onlyReader{bytes.NewReader(recording(size))}) }
	boom := errors.New("the disk is on fire")
	short := &guarded{FS: fstest.MapFS{"a.wav": {Data: recording(600)}}, wrap: func(f fs.File, _ int) fs.File {
		return &changed{f, bytes.NewReader(recording(511))}
	}}
	shorter := &guarded{FS: fstest.MapFS{"a.wav": {Data: recording(300)}}, wrap: func(f fs.File, _ int) fs.File {
		return &changed{f, bytes.NewReader(recording(299))}
	}}
	object := fstest.MapFS{"a.wav": {Data: recording(300), Mode: fs.ModeIrregular}}
	var noFile *os.File
	var noBuffer *bytes.Buffer
	var noZip *zip.Reader
	for name, c := range map[string]struct {
		file     File
		reason   string
		waivable bool
		cause    error
	}{
		"none":                        {File{Name: "a.wav"}, "is required", false, nil},
		"nil reader":                  {reader(nil), "is required", false, nil},
		"nil file system":             {holds(FS(nil, "a.wav")), "is required", false, nil},
		"nil *bytes.Buffer":           {reader(noBuffer), "the reader is a nil *bytes.Buffer", false, nil},
		"nil *os.File":                {reader(noFile), "the reader is a nil *os.File", false, nil},
		"nil func":                    {reader(readerFunc(nil)), "the reader is a nil upload.readerFunc", false, nil},
		"nil *zip.Reader":             {holds(FS(noZip, "a.wav")), "file system is a nil *zip.Reader", false, nil},
		"empty file system":           {holds(FS(fstest.MapFS(nil), "a.wav")), "file does not exist", false, fs.ErrNotExist},
		"missing":                     {holds(Path(filepath.Join(dir, "none.wav"))), "none.wav", false, fs.ErrNotExist},
		"no path":                     {holds(Path("")), "cannot be read", false, fs.ErrNotExist},
		"directory":                   {holds(Path(dir)), "is a directory", false, nil},
		"directory of fs":             {holds(FS(fstest.MapFS{"a/b.wav": {}}, "a")), "is a directory", false, nil},
		"empty":                       {holds(Path(empty)), "must not be empty", true, nil},
		"empty bytes":                 {holds(Bytes(nil)), "must not be empty", true, nil},
		"empty reader":                {reader(onlyReader{strings.NewReader("")}), "must not be empty", true, nil},
		"reader after its end":        {reader(beyond), "must not be empty", true, nil},
		"a page":                      {holds(Bytes([]byte("<!DOCTYPE html>"))), "an HTML page", true, nil},
		"no name":                     {named(""), "must have a file name", false, nil},
		"blank name":                  {named(" "), "must have a file name", false, nil},
		"directory for a name":        {named("recordings/"), "must have a file name", false, nil},
		"parent for a name":           {named("recordings/.."), "must have a file name", false, nil},
		"dot for a name":              {named("."), "must have a file name", false, nil},
		"line break in the name":      {named("a\r\nb.wav"), "without control characters", false, nil},
		"nul in the name":             {named("a\x00.wav"), "without control characters", false, nil},
		"name in Latin-1":             {named("caf\xe9.wav"), "UTF-8", false, nil},
		"line break in the type":      {File{Name: "a.wav", ContentType: "audio/wav\r\nX: y", Source: Bytes(recording(9))}, "control characters", false, nil},
		"space around the type":       {File{Name: "a.wav", ContentType: "audio/wav ", Source: Bytes(recording(9))}, "white space", false, nil},
		"unreadable":                  {reader(iotest.ErrReader(boom)), "at byte 0: the disk is on fire", false, boom},
		"unreadable after a bit":      {reader(io.MultiReader(strings.NewReader("RIFF"), iotest.ErrReader(boom))), "at byte 4: the disk is on fire", false, boom},
		"cut off after a bit":         {reader(io.MultiReader(strings.NewReader("RIFF"), iotest.ErrReader(io.ErrUnexpectedEOF))), "at byte 4: unexpected EOF", false, io.ErrUnexpectedEOF},
		"reads nothing for ever":      {reader(idleReader{}), io.ErrNoProgress.Error(), false, io.ErrNoProgress},
		"miscounts":                   {reader(miscounting{}), "impossible count", false, nil},
		"lost when measured":          {reader(&failingSeeker{bytes.NewReader(recording(9)), 1}), "gone with the tape", false, errTape},
		"shorter than its size":       {holds(FS(short, "a.wav")), "ended at byte 511, but its size is 600", false, nil},
		"a little shorter":            {holds(FS(shorter, "a.wav")), "ended at byte 299, but its size is 300", false, nil},
		"object, shorter":             {holds(FS(&guarded{FS: object, wrap: func(f fs.File, _ int) fs.File { return ofSize{f, 301} }}, "a.wav")), "ended at byte 300, but its size is 301", false, nil},
		"object, empty":               {holds(FS(fstest.MapFS{"a.wav": {Mode: fs.ModeIrregular}}, "a.wav")), "must not be empty", true, nil},
		"object, another size":        {declared(299, FS(object, "a.wav")), "has 300 bytes, but its Size says 299", false, nil},
		"negative size":               {declared(-1, Bytes(recording(9))), "must have a Size of at least 0, not -1", false, nil},
		"another size":                {declared(10, Bytes(recording(9))), "has 9 bytes, but its Size says 10", false, nil},
		"a size of one byte":          {declared(1, Bytes(recording(9))), "has 9 bytes, but its Size says 1", false, nil},
		"another size of a seeker":    {declared(8, Reader(bytes.NewReader(recording(9)))), "has 9 bytes, but its Size says 8", false, nil},
		"less than declared":          {declared(10_000, once(511)), "has 511 bytes, but its Size says 10000", false, nil},
		"nothing of what is declared": {declared(10, once(0)), "has 0 bytes, but its Size says 10", false, nil},
		"more than the byte declared": {declared(1, once(512)), "has more than the 1 bytes that its Size says", false, nil},
		"more than declared":          {declared(511, once(512)), "has more than the 511 bytes that its Size says", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, problem, err := c.file.Inspect(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, problem.Reason)
			assert.Contains(t, problem.Reason, c.reason)
			assert.Equal(t, c.waivable, problem.Waivable)
			unread := strings.HasPrefix(problem.Reason, "cannot be read")
			assert.Equal(t, unread, errors.Is(problem.Err, ErrSource))
			made := problem.Reason == "is required" || problem.Reason == "must have a file name"
			assert.Equal(t, made, strings.Contains(problem.Hint, "FileFromPath"), "a hint on how a file is made")
			if c.cause != nil {
				require.ErrorIs(t, problem.Err, c.cause)
			}
		})
	}
}

// A file whose name cannot be sent is not read: a reader may be read only once.
func TestFilesWithoutANameAreNotRead(t *testing.T) {
	content := bytes.NewReader(recording(9))
	_, problem, err := File{Source: Reader(content)}.Inspect(t.Context())
	require.NoError(t, err)
	assert.Contains(t, problem.Reason, "file name")
	assert.False(t, problem.Waivable)
	assert.Equal(t, 9, content.Len())
}

// A file that was just written stands at its end: the hint says what to do.
func TestFilesAtTheirEnd(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "written")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(recording(1))
	require.NoError(t, err)
	_, problem, err := File{Name: "a.wav", Source: Reader(f)}.Inspect(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, problem.Reason)
	assert.Equal(t, "must not be empty", problem.Reason)
	assert.Contains(t, problem.Hint, "Seek(0, io.SeekStart)")
	assert.Contains(t, problem.Hint, "byte 1: ")
}

// The size that the user declares goes into Content-Length, before what a reader happens to have buffered.
func TestDeclaredSizes(t *testing.T) {
	s := newService(t)
	data := recording(20_000)
	for name, r := range map[string]io.Reader{
		"reader":                   onlyReader{bytes.NewReader(data)},
		"Len of what is buffered":  sized{bytes.NewReader(data), 17},
		"agrees with what is told": bytes.NewReader(data),
	} {
		_, _, err := post(t.Context(), s.url, bodyOf(t, File{Name: "a.wav", Size: 20_000, Source: Reader(r)}))
		require.NoError(t, err, name)
		assert.Equal(t, s.last(t).body, s.last(t).length, name)
		assert.Equal(t, sum(data), s.last(t).sum, name)
	}
}

// A reader that only tells what it still holds must be declared in full again by a second call, after one that sent
// nothing.
func TestSizesOfReadersThatWereLookedAt(t *testing.T) {
	file := File{Name: "a.wav", Source: Reader(bytes.NewBuffer(recording(20_000)))}
	for range 2 {
		size, problem, err := file.Inspect(t.Context())
		require.NoError(t, err)
		assert.Empty(t, problem)
		assert.EqualValues(t, 20_000, size)
	}
}

// shortSeeker says that its end is its beginning, as a file of /proc does.
type shortSeeker struct{ *bytes.Reader }

func (s shortSeeker) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		whence = io.SeekStart
	}
	return s.Reader.Seek(offset, whence)
}

// A size of 0 may mean that the size is unknown: the content of a file of /proc is made when it is read. Only a file
// without content is empty.
func TestFilesThatSayTheyAreEmptyArriveWhole(t *testing.T) {
	s := newService(t)
	for _, size := range []int{1, headSize - 1, headSize, headSize + 1, 100_000} {
		data := recording(max(size, 100))[:size]
		wrap := func(f fs.File, _ int) fs.File { return ofSize{f, 0} }
		fsys := &guarded{FS: fstest.MapFS{"a.wav": {Data: data}}, wrap: wrap}
		for name, source := range map[string]func() Source{
			"file of a file system": func() Source { return FS(fsys, "a.wav") },
			"open file":             func() Source { return Reader(shortSeeker{bytes.NewReader(data)}) },
			"empty buffer":          func() Source { return Reader(sized{bytes.NewReader(data), 0}) },
		} {
			found := int64(size)
			if size >= headSize {
				found = -1
			}
			for declared, want := range map[int64]int64{0: found, int64(size): int64(size)} {
				body := bodyOf(t, File{Name: "a.wav", Size: declared, Source: source()})
				assert.Equal(t, want, body.FileSize, "%s of %d bytes", name, size)
				_, _, err := post(t.Context(), s.url, body)
				require.NoError(t, err, "%s of %d bytes", name, size)
				assert.Equal(t, sum(data), s.last(t).sum, "%s of %d bytes", name, size)
			}
		}
	}
}
