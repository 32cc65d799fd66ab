package once_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// Whoever sets a deadline, or has a limit of 60 requests a minute, relies on the table in the package doc.
func TestHowLongACallTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault          kit.Fault // of the first create request
		killed         bool      // 30 seconds after that began; another process calls again
		lists, creates int
		took           time.Duration // by the last call
		outcome        aicontent.Outcome
	}{
		"504 at once, and no record":              {kit.Status(504, ""), false, 36, 1, 15 * time.Minute, aicontent.OutcomeNotSent},
		"no response, and no record":              {kit.Stall(kit.BeforeRead), false, 36, 1, 25 * time.Minute, aicontent.OutcomeNotSent},
		"504 at once, and the record after 8 min": {kit.LateAct(504, 8*time.Minute), false, 22, 1, 481 * time.Second, aicontent.OutcomeDone},
		"killed, and no record":                   {kit.Stall(kit.BeforeRead), true, 37, 2, 1230 * time.Second, aicontent.OutcomeDone},
		"killed, and the record after 8 min":      {kit.LateAct(504, 8*time.Minute), true, 25, 1, 451 * time.Second, aicontent.OutcomeDone},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.FaultOn(kit.ImagesStore, 1, c.fault)
				params := aicontent.ImageStoreParams{Name: "order-4711", Description: "A whale", Resolution: "512x512"}
				began := time.Now()
				if c.killed {
					first := w.process(t)
					time.AfterFunc(30*time.Second, first.kill)
					_, _, err := first.Images.Store(first, params)
					require.Error(t, err)
					began = time.Now()
				}
				names, err := once.New(w.Client(), w.Ledger)
				require.NoError(t, err)
				_, _, err = names.Images.Store(t.Context(), params)
				assert.Equal(t, c.outcome, aicontent.OutcomeOf(err), err)
				assert.Equal(t, c.took, time.Since(began).Truncate(time.Second))

				count := map[kit.Operation]int{}
				for _, request := range w.Requests() {
					count[request.Operation]++
				}
				assert.Equal(t, c.creates, count[kit.ImagesStore], "create requests")
				assert.Equal(t, c.lists, count[kit.ImagesList], "searches")
			})
		})
	}
}

// A deployment that allows 60 requests a minute must not be closed to everything else by one name that waits.
func TestSearchesInAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		perMinute := map[int]int{}
		began := time.Now()
		count := kit.OnRequest(func(r kit.Request) {
			if r.Operation == kit.ImagesList {
				perMinute[int(time.Since(began)/time.Minute)]++
			}
		})
		srv := kit.NewServer(t, kit.InMemoryNetwork(), count)
		srv.FaultOn(kit.ImagesStore, 1, kit.Status(504, ""))
		names, err := once.New(srv.Client(), once.InMemory())
		require.NoError(t, err)
		params := aicontent.ImageStoreParams{Name: "order-4711", Description: "A whale", Resolution: "512x512"}
		_, _, err = names.Images.Store(t.Context(), params)
		require.Error(t, err)
		assert.Equal(t, 7, perMinute[0], "one before the request, six after it")
		for minute := 1; minute < 15; minute++ {
			assert.Equal(t, 2, perMinute[minute])
		}
	})
}

// hanging is a ledger that stops responding.
type hanging struct {
	once.Ledger
	hangs atomic.Bool
}

func (h *hanging) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if h.hangs.Load() {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return h.Ledger.Put(ctx, key, entry, version)
}

// A program that is told to stop has ten seconds, though its request would take minutes, and even if the ledger hangs.
func TestACallEndsWithinTenSecondsOfItsContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs bool
		limit time.Duration
	}{
		"a ledger that works": {false, time.Millisecond},
		"a ledger that hangs": {true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := kit.NewServer(t, kit.InMemoryNetwork(), kit.LatencyOn(kit.ImagesStore, 5*time.Minute))
				ledger := &hanging{Ledger: once.InMemory()}
				names, err := once.New(srv.Client(), ledger)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(30*time.Second, func() { ledger.hangs.Store(c.hangs); cancel() })
				params := aicontent.ImageStoreParams{Name: "order-4711", Description: "A whale", Resolution: "512x512"}
				began := time.Now()
				_, _, err = names.Images.Store(ctx, params)
				require.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err))
				assert.LessOrEqual(t, time.Since(began), 30*time.Second+c.limit)
			})
		})
	}
}
