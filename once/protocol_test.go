package once_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
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

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/once"
)

func TestLedgersKeepTheirPromise(t *testing.T) {
	t.Parallel()
	memory, folder := once.InMemory(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, kit.TestLedger(func() (once.Ledger, error) { return memory, nil }))
		require.NoError(t, kit.TestLedger(func() (once.Ledger, error) { return once.Dir(folder), nil }))
	})
}

// The costs of a call, as the package doc has them.
func TestCallsCostWhatThePackageDocSays(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.AddImage(listed("listed"))
		p := w.process(t)
		for _, c := range []struct {
			what                            string
			gets, puts, lists, shows, other int
			call                            func()
		}{
			{"a new record", 1, 2, 1, 0, 1, func() { p.creates(t, job("a")) }},
			{"a known record", 1, 0, 0, 1, 0, func() { p.finds(t, job("a")) }},
			{"a listed record", 1, 1, 1, 1, 0, func() { p.finds(t, job("listed")) }},
			{"Delete", 1, 1, 0, 1, 1, func() { require.NoError(t, p.Images.Delete(p, "a")) }},
			{"a refused request", 1, 2, 1, 0, 1, func() {
				w.FaultOn(aicontent.ImagesStore, 1, kit.Status(402, `{"message":"no credit"}`))
				p.fails(t, "not executed", job("c"))
			}},
			{"Find of none", 2, 0, 1, 0, 0, func() {
				_, err := p.Images.Find(p, "b")
				require.ErrorIs(t, err, aicontent.ErrNotFound)
			}},
		} {
			w.Ledger.gets, w.Ledger.puts = 0, 0
			w.ResetBook()
			c.call()
			lists, shows := w.requests(aicontent.ImagesList), w.requests(aicontent.ImagesShow)
			assert.Equal(t, []int{c.gets, c.puts, c.lists, c.shows, c.other},
				[]int{w.Ledger.gets, w.Ledger.puts, lists, shows, len(w.Requests()) - lists - shows}, c.what)
		}
	})
}

// Each Put of a call fails, or is written although it fails: there is one record, and no false word on it.
func TestLedgerThatFailsMakesNoSecondRecord(t *testing.T) {
	for _, c := range []struct {
		first, times int // Puts that fail
		written      bool
	}{
		{1, 1, false},
		{1, 1, true},
		{1, 100, true},
		{2, 1, false},
		{2, 100, false},
		{2, 1, true},
		{2, 100, true},
	} {
		name := fmt.Sprintf("Put %d, %d times, the first one written: %v", c.first, c.times, c.written)
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.Ledger.fail = func(n int, _ string) (bool, error) {
				if n < c.first || n >= c.first+c.times {
					return false, nil
				}
				return c.written && n == c.first, errDisk
			}
			image := w.process(t).creates(t, job("a"))
			w.Ledger.fail = nil
			assert.Equal(t, image.ID, w.process(t).finds(t, job("a")).ID)
			w.requireRecords(t, 1)
		})
	}
}

// Nothing is sent without an announcement, so nothing is waited for.
func TestAFullDiskSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.Ledger.fail = full
		assert.ErrorContains(t, p.fails(t, "not executed, retryable", job("a")), errDisk.Error())
		assert.Zero(t, w.requests(aicontent.ImagesStore))
		w.Ledger.fail = nil
		p.creates(t, job("a"))
		assert.Zero(t, time.Since(w.start))
	})
}

// A request whose announcement cannot be renewed is cut off before another process may send one.
func TestLedgerThatFailsWhileSendingCutsOffTheRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		time.AfterFunc(time.Second, func() {
			w.Ledger.mu.Lock()
			defer w.Ledger.mu.Unlock()
			w.Ledger.fail = full
		})
		var cut time.Duration
		hook := aicontent.WithAttemptHook(func(_ context.Context, a aicontent.Attempt) (done, error) {
			if a.Operation != aicontent.ImagesStore {
				return nil, nil
			}
			return func(aicontent.AttemptResult) {
				w.Ledger.fail = nil
				cut = time.Since(w.start)
			}, nil
		})
		err := p.within(t, 2*time.Minute).fails(t, "unknown, retryable", job("a"), hook)
		const why = "the create request failed: cut off, because the ledger could not be written in time"
		assert.Equal(t, 1, strings.Count(err.Error(), why), "%v", err)
		assert.NotErrorIs(t, err, context.Canceled, "nobody has cancelled")
		assert.Equal(t, margin-15*time.Second, cut)
		p.finds(t, job("a"))
		w.requireRecords(t, 1)
	}, kit.LatencyOn(aicontent.ImagesStore, 5*time.Minute))
}

