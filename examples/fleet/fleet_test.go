package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// command runs a command in this process.
func command(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e strings.Builder
	status = run(t.Context(), args, &o, &e)
	return status, o.String(), e.String()
}

// newNode starts a NATS server in this process, which NATS_URL names, and returns its URL.
func newNode(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, t.TempDir()
	node, err := startNode(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		node.Shutdown()
		node.WaitForShutdown()
	})
	t.Setenv("NATS_URL", node.ClientURL())
	return node.ClientURL()
}

// newQueue makes a queue on a server of its own.
func newQueue(t *testing.T) *queue {
	t.Helper()
	newNode(t, &server.Options{})
	q, err := openQueue(t.Context(), "", 1)
	require.NoError(t, err)
	t.Cleanup(q.close)
	return q
}

// newDeployment makes a queue and a service, which the environment names.
func newDeployment(t *testing.T) (*queue, *aicontenttest.Server) {
	t.Helper()
	return newQueue(t), newService(t)
}

// newService starts a service, which the environment names.
func newService(t *testing.T, opts ...aicontenttest.Option) *aicontenttest.Server {
	t.Helper()
	srv := aicontenttest.NewServer(t, opts...)
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	return srv
}

// startWorker runs jobs until stop is called, or the test ends, and then fails the test unless it ends well.
func startWorker(t *testing.T, log io.Writer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"work", "-rate", "1000", "-settle", "1s"}, io.Discard, log) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.Zero(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// enqueue queues files.
func enqueue(t *testing.T, paths ...string) {
	t.Helper()
	status, _, errOut := command(t, append([]string{"produce"}, paths...)...)
	require.Zero(t, status, errOut)
}

// filesIn returns the paths of the files in a folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return paths
}

// jobs returns the jobs by their IDs.
func jobs(t *testing.T, q *queue) map[string]job {
	t.Helper()
	keys, err := q.jobs.bucket.ListKeys(t.Context())
	require.NoError(t, err)
	byID := map[string]job{}
	for id := range keys.Keys() {
		j, _, err := q.load(t.Context(), id)
		require.NoError(t, err)
		byID[id] = j
	}
	return byID
}

// outcome waits until so many jobs have ended and the workers have nothing to do. It returns the jobs by the base names
// of their files.
func outcome(t *testing.T, q *queue, count int) map[string]job {
	t.Helper()
	byFile := map[string]job{}
	ended := 0
	require.Eventually(t, func() bool {
		info, err := q.workers.Info(t.Context())
		if err != nil || info.NumPending > 0 || info.NumAckPending > 0 {
			return false
		}
		ended = 0
		for _, j := range jobs(t, q) {
			if j.State != queued {
				ended++
			}
			byFile[filepath.Base(j.File)] = j
		}
		return ended >= count
	}, 5*time.Minute, 20*time.Millisecond)
	assert.Equal(t, count, ended)
	return byFile
}

// stored returns the number of messages that keep files.
func stored(t *testing.T, q *queue) uint64 {
	t.Helper()
	info, err := q.chunks.Info(t.Context())
	require.NoError(t, err)
	return info.State.Msgs
}

// uploads counts the create requests that the service has seen.
func uploads(srv *aicontenttest.Server) int {
	return len(slices.DeleteFunc(srv.Requests(), func(r aicontenttest.Request) bool {
		return r.Operation != aicontent.TranscriptionsStore
	}))
}

// write puts a file into the folder.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// sized is an MP3 file of so many bytes, which differs from those of other seeds.
func sized(seed, bytes int) string { return fmt.Sprintf("ID3%*d", bytes-3, seed) }

// recording is a small file.
func recording(seed int) string { return sized(seed, 500) }

// recordings writes files of so many bytes each, and returns their paths.
func recordings(t *testing.T, count, bytes int) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range count {
		paths = append(paths, write(t, dir, fmt.Sprint(i, ".mp3"), sized(i, bytes)))
	}
	return paths
}

// jobID is the ID of the job of a content.
func jobID(content string) string {
	hash := sha256.New()
	hash.Write([]byte(content))
	return idOf("", jetstream.GetObjectDigestValue(hash))
}

// A safeBuffer takes the writes of many goroutines.
type safeBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
