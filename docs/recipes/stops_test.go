//go:build unix

package recipes

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

var killsStop = flag.Duration("kills.stop", time.Second, "kills: how long a process is stopped")

const (
	stopVariable = "RECIPES_STOP" // where the program stops itself
	stopLatency  = 2 * time.Second
	stopMargin   = 2 * time.Minute // what package once has in advance of the settle time
)

func init() {
	programs["stops"] = func(ctx context.Context, _ *aicontent.Client, folder string) error {
		client, err := aicontent.NewClientFromEnv(aicontent.WithMiddleware(stopping))
		if err != nil {
			return err
		}
		names, err := once.New(client, once.Dir(folder), once.WithSettleTime(killSettle))
		if err != nil {
			return err
		}
		for {
			_, _, err = names.Transcriptions.Store(ctx, talk())
			if err == nil || !aicontent.Retryable(err) {
				return err
			}
		}
	}
}

func talk() aicontent.TranscriptionStoreParams {
	content := append([]byte("RIFF\x24\x00\x00\x00WAVEfmt "), make([]byte, 4<<20)...)
	return aicontent.TranscriptionStoreParams{Name: "talk", File: aicontent.FileFromBytes("talk.wav", content)}
}

// stopping is a middleware that stops its own process.
func stopping(next http.RoundTripper) http.RoundTripper {
	var stops sync.Once
	stop := func() { stops.Do(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }) }
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			switch os.Getenv(stopVariable) {
			case "before the first byte":
				stop()
			case "in mid-upload":
				r.Body = &stoppingBody{ReadCloser: r.Body, left: 2 << 20, stop: stop}
			}
		}
		return next.RoundTrip(r)
	})
}

// stoppingBody stops after so many bytes.
type stoppingBody struct {
	io.ReadCloser
	left int
	stop func()
}

func (b *stoppingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left <= 0 {
		b.stop()
	}
	return n, err
}

// A process is stopped while it sends, as by a laptop that is closed, and then continues, or is killed. Meanwhile
// nobody else sends, or is told that nothing was sent; afterwards there is one record.
func TestProcessesThatAreStoppedStoreOneRecord(t *testing.T) {
	for _, where := range []string{"before the first byte", "in mid-upload", "behind the last byte"} {
		for _, end := range []syscall.Signal{syscall.SIGCONT, syscall.SIGKILL} {
			t.Run(where+"/"+end.String(), func(t *testing.T) {
				t.Parallel()
				stopped(t, where, end)
			})
		}
	}
}

func stopped(t *testing.T, where string, end syscall.Signal) {
	srv := aicontenttest.NewServer(t, aicontenttest.LatencyOn(aicontent.TranscriptionsStore, stopLatency))
	folder := filepath.Join(t.TempDir(), "ledger")
	var told bytes.Buffer
	cmd := command("stops", folder, srv, stopVariable+"="+where)
	cmd.Stderr = &told
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	if where == "behind the last byte" {
		for received(srv, aicontent.TranscriptionsStore) == 0 {
			<-time.After(time.Millisecond)
		}
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped(), "%v: %s", status, &told)

	over := time.After(*killsStop)
	impatient, err := once.New(srv.Client(), once.Dir(folder), once.WithSettleTime(killSettle), once.WithMaxWait(0))
	require.NoError(t, err)
	for waits := true; waits; {
		_, found, err := impatient.Transcriptions.Store(t.Context(), talk())
		if err == nil {
			assert.True(t, found, "somebody else has sent")
		} else {
			assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), err)
			assert.True(t, aicontent.Retryable(err), err)
		}
		select {
		case <-over:
			waits = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	require.NoError(t, cmd.Process.Signal(end))
	err = cmd.Wait()
	last := time.Now()
	if end == syscall.SIGCONT {
		require.NoError(t, err, &told)
	} else if !*killsEnd {
		assert.LessOrEqual(t, len(srv.Records()), 1)
		return
	}
	names, err := once.New(srv.Client(), once.Dir(folder), once.WithSettleTime(killSettle))
	require.NoError(t, err)
	_, found, err := names.Transcriptions.Store(t.Context(), talk())
	require.NoError(t, err)
	assert.Len(t, srv.Records(), 1)
	took := time.Since(last).Round(time.Second)
	assert.LessOrEqual(t, took, stopMargin+killSettle+30*time.Second)
	t.Logf("found %v, %v after the end of the process", found, took)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
