package once_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
		assert.Equal(t, [5]int{1, 3, 1, 0, 1}, cost(store("a")), "a new record")
		assert.Equal(t, [5]int{1, 0, 0, 1, 0}, cost(store("a")), "a record that the ledger knows")
		w.AddImage(kit.Image{Name: "b", Description: "d", Resolution: "256x256"})
		assert.Equal(t, [5]int{1, 2, 1, 1, 0}, cost(store("b")), "a record that only the service knows")
		assert.Equal(t, [5]int{1, 2, 0, 1, 1}, cost(func() error { return p.Images.Delete(p, "a") }))
	})
}

// Each Put of a call fails, or is written although it fails: there is one record, and no false word on it.
func TestLedgerThatFails(t *testing.T) {
	for n := 1; n <= 3; n++ {
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
						switch {
						case times == 1 || n == 3 || written && n == 2 && times > 1 && err == nil:
							require.NoError(t, err)
							assert.False(t, found)
							assert.Equal(t, "a", image.Name)
							w.require1(t)
						default:
							require.Equal(t, "unknown, temporary", outcome(err), "%v", err)
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

// The call of a process that cannot renew its claim ends before another process may take the name.
func TestLedgerThatFailsForLong(t *testing.T) {
	for op, limit := range map[kit.Operation]time.Duration{kit.ImagesList: 25 * time.Second, kit.ImagesStore: 4 * time.Minute} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t)
				w.FaultOn(op, 1, kit.Stall(kit.BeforeResponse))
				time.AfterFunc(time.Second, func() {
					w.Ledger.mu.Lock()
					defer w.Ledger.mu.Unlock()
					w.Ledger.fail = func(int, string) (bool, error) { return false, errDisk }
				})
				_, _, err := p.Images.Store(p, job("a"), aicontent.WithResponseTimeout(0), aicontent.WithStoreTimeout(0))
				require.Equal(t, "unknown, temporary", outcome(err), "%v", err)
				assert.ErrorContains(t, err, "another process may take the name over")
				assert.Equal(t, limit, time.Since(w.start).Truncate(time.Second))
			})
		})
	}
}

// The claim counts from the beginning of a Put, as others may see its entry from then on.
func TestLedgerThatIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesList, 1, kit.Stall(kit.BeforeResponse))
		w.Ledger.before = func(int, string, []byte, string) { time.Sleep(10 * time.Second) }
		w.Ledger.fail = func(n int, _ string) (bool, error) {
			if n > 1 {
				return false, errDisk
			}
			return false, nil
		}
		var gaveUp time.Duration
		hook := aicontent.WithAttemptHook(func(context.Context, aicontent.Attempt) (func(aicontent.AttemptResult), error) {
			return func(aicontent.AttemptResult) { gaveUp = time.Since(w.start) }, nil
		})
		_, _, err := p.Images.Store(p, job("a"), aicontent.WithResponseTimeout(0), hook)
		require.Equal(t, "unknown, temporary", outcome(err), "%v", err)
		assert.Equal(t, 25*time.Second, gaveUp, "though the Put at 0 s took 10 s")
	})
}

// A heartbeat that seemed to fail arrives late, just before the next Put: it is the call's own, and nothing is lost.
func TestHeartbeatThatArrivesLate(t *testing.T) {
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprint("before Put ", n), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t)
				w.Ledger.before = func(k int, key string, entry []byte, version string) {
					if k != n {
						return
					}
					before, _, err := w.Ledger.Ledger.Get(t.Context(), key)
					require.NoError(t, err)
					late := bytes.Replace(before, []byte(`"beat":"2000-01-01T00:00:00Z"`), []byte(`"beat":"2000-01-01T00:00:01Z"`), 1)
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
		})
	}
}

// Another process took the name over, as this one was suspended: its call ends when it learns that.
func TestNameThatIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		time.AfterFunc(65*time.Second, func() {
			w.write(t, "a", `{"format":1,"collection":"images","name":"a","holder":"other.call","beat":"2000-01-01T00:01:05Z"}`)
		})
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, temporary", outcome(err), "%v", err)
		assert.ErrorContains(t, err, "another process took the name over")
		assert.Equal(t, 2*time.Minute, time.Since(w.start))
		assert.Contains(t, w.Ledger.last, "sending", "what is another's is left alone")
	}, kit.LatencyOn(kit.ImagesStore, 5*time.Minute))
}

// A long request keeps its name.
func TestNameIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p, q := w.process(t), w.process(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, found, err := p.Images.Store(p, job("a"))
			assert.NoError(t, err)
			assert.False(t, found)
		})
		wg.Go(func() {
			time.Sleep(time.Second)
			_, found, err := q.Images.Store(q, job("a"))
			assert.NoError(t, err)
			assert.True(t, found)
			assert.Less(t, time.Since(w.start), 9*time.Minute+2*time.Second)
		})
		wg.Wait()
		w.require1(t)
		assert.LessOrEqual(t, w.Ledger.puts, 3+9, "a heartbeat a minute")
	}, kit.LatencyOn(kit.ImagesStore, 9*time.Minute))
}