// The result is worth a few seconds, and no more: the record is returned.
func TestALedgerThatHangsHoldsNoResultUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		put := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
			if strings.Contains(string(entry), "made") {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return w.Ledger.Put(ctx, key, entry, version)
		}
		w.processOn(t, &funcs{w.Ledger.Get, put}).creates(t, job("a"))
		assert.Equal(t, 5*time.Second, time.Since(w.start))
	})
}

// The margin begins with the Put, because others may see the announcement from then on.
func TestARequestIsCutOffCountedFromTheBeginningOfItsLastAnnouncement(t *testing.T) {
	for name, slow := range map[string]int{"the first announcement": 1, "a renewal": 2} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			var began time.Time
			puts := 0
			put := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
				switch puts++; {
				case puts > slow:
					return "", errDisk
				case puts == slow:
					began = time.Now()
					defer time.Sleep(time.Minute)
				}
				return w.Ledger.Put(context.WithoutCancel(ctx), key, entry, version)
			}
			var cut time.Duration
			hook := aicontent.WithAttemptHook(func(_ context.Context, a aicontent.Attempt) (done, error) {
				return func(aicontent.AttemptResult) {
					if a.Operation == aicontent.ImagesStore {
						cut = time.Since(began)
					}
				}, nil
			})
			p := w.processOn(t, &funcs{w.Ledger.Get, put}, once.WithMaxWait(0))
			p.fails(t, "unknown, retryable", job("a"), hook)
			assert.Equal(t, margin-15*time.Second, cut)
		}, kit.LatencyOn(aicontent.ImagesStore, 10*time.Minute))
	}
}

// An announcement counts from the beginning of its Put, because others may see it from then on. A Put that took too
// long is none.
func TestLedgerThatIsSlowMakesNoAnnouncement(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.Ledger.before = func(n int, _, _ string) {
			if n == 1 {
				time.Sleep(2 * time.Minute)
			}
		}
		err := p.fails(t, "not executed, retryable", job("a"))
		assert.NotErrorIs(t, err, context.DeadlineExceeded)

		// An announcement that was written is taken back.
		w.Ledger.before = nil
		n := 0
		put := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
			if n++; n == 1 {
				time.Sleep(2 * time.Minute)
			}
			return w.Ledger.Put(context.WithoutCancel(ctx), key, entry, version)
		}
		err = w.processOn(t, &funcs{w.Ledger.Get, put}).fails(t, "not executed, retryable", job("b"))
		assert.ErrorContains(t, err, "images.store: the ledger failed", "the attempt is not made")
		assert.Zero(t, w.requests(aicontent.ImagesStore))
		_, notFound := p.Images.Find(p, "b")
		require.ErrorIs(t, notFound, aicontent.ErrNotFound, "no call waits for it")
		assert.Equal(t, 4*time.Minute, time.Since(w.start).Truncate(time.Minute))
	})
}

// The context ends after the ledger has written an announcement, and before it says so.
func TestNoCallWaitsForARequestThatWasCancelledWhileItWasAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		put := func(ctx context.Context, key string, entry []byte, version string) (string, error) {
			version, err := w.Ledger.Put(ctx, key, entry, version)
			if strings.Contains(string(entry), "until") {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return version, err
		}
		p := w.processOn(t, &funcs{w.Ledger.Get, put})
		err := p.within(t, time.Minute).fails(t, "not executed, retryable", job("a"))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, err.Until)
		p.fails(t, "not executed, retryable", job("b")) // because the Put takes too long
		_, notFound := p.Images.Find(p, "b")
		require.ErrorIs(t, notFound, aicontent.ErrNotFound)
		assert.Zero(t, w.requests(aicontent.ImagesStore))
		assert.Equal(t, time.Minute+margin-15*time.Second, time.Since(w.start), "no call waits")
	})
}

