package once_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestASearchThatBeganBeforeUntilDecidesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:00:30Z"`))
		w.ResetBook()
		p := w.process(t)
		_, err := p.Images.Find(p, "a")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Equal(t, 2, w.requests(kit.ImagesList), "one began before, and ended after it")
	}, kit.LatencyOn(kit.ImagesList, 20*time.Second))
}

// A record whose form the ledger could not compare may be another one's: Store does not return it.
func TestAFoundRecordIsReturnedOnlyIfItsFormIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
		w.Ledger.fail = func(int, string) (bool, error) { return false, errDisk }
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "executed, retryable", outcome(err), "%v", err)
		_, err = p.Images.Find(p, "a")
		require.NoError(t, err, "Find compares nothing")
		w.Ledger.fail = nil
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
	})
}

func TestNothingIsAnnouncedAfterTheResult(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		assert.Equal(t, 1+3+1, w.Ledger.puts)
		assert.Contains(t, w.Ledger.last, `"id"`)
	}, kit.LatencyOn(kit.ImagesStore, 100*time.Second))
}

// A ledger may forget now and then that another call has announced its request.
func TestALedgerThatIsStaleMakesNoHotLoop(t *testing.T) {
	for maxWait, most := range map[time.Duration]int{0: 2, time.Hour: 60} {
		bubbleOf(t, fmt.Sprint(maxWait), func(t *testing.T, w *world) {
			w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:17:00Z"`))
			gets := 0
			stale := func(ctx context.Context, key string) ([]byte, string, error) {
				if gets++; gets%2 == 1 {
					return nil, "", nil
				}
				return w.Ledger.Get(ctx, key)
			}
			client, err := once.New(w.Client(), funcs{stale, w.Ledger.Put}, once.WithMaxWait(maxWait))
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			w.ResetBook()
			_, err = client.Images.Find(ctx, "a")
			require.True(t, aicontent.Retryable(err), "%v", err)
			assert.LessOrEqual(t, w.requests(kit.ImagesList), most)
			_, _, err = client.Images.Store(ctx, job("a"))
			require.True(t, aicontent.Retryable(err), "%v", err)
			assert.LessOrEqual(t, w.requests(kit.ImagesList), 2*most)
			assert.Zero(t, w.requests(kit.ImagesStore))
		})
	}
}

// Another call announced a request first, and its request came to nothing: the name is free, and the loser sends.
func TestTheLoserOfARaceSendsIfTheWinnerCreatedNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		gets, puts := 0, 0
		get := func(ctx context.Context, key string) ([]byte, string, error) {
			if gets++; gets == 3 {
				w.write(t, "a", fmt.Sprintf(another, ``))
			}
			return w.Ledger.Get(ctx, key)
		}
		put := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
			if puts++; puts == 1 {
				w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:17:00Z"`))
			}
			return w.Ledger.Put(ctx, key, entry, version)
		}
		client, err := once.New(w.Client(), funcs{get, put})
		require.NoError(t, err)
		_, found, err := client.Images.Store(t.Context(), job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Zero(t, time.Since(w.start), "the next round begins at once")
		w.require1(t)
	})
}

func TestTheFormOfARefusedRequestIsNotThatOfTheRecord(t *testing.T) {
	for status, lacks := range map[int]int{409: 0, 422: 2} {
		bubbleOf(t, fmt.Sprint(status), func(t *testing.T, w *world) {
			p := w.process(t)
			w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
			w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
			w.FaultOn(kit.ImagesShow, lacks, kit.Status(404, `{"message":"a replica that lags"}`))
			w.FaultOn(kit.ImagesStore, 1, kit.Status(status, `{"message":"x","errors":{"name":["taken"]}}`))
			other := job("a")
			other.Description = "another"
			_, found, err := p.Images.Store(p, other)
			require.NoError(t, err)
			assert.True(t, found)
			image, found, err := p.Images.Store(p, job("a"))
			require.NoError(t, err, "its true parameters are no conflict")
			assert.True(t, found)
			assert.Equal(t, "a", image.Name)
		})
	}
}

// A list may lag, or fail, when the service says that a name is taken: the job must stay in its queue.
func TestATakenNameThatNoSearchFindsIsNotFinal(t *testing.T) {
	for name, c := range map[string]struct {
		list kit.Fault
		want string
	}{
		"lags":  {kit.Status(200, `{"data":[]}`), "not executed, retryable"},
		"fails": {kit.Status(200, `ok`), "not executed, retryable"},
		"401":   {kit.Status(401, `{}`), "not executed, retryable"},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t)
			w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
			w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
			w.FaultOn(kit.ImagesList, 1, c.list)
			_, _, err := p.Images.Store(p, job("a"))
			require.Equal(t, c.want, outcome(err), "%v", err)
			_, found, err := p.Images.Store(p, job("a"))
			require.NoError(t, err)
			assert.True(t, found)
			w.require1(t)
		}, kit.UniqueNames)
	}
}

