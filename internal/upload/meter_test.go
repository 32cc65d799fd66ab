package upload

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/wire"
)

type report struct {
	sent    int64
	attempt int
}

// reports keeps what was reported, and when.
type reports struct {
	t    *testing.T
	busy atomic.Bool
	mu   sync.Mutex
	list []report
	at   []time.Time
}

func (r *reports) take(sent int64, attempt int) {
	assert.True(r.t, r.busy.CompareAndSwap(false, true), "called twice at once")
	defer r.busy.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.at = append(r.list, report{sent, attempt}), append(r.at, time.Now())
}

func (r *reports) last() report { return r.list[len(r.list)-1] }

// check is what holds of every upload: nothing runs backwards within an attempt, and nothing is said twice.
func (r *reports) check() {
	for i, p := range r.list {
		if i == 0 {
			continue
		}
		before := r.list[i-1]
		assert.GreaterOrEqual(r.t, p.attempt, before.attempt)
		if p.attempt == before.attempt {
			assert.Greater(r.t, p.sent, before.sent)
		}
	}
}

// A progress bar must run forwards, not too often, to exactly the end, at each attempt anew.
func TestProgressOfAnUpload(t *testing.T) {
	const size = 4 << 20
	for name, c := range map[string]struct {
		source   Source
		attempts int
	}{
		"known":   {Bytes(recording(size)), 3},
		"unknown": {Reader(onlyReader{bytes.NewReader(recording(size))}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &reports{t: t}
				m := NewMeter(r.take)
				for attempt := range c.attempts {
					m.Begin(t.Context(), attempt+1)
					_, err := pipeTo(t, respondSlowly(7*time.Millisecond), wire.Limits{Upload: true}, c.source, m)
					require.NoError(t, err)
				}
				m.Stop(t.Context())
				returned := len(r.list)
				time.Sleep(time.Minute)
				assert.Len(t, r.list, returned, "reported after the meter was stopped")
				r.check()
				assert.Equal(t, report{size, c.attempts}, r.last())
				perSecond := map[int64]int{}
				for _, at := range r.at {
					perSecond[at.Unix()]++
				}
				assert.Greater(t, len(perSecond), 4, "the upload was too short to tell")
				for _, n := range perSecond {
					assert.LessOrEqual(t, n, 21)
				}
			})
		})
	}
}

// A progress bar shows at once that an attempt has begun.
func TestTheFirstReportComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{t: t}
		m := NewMeter(r.take)
		m.Begin(t.Context(), 1)
		synctest.Wait()
		assert.Equal(t, []report{{0, 1}}, r.list)
		m.Begin(t.Context(), 2)
		assert.Equal(t, []report{{0, 1}, {0, 2}}, r.list)
		m.Stop(t.Context())
		assert.Equal(t, []report{{0, 1}, {0, 2}}, r.list)
	})
}

// A callback that draws slowly slows the upload down, and is not called more often than it can draw.
func TestSlowReportsHoldTheUploadUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const draws = 700 * time.Millisecond
		r := &reports{t: t}
		m := NewMeter(func(sent int64, attempt int) {
			time.Sleep(draws)
			r.take(sent, attempt)
		})
		start := time.Now()
		m.Begin(t.Context(), 1)
		_, err := pipeTo(t, respondSlowly(7*time.Millisecond), wire.Limits{Upload: true}, Bytes(recording(1<<20)), m)
		require.NoError(t, err)
		m.Stop(t.Context())
		r.check()
		assert.Equal(t, report{1 << 20, 1}, r.last())
		assert.GreaterOrEqual(t, time.Since(start), time.Duration(len(r.list))*draws)
	})
}

// What failed is reported up to where it failed, also when the context has ended.
func TestProgressOfAFailedUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &reports{t: t}
		m := NewMeter(r.take)
		m.Begin(ctx, 1)
		m.At(ctx, 100_000)
		m.Stop(ctx)
		assert.Equal(t, []report{{0, 1}, {100_000, 1}}, r.list)
	})
}

// An attempt that sends nothing sets a progress bar back to its start.
func TestProgressOfAnAttemptThatSendsNothing(t *testing.T) {
	r := &reports{t: t}
	m := NewMeter(r.take)
	m.Begin(t.Context(), 1)
	m.At(t.Context(), 5)
	m.Begin(t.Context(), 2)
	m.Stop(t.Context())
	assert.Equal(t, report{0, 2}, r.last())
}

// A callback that blocks must not keep a call from returning when its context ends, and is not called again later.
func TestReportsThatBlockDoNotKeepTheCall(t *testing.T) {
	for name, limit := range map[string]time.Duration{"ends": time.Minute, "has ended": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				free, calls := make(chan struct{}), 0
				m := NewMeter(func(int64, int) {
					calls++
					<-free
				})
				start := time.Now()
				m.Begin(ctx, 1)
				m.At(ctx, 3)
				time.Sleep(2 * reportInterval)
				m.At(ctx, 5)
				m.Stop(ctx)
				assert.LessOrEqual(t, time.Since(start), limit+wire.Grace+2*reportInterval)
				close(free)
				synctest.Wait()
				assert.Equal(t, 1, calls, "a report began after the call had returned")
			})
		})
	}
}

// What is not sent has no progress, and a nil Meter reports none.
func TestNoProgress(t *testing.T) {
	m := NewMeter(func(int64, int) { t.Error("a report before the first attempt") })
	m.Stop(t.Context())
	m = nil
	m.Begin(t.Context(), 1)
	m.At(t.Context(), 5)
}

// A panic of a callback, and an end of its goroutine, as of a test's FailNow, goes on in the goroutine of the call. The
// callback is not called again.
func TestReportsThatPanicOrExit(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("boom") }, "exits": runtime.Goexit} {
		for _, at := range []string{"the beginning", "a piece", "the end"} {
			calls, returned := 0, false
			var recovered any
			m := NewMeter(func(sent int64, _ int) {
				if calls++; sent == 0 && at != "the beginning" {
					return
				}
				end()
			})
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recovered = recover() }()
				m.Begin(t.Context(), 1)
				m.due = time.Time{}
				if at == "a piece" {
					wire.Raise(m.At(t.Context(), 5))
				}
				m.sent = 7
				m.Stop(t.Context())
				returned = true
			}()
			<-done
			assert.False(t, returned, "%s at %s", name, at)
			if name == "panics" {
				assert.Equal(t, "boom", recovered, at)
			} else {
				assert.Nil(t, recovered, at)
			}
			before := calls
			m.Stop(t.Context())
			assert.Equal(t, before, calls, "called again")
		}
	}
}

// A report that blocks when the call ends must not stop the time of a test, which it may be waiting for.
func TestAMeterInABubbleLetsTimePass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		slept, start := false, time.Now()
		m := NewMeter(func(int64, int) {
			time.Sleep(time.Minute)
			slept = true
		})
		go m.At(ctx, 1)
		synctest.Wait()
		m.Stop(ctx) // which the report holds up, until the context ends
		assert.Equal(t, time.Second+wire.Grace, time.Since(start))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.True(t, slept)
	})
}
