package recipes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func speech(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "speech.mp3")
	require.NoError(t, os.WriteFile(path, []byte("ID3 and so on"), 0o600))
	return path
}

// jobs is a queue in memory. A job that has to wait for another run waits for a minute.
type jobs struct {
	mu       sync.Mutex
	rows     map[string]job
	waiting  []string
	runs     map[string]int
	givenUp  map[string]error
	finished int
}

func newJobs(list ...job) *jobs {
	q := &jobs{rows: map[string]job{}, runs: map[string]int{}, givenUp: map[string]error{}}
	for _, j := range list {
		q.rows[j.ID] = j
		q.waiting = append(q.waiting, j.ID)
	}
	return q
}

// change changes one thing of a job, as UPDATE does.
func (q *jobs) change(id string, set func(*job)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.rows[id]
	set(&j)
	q.rows[id] = j
	return nil
}

func (q *jobs) row(id string) job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows[id]
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

func (q *jobs) Alive(id string, at time.Time) error {
	return q.change(id, func(j *job) { j.LastTry = at })
}

func (q *jobs) Done(string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished++
	return nil
}

func (q *jobs) Later(id string, _ error) error {
	time.AfterFunc(time.Minute, func() {
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

// The first run dies while the service still works on its upload. The second must not pay for another.
func TestTranscribeResumes(t *testing.T) {
	path := speech(t)
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.LateAct(504, 3*time.Minute))
		q := newJobs(job{ID: "4f1c", File: path})
		ctx, kill := context.WithTimeout(t.Context(), time.Minute)
		defer kill()
		_, err := transcribe(ctx, srv.Client(), q.row("4f1c"), q.Alive)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(q.row("4f1c").LastTry), 15*time.Second, "kept: the record may still appear")

		transcription, err := transcribe(t.Context(), srv.Client(), q.row("4f1c"), q.Alive)
		require.NoError(t, err)
		assert.Equal(t, "4f1c", transcription.Name)
		time.Sleep(5 * time.Minute) // by then the upload of the first run is a record in any case
		assert.Len(t, srv.Records(), 1)
		assert.Zero(t, q.row("4f1c").LastTry, "cleared: the record is there")
	})
}

// Somebody changes the job while it runs, as when the recording is moved. The heartbeat must not undo that.
func TestTranscribeChangesNothingOfTheJobButItsSignOfLife(t *testing.T) {
	path := speech(t)
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(),
			aicontenttest.LatencyOn(aicontenttest.TranscriptionsStore, time.Minute))
		q := newJobs(job{ID: "4f1c", File: path})
		time.AfterFunc(25*time.Second, func() {
			_ = q.change("4f1c", func(j *job) { j.File = "archive/speech.mp3" })
		})
		_, err := transcribe(t.Context(), srv.Client(), q.row("4f1c"), q.Alive)
		require.NoError(t, err)
		assert.Equal(t, "archive/speech.mp3", q.row("4f1c").File)
	})
}

// A sign of life after the end would make the next run of a finished job wait for minutes.
func TestTranscribeGivesNoSignOfLifeAfterItsEnd(t *testing.T) {
	path := speech(t)
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		q := newJobs(job{ID: "4f1c", File: path})
		slow := func(id string, at time.Time) error {
			defer time.Sleep(15 * time.Second)
			return q.Alive(id, at)
		}
		_, err := transcribe(t.Context(), srv.Client(), q.row("4f1c"), slow)
		require.NoError(t, err)
		assert.Zero(t, q.row("4f1c").LastTry)
	})
}

func TestTranscribeStopsWhenItCannotSayThatItIsAlive(t *testing.T) {
	path := speech(t)
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.Latency(time.Hour))
		full := errors.New("the disk is full")
		saved := 0
		_, err := transcribe(t.Context(), srv.Client(), job{ID: "4f1c", File: path}, func(string, time.Time) error {
			if saved++; saved == 3 {
				return full
			}
			return nil
		})
		require.ErrorIs(t, err, full)
		assert.Equal(t, 3, saved)
	})
}

