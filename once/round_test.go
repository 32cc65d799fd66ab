package once_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		w.write(t, "a", entryOf(`,"until":"2000-01-01T00:00:10Z"`))
		p := w.process(t)
		_, err := p.Images.Find(p, "a")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Equal(t, 2, w.requests(aicontent.ImagesList), "one began before, and ended after it")
	}, kit.LatencyOn(aicontent.ImagesList, 20*time.Second))
}

// A service that is down is not searched for more often than a call pauses.
func TestOnlyTheFirstSearchOfACallIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.ImagesList, 1, kit.Status(500, `{}`))
		w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
		w.FaultOn(aicontent.ImagesList, 1, emptyList)
		w.FaultOn(aicontent.ImagesList, 10, kit.Status(500, `{}`))
		p := w.process(t, once.WithMaxWait(0))
		err := p.fails(t, "unknown, retryable", job("a"))
		assert.ErrorContains(t, err, "images.findByName: 500", "why nothing was found is in the error")
		assert.Equal(t, 2+1, w.requests(aicontent.ImagesList))
	})
}

// A record whose form the ledger could not compare may be another one's: Store does not return it.
func TestAFoundRecordIsReturnedOnlyIfItsFormIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.AddImage(listed("a"))
		w.Ledger.fail = full
		p.fails(t, "executed, retryable", job("a"))
		_, err := p.Images.Find(p, "a")
		require.NoError(t, err, "Find compares nothing")
		w.Ledger.fail = nil
		p.finds(t, job("a"))
	})
}

func TestNothingIsAnnouncedAfterTheResult(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.process(t).creates(t, job("a"))
		time.Sleep(5 * time.Minute)
		assert.Equal(t, 1+3+1, w.Ledger.puts)
		assert.Contains(t, w.Ledger.last, `"id"`)
	}, kit.LatencyOn(aicontent.ImagesStore, 100*time.Second))
}

// A ledger may forget now and then that another call has announced its request.
func TestALedgerThatIsStaleMakesNoHotLoop(t *testing.T) {
	for maxWait, most := range map[time.Duration]int{0: 2, time.Hour: 61} {
		bubbleOf(t, fmt.Sprint(maxWait), func(t *testing.T, w *world) {
			w.write(t, "a", openUntil(17))
			gets := 0
			stale := func(ctx context.Context, key string) ([]byte, string, error) {
				if gets++; gets%2 == 1 {
					return nil, "", nil
				}
				return w.Ledger.Get(ctx, key)
			}
			p := w.processOn(t, &funcs{stale, w.Ledger.Put}, once.WithMaxWait(maxWait))
			p = p.within(t, time.Minute-time.Second/2)
			_, err := p.Images.Find(p, "a")
			require.True(t, aicontent.Retryable(err), "%v", err)
			assert.LessOrEqual(t, w.requests(aicontent.ImagesList), most)
			_, _, err = p.Images.Store(p, job("a"))
			require.True(t, aicontent.Retryable(err), "%v", err)
			assert.LessOrEqual(t, w.requests(aicontent.ImagesList), 2*most)
			assert.Zero(t, w.requests(aicontent.ImagesStore))
		})
	}
}

// Another call announced a request first, and its request came to nothing: the name is free, and the loser sends.
func TestTheLoserOfARaceSendsIfTheWinnerCreatedNothing(t *testing.T) {
	for name, freed := range map[string]int{"before the loser reads the entry": 2, "in the next round": 3} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			gets, puts := 0, 0
			get := func(ctx context.Context, key string) ([]byte, string, error) {
				if gets++; gets == freed {
					w.write(t, "a", entryOf(""))
				}
				return w.Ledger.Get(ctx, key)
			}
			put := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
				if puts++; puts == 1 {
					w.write(t, "a", openUntil(17))
				}
				return w.Ledger.Put(ctx, key, entry, version)
			}
			w.processOn(t, &funcs{get, put}).creates(t, job("a"))
			assert.Zero(t, time.Since(w.start), "the next round begins at once")
			w.requireRecords(t, 1)
		})
	}
}

func TestEachAttemptIsAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(429, `{}`).WithRetryAfter("1"))
		w.process(t).creates(t, job("a"))
		assert.Equal(t, 2*(1+5)+1, w.Ledger.puts, "two announcements with their renewals, and the result")
	}, kit.LatencyOn(aicontent.ImagesStore, 170*time.Second)) // the first attempt's limit must not end the second one
}

// A renewal that its ledger delays must not follow the result, and hide the ID.
func TestTheResultFollowsTheLastRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		slow := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
			if w.Ledger.puts == 1 {
				time.Sleep(10 * time.Second)
			}
			return w.Ledger.Put(context.WithoutCancel(ctx), key, entry, version)
		}
		w.processOn(t, &funcs{w.Ledger.Get, slow}).creates(t, job("a"))
		time.Sleep(time.Minute)
		assert.Contains(t, w.Ledger.last, `"id"`)
	}, kit.LatencyOn(aicontent.ImagesStore, 35*time.Second))
}

// lacks is the response of a replica that lags.
var lacks = kit.Status(404, `{"message":"Not Found"}`)

