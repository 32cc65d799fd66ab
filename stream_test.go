package aicontent

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A File can be used for one call after another: what can seek is then sent from where it first stood, as it has become by then.
func TestReadersAreUsedAgain(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.wav"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(append([]byte("before"), recording(1000)...))
	require.NoError(t, err)
	_, err = f.Seek(int64(len("before")), io.SeekStart)
	require.NoError(t, err)
	var in intake
	c := uploadClient(t, &in)
	file := FileFromReader("a.wav", f)
	require.NoError(t, storeFile(t.Context(), c, file))
	assert.Equal(t, sum(recording(1000)), in.last(t).sum)
	_, err = f.WriteAt([]byte("more"), int64(len("before"))+1000)
	require.NoError(t, err)
	require.NoError(t, storeFile(t.Context(), c, file))
	assert.Equal(t, sum(append(recording(1000), "more"...)), in.last(t).sum)
}

// What cannot seek is used up, and says so before it sends half of it.
func TestReadersAreUsedUp(t *testing.T) {
	var in intake
	c := uploadClient(t, &in)
	file := FileFromReader("a.wav", onlyReader{bytes.NewReader(recording(1000))})
	require.NoError(t, storeFile(t.Context(), c, file))
	err := storeFile(t.Context(), c, file)
	require.ErrorContains(t, err, "cannot be rewound")
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
	assert.Len(t, in.uploads, 1)
}