// A renewal that seemed to fail arrives late, just before the result: it is the call's own, and nothing is lost.
func TestHeartbeatThatArrivesLateLosesNoResult(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Ledger.before = func(n int, key, version string) {
			if n != 2 {
				return
			}
			before, _, err := w.Ledger.Ledger.Get(t.Context(), key)
			require.NoError(t, err)
			late := strings.Replace(string(before),
				`"until":"2000-01-01T00:17:00Z"`, `"until":"2000-01-01T00:17:01Z"`, 1)
			require.NotEqual(t, string(before), late)
			_, err = w.Ledger.Ledger.Put(t.Context(), key, []byte(late), version)
			require.NoError(t, err)
		}
		w.process(t).creates(t, job("a"))
		assert.Contains(t, w.Ledger.last, "made")
		w.requireRecords(t, 1)
	})
}

// Another call wrote the entry while this one was sending, because this process was suspended: its request is cut off.
func TestRequestThatIsOvertakenIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t, once.WithMaxWait(time.Minute))
		time.AfterFunc(20*time.Second, func() { w.write(t, "a", entryOf(`,"until":"2000-01-01T00:17:20Z"`)) })
		err := p.fails(t, "unknown, retryable", job("a"))
		assert.ErrorContains(t, err, "another call has written the ledger's entry")
		assert.Contains(t, w.Ledger.last, `"c`, "the entry of the other call is left alone")
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		assert.Less(t, time.Since(w.start), 2*time.Minute)
	}, kit.LatencyOn(aicontent.ImagesStore, 5*time.Minute))
}

// Another process found the record while this one was still waiting for the response: it is the record of this request,
// which is paid for, and the response is worth waiting for.
func TestRequestWhoseRecordIsFoundIsNotCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		time.AfterFunc(20*time.Second, func() {
			w.write(t, "a", entryOf(`,"until":"2000-01-01T00:17:00Z","made":"2000-01-01T00:00:20Z","id":"1"`))
		})
		assert.Equal(t, aicontent.ID("1"), w.process(t).creates(t, job("a")).ID)
		assert.Equal(t, 5*time.Minute, time.Since(w.start))
	}, kit.LatencyOn(aicontent.ImagesStore, 5*time.Minute))
}

// A long request stays announced, and no other call sends.
func TestLongRequestStaysAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p, q := w.process(t), w.process(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, found, err := p.Images.Store(p, job("a"), aicontent.WithStoreTimeout(0))
			assert.NoError(t, err)
			assert.False(t, found)
		})
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Contains(t, w.Ledger.last, `"form"`, "for the calls after a kill")
		q.finds(t, job("a"))
		assert.Less(t, time.Since(w.start), 40*time.Minute+2*time.Second, "a new version ends the pause")
		wg.Wait()
		w.requireRecords(t, 1)
		assert.Equal(t, 2+79, w.Ledger.puts, "a renewal every 30 seconds")
		assert.LessOrEqual(t, w.requests(aicontent.ImagesList), 1+6+79, "no renewal ends a pause")
	}, kit.LatencyOn(aicontent.ImagesStore, 40*time.Minute-time.Second))
}

// A clock that is ahead is not waited for: the limit is the time that a correct one could have written.
func TestClockThatIsAheadProlongsNoWaitBeyondTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.write(t, "a", entryOf(`,"until":"2000-01-01T03:00:00Z"`))
		err := p.within(t, time.Minute).fails(t, "unknown, retryable", job("a"))
		assert.Equal(t, w.start.Add(margin+settle).UTC(), err.Until)
		start := time.Now()
		p.creates(t, job("a"))
		assert.Equal(t, margin+settle, time.Since(start))
	})
}

func TestARecordFromTheFutureIsOpenForTheSettleTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.write(t, "a", entryOf(`,"made":"2000-01-01T02:00:00Z","id":"7"`))
		w.process(t).creates(t, job("a"))
		assert.Equal(t, settle, time.Since(w.start))
	})
}

