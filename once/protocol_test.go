package once_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

var errDisk = errors.New("disk full")

// What a call costs, as the package doc says.
func TestCosts(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		cost := func(call func() error) [5]int {
			w.Ledger.gets, w.Ledger.puts = 0, 0
			w.ResetBook()
			require.NoError(t, call())
			return [5]int{w.Ledger.gets, w.Ledger.puts, w.requests(kit.ImagesList), w.requests(kit.ImagesShow),
				len(w.Requests()) - w.requests(kit.ImagesList) - w.requests(kit.ImagesShow)}
		}
		store := func(name string) func() error {
			return func() error { _, _, err := p.Images.Store(p, job(name)); return err }
		}
		assert.Equal(t, [5]int{1, 2, 1, 0, 1}, cost(store("a")), "a new record")
		assert.Equal(t, [5]int{1, 0, 0, 1, 0}, cost(store("a")), "a record that the ledger knows")
		w.AddImage(kit.Image{Name: "b", Description: "d", Resolution: "256x256"})
		assert.Equal(t, [5]int{1, 1, 1, 1, 0}, cost(store("b")), "a record that only the service knows")
		assert.Equal(t, [5]int{1, 1, 0, 1, 1}, cost(func() error { return p.Images.Delete(p, "a") }))
		assert.Equal(t, [5]int{2, 0, 1, 0, 0}, cost(func() error {
			_, err := p.Images.Find(p, "c")
			require.ErrorIs(t, err, aicontent.ErrNotFound)
			return nil
		}))
	})
}

// Each Put of a call fails, or is written although it fails: there is one record, and no false word on it.
func TestLedgerThatFails(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, written := range []bool{false, true} {
			for _, times := range []int{1, 100} {
				t.Run(fmt.Sprintf("Put %d, written %v, %d times", n, written, times), func(t *testing.T) {
					bubble(t, func(t *testing.T, w *world) {
						p := w.process(t)
						w.Ledger.fail = func(k int, _ string) (bool, error) {
							if k >= n && k < n+times {
								return written && k == n, errDisk
							}
							return false, nil
						}
						image, found, err := p.Images.Store(p, job("a"))
						if n == 2 || times == 1 || written {
							require.NoError(t, err)
							assert.False(t, found)
							assert.Equal(t, "a", image.Name)
							w.require1(t)
						} else {
							require.Equal(t, "not executed, retryable", outcome(err), "a full disk: %v", err)
							assert.ErrorIs(t, err, errDisk)
							assert.Zero(t, w.requests(kit.ImagesStore), "nothing is sent that was not noted")
						}
						w.Ledger.fail = nil
						q := w.process(t)
						_, _, err = q.Images.Store(q, job("a"))
						require.NoError(t, err)
						w.require1(t)
					})
				})
			}
		}
	}
}

// A request whose announcement cannot be renewed is cut off before another process may send one.
func TestLedgerThatFailsWhileSending(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		time.AfterFunc(time.Second, func() {
			w.Ledger.mu.Lock()
			defer w.Ledger.mu.Unlock()
			w.Ledger.fail = func(int, string) (bool, error) { return false, errDisk }
		})
		var cut time.Duration
		hook := aicontent.WithAttemptHook(func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
			if a.Operation != aicontent.ImagesStore {
				return nil, nil
			}
			return func(aicontent.AttemptResult) {
				w.Ledger.fail = nil
				cut = time.Since(w.start)
			}, nil
		})
		ctx, cancel := context.WithTimeout(p, 2*time.Minute)
		defer cancel()
		_, _, err := p.Images.Store(ctx, job("a"), hook)
		require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.ErrorContains(t, err, "the ledger could not be written in time")
		assert.NotErrorIs(t, err, context.Canceled, "nobody has cancelled")
		assert.Equal(t, margin-15*time.Second, cut)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found, "what it was cut off from is found")
		w.require1(t)
	}, kit.LatencyOn(kit.ImagesStore, 5*time.Minute))
}