// While a call waits for a record, its name is renewed as well, and a process that dies then delays the next by its
// lease alone.
func TestNameIsRenewedDuringSearches(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
		p, q := w.process(t), w.process(t)
		time.AfterFunc(5*time.Minute, p.kill)
		go p.Images.Store(p, job("a"))
		time.Sleep(time.Second)
		_, found, err := q.Images.Store(q, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		// What another process sent is waited out a minute longer, for its clock.
		assert.InDelta(t, (settle + time.Minute).Seconds(), time.Since(w.start).Seconds(), 31)
		w.require1(t)
	})
}

// A claim of unknown age is over after the lease, and one that is old by any clock at once.
func TestLease(t *testing.T) {
	const other = `{"format":1,"collection":"images","name":"a","holder":"p.c","beat":%q%s}`
	for name, c := range map[string]struct {
		age, want time.Duration
		more      string
	}{
		"alive a moment ago":  {0, 30 * time.Second, ""},
		"clock ahead":         {-24 * time.Hour, 30 * time.Second, ""},
		"dead for long":       {91 * time.Second, 0, ""},
		"dead, clocks differ": {89 * time.Second, 2 * time.Second, ""},
		"sending":             {0, 6 * time.Minute, `,"sending":true,"sender":"p"`},
		"sending long ago":    {6*time.Minute + time.Second, 0, `,"sending":true,"sender":"p"`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t, once.WithSettleTime(0))
				w.write(t, "a", fmt.Sprintf(other, time.Now().Add(-c.age).Format(time.RFC3339Nano), c.more))
				_, _, err := p.Images.Store(p, job("a"))
				require.NoError(t, err)
				assert.InDelta(t, c.want.Seconds(), time.Since(w.start).Seconds(), 1.01)
			})
		})
	}
	t.Run("seen by short calls together", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			p := w.process(t)
			w.write(t, "a", fmt.Sprintf(other, time.Now().Format(time.RFC3339Nano), ""))
			for time.Since(w.start) < 30*time.Second {
				ctx, cancel := context.WithTimeout(p, 1500*time.Millisecond)
				_, _, err := p.Images.Store(ctx, job("a"))
				cancel()
				require.Equal(t, "unknown, temporary", outcome(err))
			}
			_, _, err := p.Images.Store(p, job("a"))
			require.NoError(t, err)
			assert.Less(t, time.Since(w.start), 32*time.Second)
		})
	})
}

// What a process wrote that died while it sent is waited out from its last heartbeat on, and not from the takeover.
func TestTakeover(t *testing.T) {
	for name, c := range map[string]struct {
		entry string
		want  time.Duration // until another request may be sent
	}{
		"sent by another":        {`"sent":"2000-01-01T00:00:00Z","sender":"p"`, settle + time.Minute},
		"sent by nobody":         {`"sent":"2000-01-01T00:00:00Z"`, settle + time.Minute},
		"in the future":          {`"sent":"2001-01-01T00:00:00Z","sender":"p"`, settle + time.Minute},
		"sending without holder": {`"sending":true,"sender":"p","beat":"1999-12-31T23:57:00Z"`, settle + time.Minute},
		"sending for long":       {`"sending":true,"sender":"p","holder":"p.c","beat":"1999-12-31T23:50:00Z"`, settle - 4*time.Minute},
		"sent after the heartbeat": {
			`"sending":true,"sender":"p","holder":"p.c","beat":"1999-12-31T23:50:00Z","sent":"1999-12-31T23:58:00Z"`, settle - time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.write(t, "a", `{"format":1,"collection":"images","name":"a",`+c.entry+`}`)
				p := w.process(t)
				_, found, err := p.Images.Store(p, job("a"))
				require.NoError(t, err)
				assert.False(t, found)
				assert.Equal(t, c.want, time.Since(w.start))
			})
		})
	}
	t.Run("a future that is written down", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.write(t, "a", `{"format":1,"collection":"images","name":"a","sent":"2001-01-01T00:00:00Z","sender":"p"}`)
			for range 20 {
				p := w.process(t)
				ctx, cancel := context.WithTimeout(p, time.Minute)
				_, _, err := p.Images.Store(ctx, job("a"))
				cancel()
				if err == nil {
					break
				}
				require.Equal(t, "unknown, temporary", outcome(err))
			}
			assert.InDelta(t, (settle + time.Minute).Seconds(), time.Since(w.start).Seconds(), 60)
			w.require1(t)
		})
	})
}