// No call says that there is no record while another one may have announced its request since the search.
func TestNothingIsSaidOfWhatIsAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		entry   string
		records int
		want    string
	}{
		"the other call found the record":    {entryOf(`,"made":"2000-01-01T00:00:00Z","id":"1"`), 1, "ok"},
		"the other call sends":               {openUntil(17), 0, "unknown, retryable"},
		"the entry cannot be read":           {`{`, 0, "unknown"},
		"the other call left an empty entry": {entryOf(""), 0, "not executed"},
	} {
		for search, faults := range map[string]int{"a search finds nothing": 0, "a search fails": 1} {
			bubbleOf(t, search+", and "+name, func(t *testing.T, w *world) {
				p := w.process(t, once.WithMaxWait(0))
				if faults > 0 {
					w.FaultOn(aicontent.ImagesList, faults, kit.Status(401, `{}`))
				}
				var searched sync.Once
				hook := aicontent.WithAttemptHook(func(context.Context, aicontent.Attempt) (done, error) {
					return func(aicontent.AttemptResult) {
						searched.Do(func() {
							for range c.records {
								w.AddImage(listed("a"))
							}
							w.write(t, "a", c.entry)
						})
					}, nil
				})
				_, err := p.Images.Find(p, "a", hook)
				assert.Equal(t, c.want, outcome(err), "%v", err)
			})
		}
	}
}

// A call that would wait for longer than it may ends, and says when to call again.
func TestWithMaxWaitEndsACallThatSaysWhenToCallAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t, once.WithMaxWait(40*time.Second))
		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, 3*time.Minute))
		err := p.fails(t, "unknown, retryable", job("a"))
		assert.EqualError(t, err, `once: images "a": an earlier request may still create the record; `+
			"the create request failed: 504 Gateway Timeout (outcome unknown); open until 2000-01-01T00:15:00Z")
		assert.Equal(t, w.start.Add(settle).UTC(), err.Until)
		assert.Equal(t, 40*time.Second, time.Since(w.start), "the last pause is shorter")
		assert.Equal(t, w.start.Add(61*time.Second).UTC(), err.RetryAt(), "counted from the end of the request")
		assert.Equal(t, 1+1+6, w.requests(aicontent.ImagesList), "after 0, 1, 3, 7, 15, 31 and 40 seconds")
	})
}

// Without any wait, a call that would have to queue ends. A request under way is not ended.
func TestWithoutAnyWaitACallThatWouldQueueEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t, once.WithMaxWait(0))
		ended := make(chan error)
		go func() {
			_, _, err := p.Images.Store(p, job("a"))
			ended <- err
		}()
		time.Sleep(time.Minute)
		p.fails(t, "unknown, retryable", job("a"))
		assert.Equal(t, time.Minute, time.Since(w.start))
		require.NoError(t, <-ended)
		assert.Equal(t, 2*time.Minute, time.Since(w.start))
		p.finds(t, job("a"))
	}, kit.LatencyOn(aicontent.ImagesStore, 2*time.Minute))
}

// Calls of one process for one name go one after the other, whichever client they have: a double click costs no second
// search. A call that leaves the queue early says what the ledger says.
func TestCallsOfOneProcessForANameGoOneAfterTheOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ledger := once.InMemory()
		a, b := w.processOn(t, ledger), w.processOn(t, ledger)
		var wg sync.WaitGroup
		for _, p := range []*process{a, b, a} {
			wg.Go(func() {
				_, _, err := p.Images.Store(p, job("a"))
				assert.NoError(t, err)
			})
		}
		time.Sleep(time.Second)
		early := b.within(t, time.Second)
		err := early.fails(t, "unknown, retryable", job("a"))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, w.start.Add(margin+settle).UTC(), err.Until)
		wg.Wait()
		assert.Equal(t, 1, w.requests(aicontent.ImagesList))
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		assert.Equal(t, 2, w.requests(aicontent.ImagesShow))
		early.fails(t, "unknown, retryable", job("a")) // its context ended before it began
	}, kit.LatencyOn(aicontent.ImagesStore, time.Minute/2))
}

