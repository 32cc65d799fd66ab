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
func TestProblemsOfFilesAreFoundBeforeAnythingIsSent(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.wav")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	beyond := bytes.NewReader(recording(100))
	_, err := beyond.Seek(200, io.SeekStart)
	require.NoError(t, err)
	named := func(name string) File { return File{Name: name, Source: Bytes(recording(9))} }
	typed := func(mediaType string) File {
		return File{Name: "a.wav", ContentType: mediaType, Source: Bytes(recording(9))}
	}
	reader := func(r io.Reader) File { return wav(Reader(r)) }
	broken := func(start string, err error) File {
		return reader(io.MultiReader(strings.NewReader(start), iotest.ErrReader(err)))
	}
	declared := func(size int64, s Source) File { return File{Name: "a.wav", Size: size, Source: s} }
	once := func(size int) Source { return Reader(onlyReader{bytes.NewReader(recording(size))}) }
	// shorter returns a file that is a byte shorter than its size.
	shorter := func(size int, mode fs.FileMode) File {
		files := fstest.MapFS{"a.wav": {Data: recording(size - 1), Mode: mode}}
		wrap := func(f fs.File, _ int) fs.File { return ofSize{f, int64(size)} }
		return wav(FS(&guarded{FS: files, wrap: wrap}, "a.wav"))
	}
	const irregular = fs.ModeIrregular
	object := func(size int) Source {
		return FS(fstest.MapFS{"a.wav": {Data: recording(size), Mode: irregular}}, "a.wav")
	}
	nine := Bytes(recording(9))
	boom := errors.New("the disk is on fire")
	var noFile *os.File
	var noBuffer *bytes.Buffer
	var noZip *zip.Reader
	for name, c := range map[string]struct {
		file     File
		reason   string
		waivable bool
		cause    error
	}{
		"none":                     {wav(nil), "is required", false, nil},
		"nil reader":               {reader(nil), "is required", false, nil},
		"nil file system":          {wav(FS(nil, "a.wav")), "is required", false, nil},
		"nil *bytes.Buffer":        {reader(noBuffer), "the reader is a nil *bytes.Buffer", false, nil},
		"nil *os.File":             {reader(noFile), "the reader is a nil *os.File", false, nil},
		"nil func":                 {reader(readerFunc(nil)), "the reader is a nil upload.readerFunc", false, nil},
		"nil *zip.Reader":          {wav(FS(noZip, "a.wav")), "file system is a nil *zip.Reader", false, nil},
		"empty file system":        {wav(FS(fstest.MapFS(nil), "a.wav")), "file does not exist", false, fs.ErrNotExist},
		"missing":                  {wav(Path(filepath.Join(dir, "none.wav"))), "none.wav", false, fs.ErrNotExist},
		"no path":                  {wav(Path("")), "cannot be read", false, fs.ErrNotExist},
		"directory":                {wav(Path(dir)), "is a directory", false, nil},
		"empty":                    {wav(Path(empty)), "must not be empty", true, nil},
		"empty bytes":              {wav(Bytes(nil)), "must not be empty", true, nil},
		"empty reader":             {wav(once(0)), "must not be empty", true, nil},
		"empty object":             {wav(object(0)), "must not be empty", true, nil},
		"reader after its end":     {reader(beyond), "must not be empty", true, nil},
		"a page":                   {wav(Bytes([]byte("<!DOCTYPE html>"))), "an HTML page", true, nil},
		"no name":                  {named(""), "must have a file name", false, nil},
		"blank name":               {named(" "), "must have a file name", false, nil},
		"directory for a name":     {named("recordings/"), "must have a file name", false, nil},
		"parent for a name":        {named("recordings/.."), "must have a file name", false, nil},
		"dot for a name":           {named("."), "must have a file name", false, nil},
		"line break in the name":   {named("a\r\nb.wav"), "without control characters", false, nil},
		"nul in the name":          {named("a\x00.wav"), "without control characters", false, nil},
		"name in Latin-1":          {named("caf\xe9.wav"), "UTF-8", false, nil},
		"line break in the type":   {typed("audio/wav\r\nX: y"), "control characters", false, nil},
		"space around the type":    {typed("audio/wav "), "white space", false, nil},
		"unreadable":               {broken("", boom), "at byte 0: the disk is on fire", false, boom},
		"unreadable after a bit":   {broken("RIFF", boom), "at byte 4: the disk is on fire", false, boom},
		"cut off after a bit":      {broken("RIFF", io.ErrUnexpectedEOF), "at byte 4: ", false, io.ErrUnexpectedEOF},
		"reads nothing for ever":   {reader(idleReader{}), io.ErrNoProgress.Error(), false, io.ErrNoProgress},
		"miscounts":                {reader(miscounting{}), "impossible count", false, nil},
		"lost when measured":       {reader(tape(recording(9), 1)), "gone with the tape", false, errTape},
		"shorter than its size":    {shorter(300, 0), "ended at byte 299, but its size is 300", false, nil},
		"shorter, as long as read": {shorter(headSize, 0), "ended at byte 511, but its size is 512", false, nil},
		"object, shorter":          {shorter(301, irregular), "ended at byte 300, but its size is 301", false, nil},
		"object, another size":     {declared(299, object(300)), "has 300 bytes, but its Size says 299", false, nil},
		"negative size":            {declared(-1, Bytes(nil)), "must have a Size of at least 0, not -1", false, nil},
		"another size":             {declared(10, nine), "has 9 bytes, but its Size says 10", false, nil},
		"a size of one byte":       {declared(1, nine), "has 9 bytes, but its Size says 1", false, nil},
		"another size of a seeker": {declared(8, Reader(bytes.NewReader(recording(9)))), "its Size says 8", false, nil},
		"less than declared":       {declared(10_000, once(511)), "has 511 bytes, but its Size says 10000", false, nil},
		"nothing is there":         {declared(10, once(0)), "has 0 bytes, but its Size says 10", false, nil},
		"more than one byte":       {declared(1, once(512)), "has more than the 1 bytes that its Size", false, nil},
		"more than declared":       {declared(511, once(512)), "has more than the 511 bytes that its Size", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			problem := problemOf(t, c.file)
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
	assert.Contains(t, problemOf(t, File{Source: Reader(content)}).Reason, "file name")
	assert.Equal(t, 9, content.Len())
}

// A file that was just written stands at its end: the hint says how to rewind it.
func TestFileAtItsEndSaysHowToRewindIt(t *testing.T) {
	f := open(t, nil)
	_, err := f.Write(recording(1))
	require.NoError(t, err)
	problem := problemOf(t, wav(Reader(f)))
	assert.Equal(t, "must not be empty", problem.Reason)
	assert.Contains(t, problem.Hint, "Seek(0, io.SeekStart)")
	assert.Contains(t, problem.Hint, "byte 1: ")
}

// A reader that only tells how much it still holds must be declared in full again by a second call, after one that sent
// nothing.
func TestReaderThatWasLookedAtKeepsItsSize(t *testing.T) {
	file := wav(Reader(bytes.NewBuffer(recording(20_000))))
	for range 2 {
		assert.EqualValues(t, 20_000, bodyOf(t, file).FileSize)
	}
}
