//go:build unix

package once

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pipe without a writer blocks its reader, as a file does on a network mount that hangs.
func TestDirCallsEndWithTheirContextOnAMountThatHangs(t *testing.T) {
	l := Dir(t.TempDir())
	pipe := filepath.Join(string(l.(dir)), key)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 2 * cap(fileOperations) {
		all.Go(func() {
			_, _, err := l.Get(ctx, key)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = l.Put(ctx, key, []byte("1"), "")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			for _, err := range l.(Lister).List(ctx) {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			}
		})
	}
	all.Wait()

	// The mount responds again.
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	for range cap(fileOperations) {
		fileOperations <- struct{}{}
	}
	require.NoError(t, writer.Close())
	for range cap(fileOperations) {
		<-fileOperations
	}
	require.NoError(t, os.Remove(pipe))
	_, version, err := l.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Empty(t, version)
}

func TestDirCheckNamesTheFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	require.NoError(t, os.Mkdir(path, 0o500))
	if os.Geteuid() == 0 {
		path = "/proc/self" // where even root creates no file
	}
	err := dir(path).check()
	assert.ErrorContains(t, err, fmt.Sprintf("the folder %q cannot be used: ", path))
}