// A known record is not given up for a proxy's page, and needs no file.
func TestKnownRecordThatCannotBeShownIsNotGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		fault kit.Fault
		want  string
	}{
		"proxy":    {kit.HTMLPage(200), "executed, retryable"},
		"404":      {kit.HTMLPage(404), "executed, retryable"},
		"firewall": {kit.HTMLPage(403), "executed, retryable"},
		"403":      {kit.Status(403, `{"message":"no"}`), "executed"},
		"401":      {kit.Status(401, `{}`), "executed"},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t)
			text, _, err := p.Transcriptions.Store(p, recording("a"))
			require.NoError(t, err)
			params := recording("a")
			params.File = aicontent.FileFromPath("is gone")
			w.FaultOn(aicontent.TranscriptionsShow, 1, c.fault)
			_, _, err = p.Transcriptions.Store(p, params)
			require.Equal(t, c.want, outcome(err), "%v", err)
			var failed *once.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, text.ID, failed.ID)
			_, found, err := p.Transcriptions.Store(p, params)
			require.NoError(t, err)
			assert.True(t, found)
		})
	}
}

// A file is opened only to send it, and its error is the record's.
func TestFileIsOpenedOnlyToSendIt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		params := recording("a")
		params.File = aicontent.FileFromPath("is gone")
		_, _, err := p.Transcriptions.Store(p, params)
		require.Equal(t, "not executed", outcome(err), "%v", err)
		require.ErrorIs(t, err, aicontent.ErrFile)
		require.ErrorAs(t, err, new(*once.Error))

		w.FaultOn(aicontent.TranscriptionsStore, 1, kit.HTMLPage(504))
		for _, params := range []aicontent.TranscriptionStoreParams{recording("a"), params} {
			p := p.within(t, time.Minute)
			_, _, err = p.Transcriptions.Store(p, params)
			require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		}
	})
}

// Show may leave the ID out: the ledger knows it, or the list.
func TestDeleteNeedsNoIDFromShow(t *testing.T) {
	hide := kit.OnResponse(func(r *kit.Response) {
		if r.Request.Method == http.MethodGet && r.Request.RecordID != "" {
			r.SetJSON(map[string]any{"data": map[string]any{"name": "a"}})
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		p.creates(t, job("a"))
		require.NoError(t, p.Images.Delete(p, "a"))
		w.requireRecords(t, 0)

		image := w.AddImage(listed("a")) // which a search finds
		assert.Equal(t, aicontent.ID(image.ID), p.finds(t, job("a")).ID)
		require.NoError(t, w.process(t).Images.Delete(p, "a"))
		w.AddImage(listed("a"))
		require.NoError(t, p.Images.Delete(p, "a"))
		w.requireRecords(t, 0)
	}, hide)
}

// Delete of a record that is gone, or that a replica does not show yet, frees the name at once.
func TestDeleteOfARecordThatShowLacksFreesTheNameAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		p.creates(t, job("a"))
		w.FaultOn(aicontent.ImagesShow, 1, kit.Status(404, `{"message":"no"}`))
		require.NoError(t, p.Images.Delete(p, "a"))
		w.requireRecords(t, 0)

		require.NoError(t, w.Client().Images.Delete(p, p.creates(t, job("a")).ID))
		require.NoError(t, p.Images.Delete(p, "a"))
		_, err := p.Images.Find(p, "a")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Zero(t, time.Since(w.start))
	})
}

// A firewall's page, or the 501 of a gateway, says nothing of the request: it is Unknown, and waited for.
func TestStoreAfterAFirewallsPageFindsWhatWasPaid(t *testing.T) {
	for name, fault := range map[string]kit.Fault{
		"a firewall's page": kit.HTMLPage(403).Acting(), "501": kit.HTMLPage(501).Acting(),
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t)
			w.FaultOn(aicontent.ImagesStore, 1, fault)
			p.creates(t, job("a"))
			assert.Equal(t, time.Minute+time.Second, time.Since(w.start))
			w.requireRecords(t, 1)
		}, lagging(time.Minute))
	}
}

// An entry that cannot be read may be of a newer version: nothing is sent, and nothing overwritten.
func TestEntryThatCannotBeReadIsNotOverwritten(t *testing.T) {
	for _, entry := range []string{`{"format":1}`, `{`, `{"format":2,"made":7}`} {
		bubbleOf(t, entry, func(t *testing.T, w *world) {
			w.write(t, "a", entry)
			p := w.process(t)
			assert.ErrorContains(t, p.fails(t, "unknown", job("a")), "the ledger's entry cannot be read")
			assert.Equal(t, "unknown", outcome(p.Images.Delete(p, "a")))
			assert.Empty(t, w.Requests())
			data, _, err := w.Ledger.Get(t.Context(), p.Key("images", "a"))
			require.NoError(t, err)
			assert.Equal(t, entry, string(data))
		})
	}
}