// The record exists or may exist after these, so giving the job up would lose what was paid for.
func TestWorkRepeatsAJobWhoseRecordMayExist(t *testing.T) {
	path := speech(t)
	for name, fault := range map[string]aicontenttest.Fault{
		"a response that cannot be read": aicontenttest.InvalidJSON(),
		"a firewall's page":              aicontenttest.ActThenStatus(http.StatusForbidden),
		"a redirect":                     aicontenttest.RedirectTo(http.StatusFound, "https://elsewhere.example/").Acting(),
		"a proxy that waits no longer":   aicontenttest.LateAct(http.StatusGatewayTimeout, 4*time.Minute),
		"a service that is down":         aicontenttest.Status(http.StatusServiceUnavailable, "down"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
				srv.FaultOn(aicontenttest.TranscriptionsStore, 1, fault)
				q := newJobs(job{ID: "4f1c", File: path})
				require.ErrorIs(t, work(t.Context(), srv.Client(), q), io.EOF)
				assert.Equal(t, 1, q.finished, "given up: %v", q.givenUp)
				time.Sleep(5 * time.Minute) // by then LateAct has acted
				assert.Len(t, srv.Records(), 1)
			})
		})
	}
}

// The deployment's lists show a record only after the settle time, and its only response was unreadable.
func TestWorkRepeatsAJobThatIsDone(t *testing.T) {
	path := speech(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(),
			aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				if r.Request.Operation == aicontenttest.TranscriptionsList && time.Since(start) < 6*time.Minute {
					body := r.JSON().(map[string]any)
					body["data"] = []any{}
					r.SetJSON(body)
				}
			}))
		srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.InvalidJSON())
		q := newJobs(job{ID: "4f1c", File: path})
		require.ErrorIs(t, work(t.Context(), srv.Client(), q), io.EOF)
		assert.Equal(t, 1, q.finished, "given up: %v", q.givenUp)
		assert.Equal(t, 2, q.runs["4f1c"])
		assert.Len(t, srv.Records(), 1)
	})
}

func TestWorkGivesUpWhatCannotSucceed(t *testing.T) {
	path := speech(t)
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.LengthLimits)
		long := strings.Repeat("4f1c", 40)
		q := newJobs(job{ID: long, File: path}, job{ID: "gone", File: path + ".gone"}, job{ID: "4f1c", File: path})
		require.ErrorIs(t, work(t.Context(), srv.Client(), q), io.EOF)
		require.ErrorIs(t, q.givenUp[long], aicontent.ErrInvalid)
		require.ErrorIs(t, q.givenUp["gone"], aicontent.ErrFile)
		assert.Equal(t, 1, q.finished)
		assert.Equal(t, map[string]int{long: 1, "gone": 1, "4f1c": 1}, q.runs)
	})
}

// Workers die at any moment, and what they worked on is done by others.
func TestWorkersThatDieLeaveOneRecordForEachJob(t *testing.T) {
	path := speech(t)
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(),
				aicontenttest.LatencyOn(aicontenttest.TranscriptionsStore, 20*time.Second))
			srv.Chaos(seed, 0.3, passing...)
			q := newJobs(job{ID: "1", File: path}, job{ID: "2", File: path}, job{ID: "3", File: path})
			for range 3 {
				ctx, kill := context.WithTimeout(t.Context(), 30*time.Second)
				_ = work(ctx, srv.Client(), q)
				kill()
			}
			require.ErrorIs(t, work(t.Context(), srv.Client(), q), io.EOF)
			assert.Equal(t, 3, q.finished, "given up: %v", q.givenUp)
			time.Sleep(2 * time.Minute) // by then the last LateAct has acted
			assert.Len(t, srv.Records(), 3)
		})
	}
}

// passing are faults after which the same call may succeed.
var passing = []aicontenttest.Fault{
	aicontenttest.Status(500, `{"message":"Server Error"}`), aicontenttest.HTMLPage(502), aicontenttest.HTMLPage(200),
	aicontenttest.Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("1"),
	aicontenttest.ActThenStatus(504), aicontenttest.LateAct(504, time.Minute), aicontenttest.LoseResponse(),
	aicontenttest.CloseBeforeRead(), aicontenttest.CloseMidResponse(), aicontenttest.TruncatedJSON(),
}