// What was announced counts from the beginning of a Put, as others may see it from then on. One that took too long is
// none.
func TestLedgerThatIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.Ledger.before = func(n int, _ string, _ []byte, _ string) { time.Sleep(2 * time.Minute) }
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "not executed, retryable", outcome(err), "%v", err)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.Zero(t, w.requests(kit.ImagesStore))

		// One that was written, and nothing sent after it, is taken back.
		w.Ledger.before = nil
		n := 0
		slow := funcs{w.Ledger.Get, func(ctx context.Context, key string, entry []byte, version string) (string, error) {
			if n++; n == 1 {
				time.Sleep(2 * time.Minute)
			}
			return w.Ledger.Put(context.WithoutCancel(ctx), key, entry, version)
		}}
		client, err := once.New(w.Client(), slow)
		require.NoError(t, err)
		_, _, err = client.Images.Store(p, job("b"))
		require.Equal(t, "not executed, retryable", outcome(err), "%v", err)
		assert.Zero(t, w.requests(kit.ImagesStore))
		_, err = p.Images.Find(p, "b")
		require.ErrorIs(t, err, aicontent.ErrNotFound, "nobody waits for it")
		assert.Equal(t, 4*time.Minute, time.Since(w.start).Truncate(time.Minute))
	})
}

// A heartbeat that seemed to fail arrives late, just before the result: it is the call's own, and nothing is lost.
func TestHeartbeatThatArrivesLate(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.Ledger.before = func(k int, key string, entry []byte, version string) {
			if k != 2 {
				return
			}
			before, _, err := w.Ledger.Ledger.Get(t.Context(), key)
			require.NoError(t, err)
			late := bytes.Replace(before, []byte(`"until":"2000-01-01T00:17:00Z"`), []byte(`"until":"2000-01-01T00:17:01Z"`), 1)
			require.NotEqual(t, before, late)
			_, err = w.Ledger.Ledger.Put(t.Context(), key, late, version)
			require.NoError(t, err)
		}
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Contains(t, w.Ledger.last, "made")
		w.require1(t)
	})
}

const another = `{"format":2,"collection":"images","name":"a","call":"other"%s}`

// Another call wrote the entry while this one was sending, as this process was suspended: its request is cut off.
func TestRequestThatIsOvertaken(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t, once.WithMaxWait(time.Minute))
		time.AfterFunc(20*time.Second, func() {
			w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:17:20Z"`))
		})
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.ErrorContains(t, err, "another call has written the ledger's entry")
		assert.Contains(t, w.Ledger.last, `"c`, "what is another's is left alone")
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
		assert.Less(t, time.Since(w.start), 2*time.Minute)
	}, kit.LatencyOn(kit.ImagesStore, 5*time.Minute))
}

// Another process found the record while this one was still waiting for the response: that is this request's own, which
// is paid for, and the response is worth waiting for.
func TestRequestWhoseRecordIsFound(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		time.AfterFunc(20*time.Second, func() {
			w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T00:17:00Z","made":"2000-01-01T00:00:20Z","id":"1"`))
		})
		image, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, aicontent.ID("1"), image.ID)
		assert.Equal(t, 5*time.Minute, time.Since(w.start))
	}, kit.LatencyOn(kit.ImagesStore, 5*time.Minute))
}

// A long request stays announced, and nobody else sends.
func TestLongRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p, q := w.process(t), w.process(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, found, err := p.Images.Store(p, job("a"), aicontent.WithStoreTimeout(0))
			assert.NoError(t, err)
			assert.False(t, found)
		})
		wg.Go(func() {
			time.Sleep(time.Second)
			_, found, err := q.Images.Store(q, job("a"))
			assert.NoError(t, err)
			assert.True(t, found)
			assert.Less(t, time.Since(w.start), 40*time.Minute+2*time.Second, "a new version ends the pause")
		})
		wg.Wait()
		w.require1(t)
		assert.Equal(t, 2+79, w.Ledger.puts, "a heartbeat every 30 seconds")
		assert.LessOrEqual(t, w.requests(kit.ImagesList), 1+6+79, "no heartbeat ends a pause")
	}, kit.LatencyOn(kit.ImagesStore, 40*time.Minute-time.Second))
}

// A clock that is ahead is not waited for: the limit is what a correct one could have written.
func TestClockThatIsAhead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var buf bytes.Buffer
		p := w.process(t, once.WithLogger(slog.New(slog.NewTextHandler(&buf, nil))))
		w.write(t, "a", fmt.Sprintf(another, `,"until":"2000-01-01T03:00:00Z"`))
		ctx, cancel := context.WithTimeout(p, time.Minute)
		defer cancel()
		_, _, err := p.Images.Store(ctx, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err))
		e, _ := errors.AsType[*once.Error](err)
		assert.Equal(t, w.start.Add(margin+settle).UTC(), e.Until)
		assert.Contains(t, buf.String(), "ahead")
		start := time.Now()
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, margin+settle, time.Since(start))
	})
}