// A call that ends early says what is known, and the next one knows it, too.
func TestCallThatEndsEarlySaysWhatIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, 3*time.Minute))
		for n := range 3 {
			err := p.within(t, 50*time.Second).fails(t, "unknown, retryable", job("a"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			var response *aicontent.APIError
			assert.Equal(t, n == 0, errors.As(err, &response), "the response to the request stays in the error")
		}
		assert.Equal(t, 3*50*time.Second, time.Since(w.start))
		time.Sleep(time.Minute)
		p.finds(t, job("a"))
		w.requireRecords(t, 1)
	})
}

// The service asks for a pause between searches. One of a day does not hold the call until then.
func TestRetryAfterIsObeyed(t *testing.T) {
	for seconds, takes := range map[string]time.Duration{"100": 100 * time.Second, "86400": settle} {
		bubbleOf(t, seconds, func(t *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(503, 2*time.Second).WithRetryAfter("90"))
			w.FaultOn(aicontent.ImagesList, 1, emptyList)
			w.FaultOn(aicontent.ImagesList, 1, kit.Status(429, `{}`).WithRetryAfter(seconds))
			w.process(t).creates(t, job("a"))
			assert.Equal(t, takes, time.Since(w.start))
		})
	}
}

// An attempt that panics may have been executed. The name is free at once, and its record looked for.
func TestRecordOfAnAttemptThatPanicsIsFound(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		client, err := once.New(w.Client(afterStore(func(*http.Response) (*http.Response, error) {
			panic("a middleware")
		})), w.Ledger)
		require.NoError(t, err)
		assert.Panics(t, func() { client.Images.Store(t.Context(), job("a")) })
		w.process(t).finds(t, job("a"))
		w.requireRecords(t, 1)
	})
}

// Nobody can recover from a panic in a goroutine of the package.
func TestALedgerThatPanicsWhileARequestIsSentDoesNotEndTheProcess(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Ledger.before = func(n int, _, _ string) {
			if n == 2 {
				panic("a ledger")
			}
		}
		p := w.process(t)
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		w.requireRecords(t, 1)
	}, kit.LatencyOn(aicontent.ImagesStore, time.Minute))
}

// A hook sees all requests, and can tell searches.
func TestIsSearchTellsSearchesFromOtherRequests(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		var seen []string
		hook := aicontent.WithAttemptHook(func(ctx context.Context, a aicontent.Attempt) (done, error) {
			seen = append(seen, fmt.Sprint(a.Operation, " ", once.IsSearch(ctx)))
			return nil, nil
		})
		for range 2 {
			_, _, err := p.Images.Store(p, job("a"), hook)
			require.NoError(t, err)
		}
		require.NoError(t, p.Images.Delete(p, "a", hook))
		assert.Equal(t, "images.list true, images.store false, images.show true, images.show true, images.delete false",
			strings.Join(seen, ", "))
	})
}

// A hook that refuses the create request has sent nothing, and the name is as before. A cancelled request of its own is
// no cancellation of the call.
func TestHookThatRefusesLeavesTheNameFree(t *testing.T) {
	for _, own := range []error{errors.New("the day's limit"), fmt.Errorf("the hook's own: %w", context.Canceled)} {
		bubbleOf(t, own.Error(), func(t *testing.T, w *world) {
			p := w.process(t)
			hook := aicontent.WithAttemptHook(func(ctx context.Context, _ aicontent.Attempt) (done, error) {
				if once.IsSearch(ctx) {
					return nil, nil
				}
				return nil, own
			})
			err := p.fails(t, "not executed, retryable", job("a"), hook)
			assert.ErrorIs(t, err, own)
			assert.ErrorContains(t, err, own.Error())
			assert.NotContains(t, err.Error(), "%!")
			p.creates(t, job("a"))
		})
	}
}

