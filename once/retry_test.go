package once_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A worker of a job queue needs Retryable and RetryAt, and no arithmetic. Each call is one of another process, which
// remembers nothing: the schedule is that of the entry.
func TestAWorkerThatAsksRetryAtMakesFewRequests(t *testing.T) {
	for name, c := range map[string]struct {
		fault                    kit.Fault
		pauses, creates, seconds int
	}{
		"the record appears after one minute": {kit.LateAct(504, time.Minute), 6, 1, 61},
		"the record never appears":            {kit.HTMLPage(504), 34, 2, 900},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesStore, 1, c.fault)
			var looks []int // seconds after the beginning
			for {
				p := w.process(t, once.WithMaxWait(0))
				_, found, err := p.Images.Store(p, job("a"))
				if err == nil {
					assert.Equal(t, c.creates == 1, found)
					break
				}
				require.True(t, aicontent.Retryable(err), "%v", err)
				assert.ErrorIs(t, err, once.ErrMaxWait)
				assert.Equal(t, "an earlier request may still create the record", aicontent.Reason(err))
				at := aicontent.RetryAt(err)
				require.True(t, at.After(time.Now()), "%v", at)
				looks = append(looks, int(at.Sub(w.start)/time.Second))
				time.Sleep(time.Until(at))
			}
			assert.Equal(t, []int{1, 3, 7, 15, 31, 61}, looks[:6])
			assert.Len(t, looks, c.pauses)
			assert.Equal(t, c.seconds, looks[len(looks)-1], "Until at the latest")
			assert.Equal(t, time.Duration(c.seconds)*time.Second, time.Since(w.start))
			assert.Equal(t, 1+1+c.pauses, w.requests(aicontent.ImagesList), "searches")
			assert.Equal(t, c.creates, w.requests(aicontent.ImagesStore), "create requests")
			w.requireRecords(t, 1)
		})
	}
}

// A request under way is renewed every 30 seconds, and each renewal leaves the schedule as it is.
func TestAWorkerThatAsksRetryAtSearchesAsOftenAsAWaitingCall(t *testing.T) {
	for name, looks := range map[string]func(t *testing.T, w *world){
		"a waiting call": func(t *testing.T, w *world) { w.process(t).finds(t, job("a")) },
		"a worker": func(t *testing.T, w *world) {
			for {
				p := w.process(t, once.WithMaxWait(0))
				_, found, err := p.Images.Store(p, job("a"))
				if err == nil {
					assert.True(t, found)
					return
				}
				require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
				time.Sleep(time.Until(aicontent.RetryAt(err)))
			}
		},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t)
			var sender sync.WaitGroup
			sender.Go(func() { p.creates(t, job("a")) })
			time.Sleep(time.Millisecond)
			looks(t, w)
			sender.Wait()
			assert.Equal(t, 1+22, w.requests(aicontent.ImagesList), "one of the sender")
			w.requireRecords(t, 1)
		}, kit.LatencyOn(aicontent.ImagesStore, 9*time.Minute), lagging(9*time.Minute))
	}
}

func TestRetryAtWaitsForARetryAfterButNotBeyondUntil(t *testing.T) {
	for seconds, want := range map[string]time.Duration{"100": 100 * time.Second, "86400": settle} {
		bubbleOf(t, seconds, func(t *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
			w.FaultOn(aicontent.ImagesList, 1, emptyList)
			w.FaultOn(aicontent.ImagesList, 1, kit.Status(429, `{}`).WithRetryAfter(seconds))
			err := w.process(t, once.WithMaxWait(0)).fails(t, "unknown, retryable", job("a"))
			require.ErrorIs(t, err, once.ErrMaxWait)
			assert.Equal(t, w.start.Add(want).UTC(), aicontent.RetryAt(err))
		})
	}
}

// An error that no retry helps has no time, and one after which the caller's own backoff is as good has none either.
func TestRetryAtIsZeroWithoutAnOpenRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesList, 1, kit.Status(403, `{"message":"no"}`))
		assert.Zero(t, aicontent.RetryAt(p.fails(t, "not executed", job("a"))))
		w.FaultOn(aicontent.ImagesList, 1, kit.Status(200, "ok"))
		assert.Zero(t, aicontent.RetryAt(p.fails(t, "not executed, retryable", job("a"))))
	})
}

// A record may be found while the request that created it counts as open: its errors are the service's.
func TestTheErrorOfAFoundRecordIsNotThatOfAnOpenRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.AddImage(listed("a"))
		w.write(t, "a", openUntil(15))
		w.FaultOn(aicontent.ImagesDelete, 1, kit.Status(409, `{"message":"it is in an album"}`))
		p := w.process(t)
		refused := p.Images.Delete(p, "a")
		require.Equal(t, "executed", outcome(refused), "%v", refused)
		w.FaultOn(aicontent.ImagesShow, 1, kit.Status(403, `{"message":"it is in an album"}`))
		_, hidden := p.Images.Find(p, "a")
		require.Equal(t, "executed, retryable", outcome(hidden), "%v", hidden)
		for _, err := range []error{refused, hidden} {
			assert.Equal(t, "it is in an album", aicontent.Reason(err))
			assert.NotContains(t, err.Error(), "open until")
		}
		p.finds(t, job("a"))
	})
}

// The people who use a program read no names of options, folders or hosts.
func TestReasonIsForThePeopleWhoUseAProgram(t *testing.T) {
	for want, arrange := range map[string]func(t *testing.T, w *world){
		"an earlier request may still create the record": func(t *testing.T, w *world) {
			w.write(t, "a", openUntil(15))
		},
		"it was stored with other parameters": func(t *testing.T, w *world) {
			w.AddImage(listed("a"))
			w.write(t, "a", entryOf(`,"made":"2000-01-01T00:00:00Z","id":"1","form":"other"`))
		},
		"the monthly limit is reached": func(_ *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesList, 1, kit.Status(402, `{"message":"the monthly limit is reached"}`))
		},
		"the response could not be read": func(_ *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesList, 1, kit.Status(200, `ok`))
		},
		"the ledger failed": func(_ *testing.T, w *world) { w.Ledger.fail = full },
	} {
		bubbleOf(t, want, func(t *testing.T, w *world) {
			arrange(t, w)
			p := w.process(t, once.WithMaxWait(0))
			_, _, err := p.Images.Store(p, job("a"))
			assert.Equal(t, want, aicontent.Reason(err), "%v", err)
		})
	}
}
