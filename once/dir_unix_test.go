//go:build unix

package once

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pipe without a writer blocks its reader, as a file does on a network mount that hangs.
func TestDirCallsEndWithTheirContextOnAMountThatHangs(t *testing.T) {
	l, pipe := newDir(t)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	hanging, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for n := range cap(fileOperations) {
		all.Go(func() {
			var err error
			if n%2 == 0 {
				_, _, err = l.Get(hanging, key)
			} else {
				_, err = l.Put(hanging, key, []byte("1"), "")
			}
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	for len(fileOperations) < cap(fileOperations) {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := l.Get(ctx, key)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	for _, err := range l.List(ctx) {
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	}
	leave()
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
	requireEntry(t, l, "", "", "without the pipe")
}

func TestNewNamesTheFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	require.NoError(t, os.Mkdir(path, 0o500))
	if os.Geteuid() == 0 {
		path = "/proc/self" // where even root creates no file
	}
	requireUnusable(t, path, "must be a usable folder: open "+path)
}
