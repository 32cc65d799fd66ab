package upload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

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
		"a file that shrank to nothing": {later(data, part(0)), 0, fewer, 0},
		"a file that grew":              {later(data, from(part(size), strings.NewReader("x"))), 0, more, size},
		"a read error":                  {later(data, from(part(1000), bad)), 0, "bad sector", 1000},
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
