package upload

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// A Read of a regular file hangs if its disk is on a network that is gone. Neither the context nor the runtime can end
// it, so the call must leave it behind, whether it looks at the file or sends it.
func TestRegularFilesThatHang(t *testing.T) {
	address := newService(t).url
	for name, nth := range map[string]int{"looked at": 1, "sent": 2} {
		t.Run(name, func(t *testing.T) {
			hangs := fakes.HangingFile(t)
			info, err := hangs.Stat()
			require.NoError(t, err)
			require.True(t, info.Mode().IsRegular())
			opened := 0
			fsys := fakes.FS(func(name string) (fs.File, error) {
				if opened++; opened == nth {
					return hangs, nil
				}
				return fstest.MapFS{"a.wav": {Data: recording(100_000)}}.Open(name)
			})
			file := File{Name: "a.wav", Source: FS(fsys, "a.wav")}
			const stall = 20 * time.Millisecond
			size, problem, err := inspect(t.Context(), file, stall)
			if nth == 2 {
				require.NoError(t, err)
				require.Empty(t, problem)
				ctx, cancel := context.WithTimeout(t.Context(), stall)
				defer cancel()
				var sending *Sending
				_, sending, err = post(ctx, address, Multipart(nil, "file", file, size))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.False(t, sending.Complete())
				return
			}
			assert.Equal(t, &wire.TimeoutError{Phase: wire.Reading, Limit: stall, Source: ErrSource}, err)
		})
	}
}