// An entry that cannot be read may be of a newer version: nothing is sent, and nothing overwritten.
func TestEntryThatCannotBeRead(t *testing.T) {
	for _, entry := range []string{`{"format":2}`, `{`, `{"format":1,"made":7}`} {
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
			require.Equal(t, "unknown, temporary", outcome(err))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, n == 0, errors.As(err, new(*aicontent.APIError)), "what the request came to stays in the error")
		}
		assert.InDelta(t, 150, time.Since(w.start).Seconds(), 1, "the last look comes right before the deadline")
		last := w.Requests()[len(w.Requests())-1]
		assert.Equal(t, kit.ImagesList, last.Operation)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		w.require1(t)

		ended, cancel := context.WithCancel(p)
		cancel()
		w.ResetBook()
		_, _, err = p.Images.Store(ended, job("new"))
		require.Equal(t, "unknown, temporary", outcome(err))
		assert.Empty(t, w.Requests())
	})
}

// The service asks for a pause, between searches and before the first one.
func TestRetryAfterIsObeyed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(503, 2*time.Second).WithRetryAfter("90"))
		w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
		w.FaultOn(kit.ImagesList, 1, kit.Status(429, `{}`).WithRetryAfter("100"))
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.Equal(t, 190*time.Second, time.Since(w.start))
	})
}

// A service that asks to wait until tomorrow does not hold the call, and with it the name, until then.
func TestRetryAfterOfADay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(503, 2*time.Second).WithRetryAfter("86400"))
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, temporary", outcome(err), "%v", err)
		assert.Zero(t, time.Since(w.start))
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		w.require1(t)
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
		require.Equal(t, "not sent, temporary", outcome(err))
		require.ErrorIs(t, err, limit)
		_, _, err = p.Images.Store(p, job("a"))
		require.NoError(t, err)

		// What cannot be written down is not known to the next call.
		puts := w.Ledger.puts
		w.Ledger.fail = func(n int, _ string) (bool, error) {
			if n > puts+1 {
				return false, errDisk
			}
			return false, nil
		}
		_, _, err = p.Images.Store(p, job("b"), hook)
		require.Equal(t, "unknown, temporary", outcome(err))
		require.ErrorIs(t, err, limit)
		require.ErrorIs(t, err, errDisk)
		assert.Zero(t, time.Since(w.start))
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
		require.Equal(t, "rejected", outcome(err))
		assert.Equal(t, `once: images "a": images.store: 402: no credit (outcome rejected)`, err.Error())
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(501))
		_, _, err = p.Images.Store(p, job("a"))
		require.Equal(t, "unknown", outcome(err))
		assert.Zero(t, time.Since(w.start), "what is not temporary is not waited for")
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
		require.Equal(t, "done", outcome(err))
		conflict, ok := errors.AsType[*aicontent.ConflictError](err)
		require.True(t, ok)
		assert.Len(t, conflict.IDs, 2)
		assert.Zero(t, w.requests(kit.ImagesStore))
	})
}

func TestNew(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for field, call := range map[string]func() (*once.Client, error){
			"client":      func() (*once.Client, error) { return once.New(nil, once.InMemory()) },
			"ledger":      func() (*once.Client, error) { return once.New(w.Client(), nil) },
			"settle_time": func() (*once.Client, error) { return once.New(w.Client(), w.Ledger, once.WithSettleTime(30)) },
			"option":      func() (*once.Client, error) { return once.New(w.Client(), w.Ledger, nil) },
		} {
			_, err := call()
			invalid, ok := err.(*aicontent.ValidationError)
			require.True(t, ok, "%v", err)
			assert.Equal(t, field, invalid.Problems[0].Field)
		}
		_, err := once.New(&aicontent.Client{}, nil, once.WithSettleTime(-1), nil)
		assert.Len(t, err.(*aicontent.ValidationError).Problems, 4)
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
	})
}

func TestWithSettleTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for d, want := range map[time.Duration]time.Duration{0: 0, time.Minute: time.Minute} {
			p := w.process(t, once.WithSettleTime(d))
			w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
			start := time.Now()
			_, _, err := p.Images.Store(p, job(fmt.Sprint(d)))
			require.Equal(t, "not sent, temporary", outcome(err))
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
		assert.Equal(t, w.start.Add(settle).UTC().Format(time.RFC3339), line["until"])
		assert.NotContains(t, buf.String(), "secret")
		assert.NotContains(t, w.Ledger.last, "secret")

		buf.Reset()
		w.FaultOn(kit.ImagesList, 1, kit.Stall(kit.BeforeRead))
		killed := w.process(t)
		time.AfterFunc(time.Second, killed.kill)
		_, _, err = killed.Images.Store(killed, job("c"))
		require.Error(t, err)
		beat := time.Now().Add(-time.Second)
		_, _, err = p.Images.Store(p, job("c"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(buf.Bytes(), &line), "one line, however often it asks: %s", buf.String())
		assert.NotEmpty(t, line["holder"], "a process that was killed, and held the name")
		assert.Equal(t, beat.Add(90*time.Second).UTC().Format(time.RFC3339), line["until"])

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