// Nobody says that there is no record while another call may have announced its request since the search.
func TestNothingIsSaidOfWhatIsAnnounced(t *testing.T) {
	for _, what := range []string{"found", "none", "unreadable", "blank"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t, once.WithMaxWait(0))
				key := w.key(t, "a")
				first := true
				write := func(entry string) {
					_, version, err := w.Ledger.Ledger.Get(t.Context(), key)
					require.NoError(t, err)
					_, err = w.Ledger.Ledger.Put(t.Context(), key, []byte(entry), version)
					require.NoError(t, err)
				}
				hook := aicontent.WithAttemptHook(func(context.Context, aicontent.Attempt) (func(aicontent.AttemptResult), error) {
					if !first {
						return nil, nil
					}
					first = false
					return func(aicontent.AttemptResult) {
						switch what {
						case "found":
							w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
							write(fmt.Sprintf(another, `,"made":"2000-01-01T00:00:00Z","id":"1"`))
						case "none":
							write(fmt.Sprintf(another, `,"until":"2000-01-01T00:17:00Z"`))
						case "unreadable":
							write(`{`)
						case "blank":
							write(fmt.Sprintf(another, ``))
						}
					}, nil
				})
				_, err := p.Images.Find(p, "a", hook)
				assert.Equal(t, map[string]string{
					"found": "ok", "none": "unknown, retryable", "unreadable": "unknown", "blank": "not executed",
				}[what], outcome(err), "%v", err)
			})
		})
	}
}

// A call that would wait for longer than it may ends at once, and says when to call again. It ends no request.
func TestWithMaxWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t, once.WithMaxWait(40*time.Second))
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, 3*time.Minute))
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.ErrorContains(t, err, "an earlier request may still create it")
		assert.ErrorContains(t, err, "504")
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		e, _ := errors.AsType[*once.Error](err)
		assert.Equal(t, w.start.Add(settle).UTC(), e.Until)
		assert.Equal(t, 40*time.Second, time.Since(w.start), "the last pause is shorter")
		assert.Equal(t, 1+1+6, w.requests(kit.ImagesList), "after 0, 1, 3, 7, 15, 31 and 40 seconds")
	})
}

// Without any wait, a call that would have to queue ends. A request under way is not ended.
func TestWithoutAnyWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		none := w.process(t, once.WithMaxWait(0))
		done := make(chan error)
		start := time.Now()
		go func() {
			_, _, err := none.Images.Store(none, job("slow"))
			done <- err
		}()
		time.Sleep(time.Minute)
		_, _, err := none.Images.Store(none, job("slow"))
		require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.Equal(t, time.Minute, time.Since(start))
		require.NoError(t, <-done, "a request under way is never ended by it")
		assert.Equal(t, 2*time.Minute, time.Since(start))
		_, found, err := none.Images.Store(none, job("slow"))
		require.NoError(t, err)
		assert.True(t, found)
	}, kit.LatencyOn(kit.ImagesStore, 2*time.Minute))
}

// Calls of one process for one name go one after the other, whichever client they have: a double click costs no second
// search. Who leaves the queue early says what the ledger says.
func TestCallsOfOneProcess(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ledger := once.InMemory()
		client := func() *once.Client {
			c, err := once.New(w.Client(), ledger)
			require.NoError(t, err)
			return c
		}
		a, b := client(), client()
		var wg sync.WaitGroup
		for _, c := range []*once.Client{a, b, a} {
			wg.Go(func() {
				_, _, err := c.Images.Store(t.Context(), job("a"))
				assert.NoError(t, err)
			})
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := b.Images.Store(ctx, job("a"))
		assert.Equal(t, "unknown, retryable", outcome(err))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		e, _ := errors.AsType[*once.Error](err)
		assert.Equal(t, w.start.Add(margin+settle).UTC(), e.Until)
		wg.Wait()
		assert.Equal(t, 1, w.requests(kit.ImagesList))
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
		assert.Equal(t, 2, w.requests(kit.ImagesShow))
		_, _, err = b.Images.Store(ctx, job("a"))
		assert.Equal(t, "executed, retryable", outcome(err), "it ended before it began")
	}, kit.LatencyOn(kit.ImagesStore, time.Minute/2))
}

// A ledger that cannot be compared is one for each client.
func TestLedgerThatCannotBeCompared(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		client, err := once.New(w.Client(), funcs{w.Ledger.Get, w.Ledger.Put})
		require.NoError(t, err)
		_, _, err = client.Images.Store(t.Context(), job("a"))
		require.NoError(t, err)
	})
}