// A list may show a record before Show does, or for ever: the error is Executed, and a queue's limit of runs ends it.
// While a request is open, the record is waited for.
func TestAListedRecordThatShowLacksIsExecutedAndNotWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.AddImage(listed("a"))
		w.FaultOn(aicontent.ImagesShow, 2, lacks)
		for range 2 {
			err := p.fails(t, "executed, retryable", job("a"))
			assert.Zero(t, err.RetryAt())
			assert.Zero(t, err.Until)
		}
		p.finds(t, job("a"))
		assert.Zero(t, time.Since(w.start))

		w.AddImage(listed("b"))
		w.write(t, "b", strings.Replace(openUntil(15), `"a"`, `"b"`, 1))
		w.FaultOn(aicontent.ImagesShow, 3, lacks)
		p.finds(t, job("b"))
		assert.Equal(t, 7*time.Second, time.Since(w.start))
		assert.Zero(t, w.requests(aicontent.ImagesStore))
	})
}

// A list may show the old name of a renamed record for a while: the record is neither returned nor deleted.
func TestARecordThatAStaleListHasUnderItsOldNameIsAnothers(t *testing.T) {
	stale := kit.OnResponse(func(r *kit.Response) {
		if r.Request.Operation == aicontent.ImagesList && time.Since(midnight) < 20*time.Second {
			r.SetJSON(map[string]any{"data": []any{map[string]any{"id": 1, "name": "a"}}})
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		renamed := w.AddImage(listed("b"))
		p := w.process(t)
		p.fails(t, "executed, retryable", job("a"))
		_, err := p.Images.Find(p, "a")
		require.Equal(t, "executed, retryable", outcome(err), "%v", err)
		require.Equal(t, "executed, retryable", outcome(p.Images.Delete(p, "a")))
		time.Sleep(20 * time.Second)
		require.NoError(t, p.Images.Delete(p, "a"), "at last no list shows the name")
		w.requireRecords(t, 1)
		assert.NotEqual(t, aicontent.ID(renamed.ID), p.creates(t, job("a")).ID)
	}, stale)
}

// The last pause is as long as WithMaxWait allows. A context ends the call at its deadline, however short it is.
func TestACallUsesTheTimeThatItHas(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		maxWait, context, ends time.Duration
	}{
		"WithMaxWait":           {time.Minute, never, time.Minute},
		"a context":             {never, time.Minute, time.Minute},
		"both":                  {50 * time.Second, time.Minute, 50 * time.Second},
		"a context of a second": {never, time.Second / 2, time.Second / 2},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t, once.WithMaxWait(c.maxWait)).within(t, c.context)
			w.write(t, "a", openUntil(15))
			_, err := p.Images.Find(p, "a")
			require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
			assert.Equal(t, c.ends, time.Since(w.start))
			assert.Equal(t, p.Err() != nil, errors.Is(err, context.DeadlineExceeded))
			assert.NotEqual(t, p.Err() != nil, errors.Is(err, once.ErrMaxWait))
		})
	}
}

// A record of a few seconds takes a few seconds, however long the call has waited for an earlier request.
func TestTheLooksOfACallBeginAgainAfterItsOwnRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.write(t, "a", openUntil(1))
		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, 2*time.Second))
		w.process(t).creates(t, job("a"))
		assert.Equal(t, time.Minute+3*time.Second, time.Since(w.start))
	})
}

// A ledger that hangs in a pause holds no call up for longer than the pause.
func TestALedgerThatHangsProlongsNoPause(t *testing.T) {
	for name, c := range map[string]struct {
		hangs func(gets int, left time.Duration) bool
		says  string
		takes time.Duration
	}{
		"in pauses": {
			func(_ int, left time.Duration) bool { return left < 29*time.Second },
			once.ErrMaxWait.Error(), 25 * time.Second,
		},
		"for good, in a pause and in the Get of the next round": {
			func(gets int, _ time.Duration) bool { return gets > 1 },
			"the ledger failed", time.Second + 30*time.Second,
		},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.write(t, "a", openUntil(15))
			gets := 0
			get := func(ctx context.Context, key string) ([]byte, string, error) {
				gets++
				if deadline, _ := ctx.Deadline(); c.hangs(gets, time.Until(deadline)) {
					<-ctx.Done()
					return nil, "", ctx.Err()
				}
				return w.Ledger.Get(ctx, key)
			}
			p := w.processOn(t, &funcs{get, w.Ledger.Put}, once.WithMaxWait(25*time.Second))
			_, err := p.Images.Find(p, "a")
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, c.takes, time.Since(w.start))
		})
	}
}

// Where lists have no names, no call can find out what became of a request, and none sends.
func TestListsWithoutNamesEndACallWithTheErrorOfTheSearch(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.write(t, "a", openUntil(15))
		w.FaultOn(aicontent.ImagesList, 100, kit.Status(200, `{"data":[{"id":7}]}`))
		err := p.fails(t, "unknown", job("a"))
		assert.ErrorContains(t, err, "the list has a record without a name or an ID")
		assert.Equal(t, settle, time.Since(w.start), "a request was open")
		assert.Equal(t, "unknown", outcome(p.Images.Delete(p, "a")))
		assert.Equal(t, "not executed", outcome(p.fails(t, "not executed", job("b"))))
		assert.Zero(t, w.requests(aicontent.ImagesStore))
	})
}