// A replica may show the record a little later: the call waits, but not for the whole settle time.
func TestAKnownRecordThatAReplicaLacksIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		lacks := kit.Status(404, `{"message":"Not Found"}`)
		w.FaultOn(kit.ImagesShow, 3, lacks)
		again, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, image.ID, again.ID)
		assert.Equal(t, 7*time.Second, time.Since(w.start), "after 1, 3 and 7 seconds")

		start := time.Now()
		w.FaultOn(kit.ImagesShow, 6, lacks)
		_, _, err = p.Images.Store(p, job("a"))
		require.Equal(t, "executed, retryable", outcome(err), "%v", err)
		assert.NotErrorIs(t, err, aicontent.ErrNotFound)
		assert.Equal(t, 30*time.Second, time.Since(start))
		e, _ := errors.AsType[*once.Error](err)
		assert.Equal(t, w.start.Add(settle).UTC(), e.Until)
		assert.Equal(t, w.start.Add(61*time.Second).UTC(), e.RetryAt(), "counted from the entry's last write")
		assert.Equal(t, "the record was created, and is not shown yet", aicontent.Reason(err))

		// Without a wait the answer comes at once, and Delete needs no Show.
		quick := w.process(t, once.WithMaxWait(0))
		w.FaultOn(kit.ImagesShow, 2, lacks)
		start = time.Now()
		_, _, err = quick.Images.Store(quick, job("a"))
		require.Equal(t, "executed, retryable", outcome(err), "%v", err)
		assert.ErrorIs(t, err, once.ErrMaxWait)
		require.NoError(t, p.Images.Delete(p, "a"))
		assert.Zero(t, time.Since(start))
		assert.Zero(t, w.count())
	})
}

// A list may show a record before Show does: no call gives it up, and none takes it for another one.
func TestAListedRecordThatAReplicaLacksIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
		p := w.process(t)
		lacks := kit.Status(404, `{"message":"Not Found"}`)
		w.FaultOn(kit.ImagesShow, 2, lacks)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, 3*time.Second, time.Since(w.start), "after 1 and 3 seconds")

		w.AddImage(kit.Image{Name: "b", Description: "d", Resolution: "256x256"})
		start := time.Now()
		w.FaultOn(kit.ImagesShow, 6, lacks)
		_, _, err = p.Images.Store(p, job("b"))
		require.Equal(t, "executed, retryable", outcome(err), "%v", err)
		assert.Equal(t, 30*time.Second, time.Since(start))

		w.AddImage(kit.Image{Name: "c", Description: "d", Resolution: "256x256"})
		w.FaultOn(kit.ImagesShow, 1, lacks)
		require.NoError(t, p.Images.Delete(p, "c"))
		assert.Equal(t, 2, w.count())
		assert.Zero(t, w.requests(kit.ImagesStore))
	})
}

// The last pause is as long as the call may still wait, and a context keeps five seconds for the last search.
func TestACallUsesTheTimeThatItHas(t *testing.T) {
	for name, c := range map[string]struct {
		maxWait, context, ends time.Duration
	}{
		"WithMaxWait":           {time.Minute, 0, time.Minute},
		"a context":             {time.Hour, time.Minute, 55 * time.Second},
		"both":                  {50 * time.Second, time.Minute, 50 * time.Second},
		"a context of a second": {time.Hour, time.Second, 0},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t, once.WithMaxWait(c.maxWait))
			w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:15:00Z"`))
			ctx := context.Context(p)
			if c.context > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(p, c.context)
				defer cancel()
			}
			_, err := p.Images.Find(ctx, "a")
			require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
			assert.Equal(t, c.ends, time.Since(w.start))
			assert.NotEqual(t, errors.Is(err, context.DeadlineExceeded), errors.Is(err, once.ErrMaxWait))
		})
	}
}

// A ledger that hangs in a pause holds no call up for longer than the pause.
func TestALedgerThatHangsProlongsNoPause(t *testing.T) {
	bubbleOf(t, "in pauses", func(t *testing.T, w *world) {
		w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:15:00Z"`))
		get := func(ctx context.Context, key string) ([]byte, string, error) {
			if deadline, _ := ctx.Deadline(); time.Until(deadline) < 29*time.Second {
				<-ctx.Done()
				return nil, "", ctx.Err()
			}
			return w.Ledger.Get(ctx, key)
		}
		client, err := once.New(w.Client(), funcs{get, w.Ledger.Put}, once.WithMaxWait(25*time.Second))
		require.NoError(t, err)
		_, err = client.Images.Find(t.Context(), "a")
		assert.ErrorIs(t, err, once.ErrMaxWait)
		assert.Equal(t, 25*time.Second, time.Since(w.start))
	})
	bubbleOf(t, "for good", func(t *testing.T, w *world) {
		w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:15:00Z"`))
		gets := 0
		get := func(ctx context.Context, key string) ([]byte, string, error) {
			if gets++; gets > 1 {
				<-ctx.Done()
				return nil, "", ctx.Err()
			}
			return w.Ledger.Get(ctx, key)
		}
		client, err := once.New(w.Client(), funcs{get, w.Ledger.Put}, once.WithMaxWait(25*time.Second))
		require.NoError(t, err)
		_, err = client.Images.Find(t.Context(), "a")
		assert.ErrorContains(t, err, "the ledger failed")
		assert.Equal(t, time.Second+30*time.Second, time.Since(w.start), "a pause, and the Get of the next round")
	})
}

// Nobody can find out there what became of a request. Delete forgets it when nothing can come any more, and says so.
func TestDeleteFreesANameWhereListsHaveNoNames(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:15:00Z"`))
		w.FaultOn(kit.ImagesList, 3, kit.Status(200, `{"data":[{"id":7}]}`))
		err := p.Images.Delete(p, "a")
		require.Equal(t, "unknown, retryable", outcome(err), "a request is open: %v", err)
		time.Sleep(settle)
		_, _, err = p.Images.Store(p, job("a"))
		require.Equal(t, "unknown", outcome(err), "%v", err)
		err = p.Images.Delete(p, "a")
		require.Equal(t, "unknown", outcome(err), "it cannot be told what there was: %v", err)
		require.NoError(t, p.Images.Delete(p, "a"))
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
	})
}