type funcs struct {
	get func(context.Context, string) ([]byte, string, error)
	put func(context.Context, string, []byte, string) (string, error)
}

func (f funcs) Get(ctx context.Context, key string) ([]byte, string, error) { return f.get(ctx, key) }
func (f funcs) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	return f.put(ctx, key, entry, version)
}

// What is paid for is not given up for a proxy's page, and a file that is gone is not looked at.
func TestKnownRecordThatCannotBeShown(t *testing.T) {
	for name, c := range map[string]struct {
		fault kit.Fault
		want  string
	}{
		"proxy": {kit.HTMLPage(200), "executed, retryable"}, "404": {kit.HTMLPage(404), "executed, retryable"},
		"firewall": {kit.HTMLPage(403), "executed, retryable"}, "403": {kit.Status(403, `{"message":"no"}`), "executed"},
		"401": {kit.Status(401, `{}`), "executed, retryable"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t)
				text, _, err := p.Transcriptions.Store(p, recording("a"))
				require.NoError(t, err)
				params := recording("a")
				params.File = aicontent.FileFromPath("is gone")
				w.FaultOn(kit.TranscriptionsShow, 1, c.fault)
				_, _, err = p.Transcriptions.Store(p, params)
				require.Equal(t, c.want, outcome(err), "%v", err)
				e, _ := errors.AsType[*once.Error](err)
				assert.Equal(t, text.ID, e.ID)
				_, found, err := p.Transcriptions.Store(p, params)
				require.NoError(t, err)
				assert.True(t, found)
			})
		})
	}
}

// A file is looked at before it is sent, and its error is the record's.
func TestFileThatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		params := recording("a")
		params.File = aicontent.FileFromPath("is gone")
		_, _, err := p.Transcriptions.Store(p, params)
		require.Equal(t, "not executed", outcome(err), "%v", err)
		require.ErrorIs(t, err, aicontent.ErrFile)
		require.ErrorAs(t, err, new(*once.Error))

		w.FaultOn(kit.TranscriptionsStore, 1, kit.HTMLPage(504))
		ctx, cancel := context.WithTimeout(p, time.Minute)
		defer cancel()
		_, _, err = p.Transcriptions.Store(ctx, recording("a"))
		require.Equal(t, "unknown, retryable", outcome(err))
		ctx, cancel = context.WithTimeout(p, time.Minute)
		defer cancel()
		_, _, err = p.Transcriptions.Store(ctx, params)
		require.Equal(t, "unknown, retryable", outcome(err), "an earlier request is open: %v", err)
	})
}

// Show may leave the ID out: the ledger knows it.
func TestDeleteWhereShowHasNoID(t *testing.T) {
	hide := kit.OnResponse(func(r *kit.Response) {
		if r.Request.Method == http.MethodGet && r.Request.RecordID != "" {
			r.SetJSON(map[string]any{"data": map[string]any{"name": "a"}})
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		require.NoError(t, p.Images.Delete(p, "a"))
		assert.Zero(t, w.count())
	}, hide)
}

// Delete of a record that is gone, or that a replica does not show yet, frees the name at once.
func TestDeleteOfARecordThatShowDoesNotKnow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		w.FaultOn(kit.ImagesShow, 1, kit.Status(404, `{"message":"no"}`))
		require.NoError(t, p.Images.Delete(p, "a"))
		assert.Zero(t, w.count())

		image, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		require.NoError(t, w.Client().Images.Delete(p, image.ID))
		require.NoError(t, p.Images.Delete(p, "a"))
		_, err = p.Images.Find(p, "a")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Zero(t, time.Since(w.start))
	})
}

// A firewall's page says nothing of the request: nobody waits, and the next call finds what was paid.
func TestStoreBehindAFirewall(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(403).Acting())
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		e, _ := errors.AsType[*once.Error](err)
		assert.Equal(t, w.start.Add(settle).UTC(), e.Until)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Zero(t, time.Since(w.start))
		w.require1(t)
	})
}

// An entry that cannot be read may be of a newer version: nothing is sent, and nothing overwritten.
func TestEntryThatCannotBeRead(t *testing.T) {
	for _, entry := range []string{`{"format":1}`, `{`, `{"format":2,"made":7}`} {
		bubble := func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.write(t, "a", entry)
				w.ResetBook()
				p := w.process(t)
				_, _, err := p.Images.Store(p, job("a"))
				require.Equal(t, "unknown", outcome(err))
				assert.ErrorContains(t, err, "the ledger's entry cannot be read")
				assert.Equal(t, "unknown", outcome(p.Images.Delete(p, "a")))
				assert.Empty(t, w.Requests())
				data, _, err := w.Ledger.Get(t.Context(), w.key(t, "a"))
				require.NoError(t, err)
				assert.Equal(t, entry, string(data))
			})
		}
		t.Run(entry, bubble)
	}
}

