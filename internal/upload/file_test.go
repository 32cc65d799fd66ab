package upload

import (
	"errors"
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

func TestFileThatCannotBeReadIsAReadError(t *testing.T) {
	t.Parallel()
	boom := errors.New("bad sector")
	broken := Reader(io.MultiReader(strings.NewReader("RIFF"), iotest.ErrReader(boom)))
	shorter := FS(fakes.FS(func(name string) (fs.File, error) {
		f, err := fstest.MapFS{"a.wav": {Data: recording(8)}}.Open(name)
		return statFile{File: f, size: 9}, err
	}), "a.wav")
	for text, row := range map[string]struct {
		source Source
		cause  error
	}{
		"at byte 4: bad sector":                      {broken, boom},
		"at byte 0: open a.wav: file does not exist": {FS(fstest.MapFS{}, "a.wav"), fs.ErrNotExist},
		"at byte 8: it ended, but its size is 9":     {shorter, ErrSource},
	} {
		_, _, err := File{Name: `C:\calls\a.wav`, Source: row.source}.Look(t.Context())
		require.ErrorAs(t, err, new(*ReadError))
		assert.ErrorIs(t, err, ErrSource)
		assert.ErrorIs(t, err, row.cause)
		assert.ErrorContains(t, err, `file "a.wav": `+text)
	}
}