// Arguments that are invalid send nothing.
func TestInvalidArgumentsSendNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		params := job("a")
		params.Resolution = "7x7"
		_, _, err := p.Images.Store(p, params)
		invalid, ok := err.(*aicontent.ValidationError)
		require.True(t, ok, "%v", err)
		assert.Equal(t, "resolution", invalid.Problems[0].Field)
		for name, reason := range map[string]string{
			"": "is required", " \n": "is required", "\u200b\ufeff": "is required", "\xff": "must be valid UTF-8",
		} {
			_, _, err := p.Images.Store(p, job(name))
			require.IsType(t, invalid, err)
			assert.ErrorContains(t, err, reason)
		}
		_, found := p.Transcriptions.Find(p, " ")
		for _, err := range []error{found, p.Images.Delete(p, " ")} {
			assert.Equal(t, "not executed", outcome(err))
			assert.ErrorAs(t, err, &invalid)
		}
		assert.Empty(t, w.Requests())
	})
}

// The error of a request that is refused for good is returned without a wait.
func TestStoreThatIsRefusedForGoodEndsWithoutAWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(402, `{"message":"no credit"}`))
		err := p.fails(t, "not executed", job("a"))
		assert.EqualError(t, err, `once: images "a": images.store: 402: no credit (outcome not executed)`)
		assert.Zero(t, time.Since(w.start))
	})
}

// The text of a request whose outcome was Unknown at first has only the outcome of the record.
func TestAnErrorHasOneOutcomeInItsText(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(403))
		err := w.process(t).fails(t, "not executed, retryable", job("a"))
		assert.EqualError(t, err, `once: images "a": no record came of the create request; `+
			"the create request failed: 403 Forbidden (outcome not executed)")
		response, ok := errors.AsType[*aicontent.APIError](err)
		require.True(t, ok)
		assert.Equal(t, http.StatusForbidden, response.StatusCode, "the response stays in the error")
	})
}

// As long as the ledger announces the request, other calls wait for its record: the error says so.
func TestARefusalIsUnknownIfTheAnnouncementCannotBeTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Ledger.fail = func(n int, _ string) (bool, error) {
			if n > 1 {
				return false, errDisk
			}
			return false, nil
		}
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(402, `{"message":"no credit"}`))
		err := w.process(t).fails(t, "unknown, retryable", job("a"))
		assert.ErrorContains(t, err, errDisk.Error())
		assert.Equal(t, w.start.Add(margin+settle).UTC(), err.Until)
	})
}

// This process was suspended, and another one has announced a request of its own.
func TestARefusalIsNotSaidBesideTheRequestOfAnotherCall(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		time.AfterFunc(20*time.Second, func() { w.write(t, "a", openUntil(17)) })
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(402, `{"message":"no credit"}`))
		err := w.process(t, once.WithMaxWait(0)).fails(t, "unknown, retryable", job("a"))
		assert.ErrorIs(t, err, once.ErrMaxWait)
		assert.Equal(t, w.start.Add(17*time.Minute).UTC(), err.Until)
	}, kit.LatencyOn(aicontent.ImagesStore, 25*time.Second))
}

// A response may arrive whole although its request was cut off: the record is returned.
func TestAResponseThatArrivesAfterTheCutOffIsReturned(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Ledger.fail = func(n int, _ string) (bool, error) {
			if n > 1 && time.Since(w.start) < 2*time.Minute {
				return false, errDisk
			}
			return false, nil
		}
		deaf := aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return fakes.RoundTripper(func(req *http.Request) (*http.Response, error) {
				if req.Method != http.MethodPost {
					return next.RoundTrip(req)
				}
				resp, err := next.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
				if err == nil {
					var body []byte
					body, err = io.ReadAll(resp.Body)
					resp.Body = io.NopCloser(bytes.NewReader(body))
				}
				return resp, err
			})
		})
		client, err := once.New(w.Client(deaf), w.Ledger)
		require.NoError(t, err)
		image, found, err := client.Images.Store(t.Context(), job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.NotEmpty(t, image.ID)
		assert.Equal(t, 3*time.Minute, time.Since(w.start))
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
	}, kit.LatencyOn(aicontent.ImagesStore, 3*time.Minute), lagging(time.Hour))
}

// Several records with the name: none of them can be told to be the one that is meant.
func TestSeveralRecordsOfANameAreAConflict(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for range 2 {
			w.AddImage(listed("a"))
		}
		var conflict *aicontent.ConflictError
		err := w.process(t).fails(t, "executed", job("a"))
		require.ErrorAs(t, err, &conflict)
		assert.Len(t, conflict.IDs, 2)
		assert.EqualError(t, err, `once: images "a": images.findByName: name "a": `+
			"more than one record has the name (id 2, 1) (outcome executed)")
		assert.Zero(t, w.requests(aicontent.ImagesStore))
	})
}

func TestNewRefusesWhatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	bubble(t, func(t *testing.T, w *world) {
		client := w.Client()
		for _, c := range []struct {
			ledger once.Ledger
			opt    once.Option
			says   string
		}{
			{nil, once.WithScope("eu"), "ledger: must not be nil: InMemory or Dir returns one"},
			{once.Dir(""), once.WithScope("eu"), "ledger: must be a usable folder: mkdir : no such file or directory"},
			{w.Ledger, once.WithSettleTime(30), "settle_time \"30ns\": must be 0 or at least 1ms"},
			{w.Ledger, once.WithMaxWait(-1), "max_wait \"-1ns\": must not be negative"},
			{nil, once.WithSettleTime(-1), "ledger: must not be nil: InMemory or Dir returns one; " +
				"settle_time \"-1ns\": must be 0 or at least 1ms"},
		} {
			_, err := once.New(client, c.ledger, c.opt)
			require.EqualError(t, err, "once.New: "+c.says)
			require.ErrorAs(t, err, new(*aicontent.ValidationError))
		}
		_, err := once.New(client, once.Dir(file))
		require.ErrorAs(t, err, new(*aicontent.ValidationError))
		require.ErrorContains(t, err, "must be a usable folder: mkdir "+file+": ")
	})
}

// Accounts of one base URL do not meet, though they share a ledger.
func TestWithScopeKeepsAccountsApart(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		eu, us := w.process(t, once.WithScope("eu")), w.process(t, once.WithScope("us"))
		image := eu.creates(t, job("a"))
		require.NoError(t, w.Client().Images.Delete(eu, image.ID))
		us.creates(t, job("a"))
	})
}

func TestWithSettleTimeSaysHowLongToWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for _, d := range []time.Duration{0, time.Millisecond, time.Minute} {
			p := w.process(t, once.WithSettleTime(d))
			w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
			start := time.Now()
			p.fails(t, "not executed, retryable", job(fmt.Sprint(d)))
			assert.Equal(t, d, time.Since(start))
		}
	})
}

// A program that never sends twice may give the longest duration there is.
func TestTheLongestSettleTimeIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t, once.WithSettleTime(math.MaxInt64))
		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, 30*time.Minute))
		p.creates(t, job("a"))
		w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
		p.within(t, time.Hour).fails(t, "unknown, retryable", job("b"))
		p.within(t, time.Hour).fails(t, "unknown, retryable", job("b"))
		assert.Equal(t, 2, w.requests(aicontent.ImagesStore))
	})
}

// A service may send anything as a name, even the API key.
func TestNoLineOfTheLogHasANameThatTheServiceSent(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		p := w.process(t, once.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		assert.Equal(t, "aicontenttest-key", p.creates(t, job("a")).Name)
		w.FaultOn(aicontent.ImagesShow, 1, lacks)
		p.finds(t, job("a"))
		assert.Contains(t, log.String(), "name=a")
		assert.NotContains(t, log.String(), w.APIKey)
		assert.NotContains(t, w.Ledger.last, w.APIKey)
	}, kit.OnResponse(func(r *kit.Response) {
		body, _ := r.JSON().(map[string]any)
		if data, ok := body["data"].(map[string]any); ok {
			data["name"] = "aicontenttest-key"
			r.SetJSON(body)
		}
	}))
}

// The log says what a call waits for, and nothing that the service sent, a description or a key.
func TestWithLoggerSaysWhatIsWaitedForAndNoContent(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		p := w.process(t, once.WithLogger(nil), once.WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, time.Second))
		params := job("a")
		params.Description = "secret prompt"
		p.creates(t, params)
		var line map[string]any
		require.NoError(t, json.Unmarshal(log.Bytes(), &line), log.String())
		assert.Equal(t, "images", line["collection"])
		assert.Equal(t, "a", line["name"])
		assert.Equal(t, w.start.Add(settle).Format(time.RFC3339), line["until"])
		assert.NotContains(t, log.String(), "secret")
		assert.NotContains(t, w.Ledger.last, "secret")
	})
}