// A call that ends early says what is known, and the next one knows it, too.
func TestContextThatEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, 3*time.Minute))
		for n := range 3 {
			ctx, cancel := context.WithTimeout(p, 50*time.Second)
			_, _, err := p.Images.Store(ctx, job("a"))
			cancel()
			require.Equal(t, "unknown, retryable", outcome(err))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, n == 0, errors.As(err, new(*aicontent.APIError)), "what the request came to stays in the error")
		}
		assert.Equal(t, 3*45*time.Second, time.Since(w.start), "the last pause leaves five seconds for a search")
		time.Sleep(time.Minute)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		w.require1(t)

		ended, cancel := context.WithCancel(p)
		cancel()
		w.ResetBook()
		_, _, err = p.Images.Store(ended, job("new"))
		require.Equal(t, "unknown, retryable", outcome(err))
		assert.Empty(t, w.Requests())
	})
}

// The service asks for a pause between searches. One of a day does not hold the call until then.
func TestRetryAfterIsObeyed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(503, 2*time.Second).WithRetryAfter("90"))
		w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
		w.FaultOn(kit.ImagesList, 1, kit.Status(429, `{}`).WithRetryAfter("100"))
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.Equal(t, 100*time.Second, time.Since(w.start))
		for _, fault := range []kit.Fault{kit.Status(200, `{"data":[]}`), kit.Status(429, `{}`).WithRetryAfter("86400")} {
			w.FaultOn(kit.ImagesList, 1, fault)
		}
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, 2*time.Second))
		start := time.Now()
		_, _, err = p.Images.Store(p, job("b"))
		require.NoError(t, err)
		assert.Equal(t, settle, time.Since(start))
	})
}

// An attempt that panics may have been executed. The name is free at once, and its record looked for.
func TestPanic(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		middleware := aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(req)
				if req.Method == http.MethodPost {
					panic("a middleware")
				}
				return resp, err
			})
		})
		client, err := once.New(w.Client(middleware), w.Ledger)
		require.NoError(t, err)
		assert.Panics(t, func() { client.Images.Store(p, job("a")) })
		w.require1(t)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		w.require1(t)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A hook sees all requests, and can tell searches.
func TestIsSearch(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		var seen []string
		hook := aicontent.WithAttemptHook(func(ctx context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
			seen = append(seen, fmt.Sprint(a.Operation, " ", once.IsSearch(ctx)))
			return nil, nil
		})
		_, _, err := p.Images.Store(p, job("a"), hook)
		require.NoError(t, err)
		_, _, err = p.Images.Store(p, job("a"), hook)
		require.NoError(t, err)
		require.NoError(t, p.Images.Delete(p, "a", hook))
		assert.Equal(t, "images.list true, images.store false, images.show true, images.show true, images.delete false",
			strings.Join(seen, ", "))
	})
}

// A hook that refuses the create request has sent nothing, and the name is as before.
func TestHookThatRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		limit := errors.New("the day's limit")
		hook := aicontent.WithAttemptHook(func(ctx context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
			if once.IsSearch(ctx) {
				return nil, nil
			}
			return nil, limit
		})
		_, _, err := p.Images.Store(p, job("a"), hook)
		require.Equal(t, "not executed, retryable", outcome(err))
		require.ErrorIs(t, err, limit)
		_, _, err = p.Images.Store(p, job("a"))
		require.NoError(t, err)
	})
}

// Other errors of Store are what they are.
func TestStoreThatIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		params := job("a")
		params.Resolution = "7x7"
		_, _, err := p.Images.Store(p, params)
		invalid, ok := err.(*aicontent.ValidationError)
		require.True(t, ok, "%v", err)
		assert.Equal(t, "resolution", invalid.Problems[0].Field)
		for _, name := range []string{"", " \n", "\xff"} {
			w.ResetBook()
			_, _, err := p.Images.Store(p, job(name))
			require.IsType(t, invalid, err)
			_, err = p.Transcriptions.Find(p, name)
			require.IsType(t, invalid, err)
			require.IsType(t, invalid, p.Images.Delete(p, name))
			assert.Empty(t, w.Requests())
		}
		//lint:ignore SA1012 a nil context is an error, and no panic
		_, err = p.Images.Find(nil, "a")
		require.IsType(t, invalid, err)

		w.FaultOn(kit.ImagesStore, 1, kit.Status(402, `{"message":"no credit"}`))
		_, _, err = p.Images.Store(p, job("a"))
		require.Equal(t, "not executed", outcome(err))
		assert.Equal(t, `once: images "a": images.store: 402: no credit (outcome not executed)`, err.Error())
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(501))
		_, _, err = p.Images.Store(p, job("a"))
		require.Equal(t, "unknown", outcome(err))
		assert.Zero(t, time.Since(w.start), "what is not retryable is not waited for")
	})
}

