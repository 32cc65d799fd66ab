package recipes

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func speech(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "speech.mp3")
	require.NoError(t, os.WriteFile(path, []byte("ID3 and so on"), 0o600))
	return path
}

// often is how many failed runs give a job to a person.
const often = 10

// jobs is a queue in memory. Without a time for the next run, a job waits for a minute.
type jobs struct {
	mu       sync.Mutex
	rows     map[string]job
	waiting  []string
	runs     map[string]int
	failed   map[string]int
	givenUp  map[string]error
	finished int
}

func newJobs(list ...job) *jobs {
	q := &jobs{rows: map[string]job{}, runs: map[string]int{}, failed: map[string]int{}, givenUp: map[string]error{}}
	for _, j := range list {
		q.rows[j.ID] = j
		q.waiting = append(q.waiting, j.ID)
	}
	return q
}

func (q *jobs) Next(ctx context.Context) (job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		if q.finished+len(q.givenUp) == len(q.rows) {
			return job{}, io.EOF
		}
		q.mu.Unlock()
		time.Sleep(time.Second) // in a bubble
		q.mu.Lock()
		if ctx.Err() != nil {
			return job{}, ctx.Err()
		}
	}
	id := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.runs[id]++
	return q.rows[id], nil
}

func (q *jobs) Done(string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished++
	return nil
}

func (q *jobs) Later(id string, at time.Time, cause error) error {
	pause := time.Minute
	if !at.IsZero() {
		pause = time.Until(at)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if cause != nil {
		q.failed[id]++
	}
	if q.failed[id] == often {
		q.givenUp[id] = cause
		return nil
	}
	time.AfterFunc(pause, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiting = append(q.waiting, id)
	})
	return nil
}

func (q *jobs) GiveUp(id string, cause error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.givenUp[id] = cause
	return nil
}

// worker returns what a worker process has: a client of its own, and the ledger that all share.
func worker(t *testing.T, srv *aicontenttest.Server, ledger once.Ledger) *once.Client {
	names, err := once.New(srv.Client(), ledger, once.WithMaxWait(0))
	require.NoError(t, err)
	return names
}

// A worker that waits for a record holds up the other jobs. A run that ends because it would wait is no failed run.
func TestWorkTakesAnotherJobWhileARecordMayAppear(t *testing.T) {
	path := speech(t)
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		srv.FaultOn(aicontent.TranscriptionsStore, 1, aicontenttest.LateAct(http.StatusGatewayTimeout, time.Minute))
		q := newJobs(job{ID: "late", File: path}, job{ID: "other", File: path})
		start := time.Now()
		require.ErrorIs(t, work(t.Context(), worker(t, srv, once.InMemory()), q), io.EOF)
		assert.Equal(t, 2, q.finished, "given up: %v", q.givenUp)
		assert.Equal(t, []string{"other", "late"}, []string{srv.Records()[0].Name, srv.Records()[1].Name})
		assert.Less(t, time.Since(start), 2*time.Minute)
		assert.LessOrEqual(t, q.runs["late"], 9, "one when it is worth it, not one a second")
		assert.Zero(t, q.failed["late"])
	})
}

// Workers are stopped at each deployment. If that counted as a failed run, a sound job would go to a person.
func TestWorkThatIsStoppedIsNoFailedRun(t *testing.T) {
	path := speech(t)
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		q, ledger := newJobs(job{ID: "4f1c", File: path}), once.InMemory()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.ErrorIs(t, work(ctx, worker(t, srv, ledger), q), context.DeadlineExceeded)
		assert.Zero(t, q.failed["4f1c"])
		require.ErrorIs(t, work(t.Context(), worker(t, srv, ledger), q), io.EOF)
		assert.Equal(t, 1, q.finished, "given up: %v", q.givenUp)
		assert.Len(t, srv.Records(), 1)
	}, aicontenttest.LatencyOn(aicontent.TranscriptionsStore, time.Minute))
}

func TestWorkGivesUpWhatCannotSucceed(t *testing.T) {
	path := speech(t)
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		long := strings.Repeat("4f1c", 40)
		q := newJobs(job{ID: long, File: path}, job{ID: "gone", File: path + ".gone"}, job{ID: "4f1c", File: path})
		require.ErrorIs(t, work(t.Context(), worker(t, srv, once.InMemory()), q), io.EOF)
		require.ErrorIs(t, q.givenUp[long], aicontent.ErrInvalid)
		require.ErrorIs(t, q.givenUp["gone"], aicontent.ErrFile)
		assert.Equal(t, 1, q.finished)
		assert.Equal(t, map[string]int{long: 1, "gone": 1, "4f1c": 1}, q.runs)
	}, aicontenttest.LengthLimits)
}
