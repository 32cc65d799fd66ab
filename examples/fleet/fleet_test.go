package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
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

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// command runs a command in this process.
func command(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var o, e strings.Builder
	status = run(t.Context(), args, &o, &e)
	return status, o.String(), e.String()
}

// newNode starts a NATS server in this process, which NATS_URL names.
func newNode(t *testing.T) {
	t.Helper()
	node, err := startNode(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() {
		node.Shutdown()
		node.WaitForShutdown()
	})
	t.Setenv("NATS_URL", node.ClientURL())
}

// newQueue makes a queue on a server of its own.
func newQueue(t *testing.T) *queue {
	t.Helper()
	newNode(t)
	q, err := openQueue(t.Context(), "", 1)
	require.NoError(t, err)
	t.Cleanup(q.close)
	return q
}

// newDeployment makes a queue and a service, which the environment names.
func newDeployment(t *testing.T) (*queue, *aicontenttest.Server) {
	t.Helper()
	q, srv := newQueue(t), aicontenttest.NewServer(t)
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	return q, srv
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

// outcome waits until so many jobs have ended and the queue is empty. It returns the jobs by the base names of files.
func outcome(t *testing.T, q *queue, jobs int) map[string]job {
	t.Helper()
	entries, err := q.results.WatchAll(t.Context(), jetstream.IgnoreDeletes())
	require.NoError(t, err)
	defer func() { _ = entries.Stop() }()
	byID := map[string]job{}
	for len(byID) < jobs {
		select {
		case entry := <-entries.Updates():
			if entry != nil {
				var j job
				require.NoError(t, json.Unmarshal(entry.Value(), &j))
				byID[entry.Key()] = j
			}
		case <-time.After(5 * time.Minute):
			require.Fail(t, "the jobs do not end", "%d of %d have", len(byID), jobs)
		}
	}
	require.Eventually(t, func() bool {
		info, err := q.messages.Info(t.Context())
		return err == nil && info.State.Msgs == 0
	}, time.Minute, 5*time.Millisecond)
	byFile := map[string]job{}
	for j := range maps.Values(byID) {
		byFile[filepath.Base(j.File)] = j
	}
	return byFile
}

// uploads counts the create requests that the service has seen.
func uploads(srv *aicontenttest.Server) int {
	return len(slices.DeleteFunc(srv.Requests(), func(r aicontenttest.Request) bool {
		return r.Operation != aicontenttest.TranscriptionsStore
	}))
}

// write puts a file into the folder.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// noise is a WAV file: one channel of 8 bits at 8 kHz.
func noise(seed uint64, samples uint32) string {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), 36+samples)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	b = le.AppendUint32(b, samples)
	random := rand.New(rand.NewPCG(seed, seed))
	for range samples {
		b = append(b, byte(random.Uint32()))
	}
	return string(b)
}

// recording is a small one that differs from those of other seeds.
func recording(seed uint64) string { return noise(seed, 500) }

// jobID is the ID of the job of a content.
func jobID(content string) string {
	hash := sha256.New()
	hash.Write([]byte(content))
	return idOf("", jetstream.GetObjectDigestValue(hash))
}

// A safeBuffer takes the writes of many goroutines.
type safeBuffer struct {
	mu     sync.Mutex
	buffer strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// A writer is a function that takes writes.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