// Several records with the name: nobody knows which one is meant.
func TestSeveralRecords(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		for range 2 {
			w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
		}
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "executed", outcome(err))
		conflict, ok := errors.AsType[*aicontent.ConflictError](err)
		require.True(t, ok)
		assert.Len(t, conflict.IDs, 2)
		assert.Zero(t, w.requests(kit.ImagesStore))
	})
}

func TestNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	bubble(t, func(t *testing.T, w *world) {
		for field, call := range map[string]func() (*once.Client, error){
			"client":      func() (*once.Client, error) { return once.New(nil, once.InMemory()) },
			"ledger":      func() (*once.Client, error) { return once.New(w.Client(), nil) },
			"settle_time": func() (*once.Client, error) { return once.New(w.Client(), w.Ledger, once.WithSettleTime(30)) },
			"max_wait":    func() (*once.Client, error) { return once.New(w.Client(), w.Ledger, once.WithMaxWait(-1)) },
			"option":      func() (*once.Client, error) { return once.New(w.Client(), w.Ledger, nil) },
			// A folder that cannot be created fails here, and not at the first Store as something that passes.
			"folder": func() (*once.Client, error) { return once.New(w.Client(), once.Dir(file)) },
		} {
			_, err := call()
			invalid, ok := errors.AsType[*aicontent.ValidationError](err)
			require.True(t, ok, "%v", err)
			require.ErrorContains(t, err, "once.New: ")
			assert.Equal(t, strings.Replace(field, "folder", "ledger", 1), invalid.Problems[0].Field)
		}
		_, err := once.New(&aicontent.Client{}, nil, once.WithSettleTime(-1), nil)
		invalid, _ := errors.AsType[*aicontent.ValidationError](err)
		assert.Len(t, invalid.Problems, 4)
	})
}

// Accounts of one base URL do not meet, though they share a ledger.
func TestWithScope(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p, q := w.process(t, once.WithScope("eu")), w.process(t, once.WithScope("us"))
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		require.NoError(t, q.Images.Delete(q, "a"))
		_, found, err := q.Images.Store(q, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Len(t, w.Ledger.keys, 2)
		_, err = once.New(w.Client(), once.Dir(""))
		require.ErrorContains(t, err, "empty", "an unset variable")
	})
}

func TestWithSettleTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for d, want := range map[time.Duration]time.Duration{0: 0, time.Minute: time.Minute} {
			p := w.process(t, once.WithSettleTime(d))
			w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
			start := time.Now()
			_, _, err := p.Images.Store(p, job(fmt.Sprint(d)))
			require.Equal(t, "not executed, retryable", outcome(err))
			assert.Equal(t, want, time.Since(start))
		}
	})
}

// The log says what a call waits for, and no description or key.
func TestWithLogger(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var buf bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&buf, nil))
		p := w.process(t, once.WithLogger(nil), once.WithLogger(log))
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, time.Second))
		params := job("a")
		params.Description = "secret prompt"
		_, _, err := p.Images.Store(p, params)
		require.NoError(t, err)
		var line map[string]any
		require.NoError(t, json.Unmarshal(buf.Bytes(), &line), buf.String())
		assert.Equal(t, "images", line["collection"])
		assert.Equal(t, "a", line["name"])
		assert.Equal(t, w.start.Add(settle).Format(time.RFC3339), line["until"])
		assert.NotContains(t, buf.String(), "secret")
		assert.NotContains(t, w.Ledger.last, "secret")

		buf.Reset()
		w.Ledger.fail = func(n int, entry string) (bool, error) {
			if strings.Contains(entry, "made") {
				return false, errDisk
			}
			return false, nil
		}
		_, _, err = p.Images.Store(p, job("b"))
		require.NoError(t, err, "a record that is there is no failure")
		assert.Contains(t, buf.String(), "disk full")
	})
}
