package upload

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
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

// reports keeps the reports and their times.
type reports struct {
	t    *testing.T
	busy atomic.Bool
	mu   sync.Mutex
	list []report
	at   []time.Time
}

// of returns the callback of an attempt.
func (r *reports) of(attempt int) func(int64) {
	return func(sent int64) { r.take(sent, attempt) }
}

func (r *reports) take(sent int64, attempt int) {
	assert.True(r.t, r.busy.CompareAndSwap(false, true), "called twice at once")
	defer r.busy.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.at = append(r.list, report{sent, attempt}), append(r.at, time.Now())
}

func (r *reports) last() report { return r.list[len(r.list)-1] }

// check checks that nothing runs backwards within an attempt, and that nothing is said twice.
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
func TestProgressGrowsToTheEndAtEachAttemptAndNotTooOften(t *testing.T) {
	const size = 4 << 20
	for name, c := range map[string]struct {
		source   Source
		attempts int
	}{
		"memory":      {Bytes(recording(size)), 3},
		"file system": {FS(fstest.MapFS{"a.wav": {Data: recording(size)}}, "a.wav"), 3},
		"reader":      {Reader(onlyReader{bytes.NewReader(recording(size))}), 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := &reports{t: t}
			for attempt := range c.attempts {
				_, err := pipeTo(t, respondSlowly(7*time.Millisecond), wire.Limits{}, c.source, r.of(attempt+1))
				require.NoError(t, err)
			}
			returned := len(r.list)
			time.Sleep(time.Minute)
			assert.Len(t, r.list, returned, "reported after the end")
			r.check()
			assert.Equal(t, report{size, c.attempts}, r.last())
			perSecond := map[int64]int{}
			for i, at := range r.at {
				if p := r.list[i]; p.sent > 0 && p.sent < size {
					perSecond[at.Unix()]++
				}
			}
			assert.Greater(t, len(perSecond), 4, "the upload was too short to tell")
			for _, n := range perSecond {
				assert.LessOrEqual(t, n, 20)
			}
		})
	}
}

// A progress bar shows at once that an attempt has begun, and is set back by one that sends nothing.
func TestTheFirstReportComesAtOnce(t *testing.T) {
	r := &reports{t: t}
	body := bodyOf(t, wav(Bytes(recording(100))))
	for attempt := range 2 {
		_, s, _, err := begin(t, t.Context(), body, wire.Limits{}, r.of(attempt+1))
		require.NoError(t, err)
		assert.Equal(t, report{0, attempt + 1}, r.last())
		s.Close()
	}
	assert.Equal(t, []report{{0, 1}, {0, 2}}, r.list)
}

// A callback that draws slowly slows the upload down, and is not called more often than it can draw.
func TestSlowReportsHoldTheUploadUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const draws = 700 * time.Millisecond
		r := &reports{t: t}
		start := time.Now()
		draw := func(sent int64) {
			if time.Sleep(draws); sent < 1<<20 {
				r.take(sent, 1)
			}
		}
		_, err := pipeTo(t, respondSlowly(7*time.Millisecond), wire.Limits{}, Bytes(recording(1<<20)), draw)
		require.NoError(t, err)
		r.check()
		assert.Greater(t, len(r.list), 5)
		assert.GreaterOrEqual(t, time.Since(start), time.Duration(len(r.list))*draws)
	})
}

// A failed upload is reported up to its end, also if the context has ended and more of the file was read.
func TestProgressOfAFailedUploadIsReportedUpToItsEnd(t *testing.T) {
	for name, source := range map[string]Source{
		"memory":      Bytes(recording(200_000)),
		"file system": FS(fstest.MapFS{"a.wav": {Data: recording(200_000)}}, "a.wav"),
	} {
		inBubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r := &reports{t: t}
			body := bodyOf(t, wav(source))
			req, s, _, err := begin(t, ctx, body, wire.Limits{}, r.of(1))
			require.NoError(t, err)
			_, err = io.ReadFull(req.Body, make([]byte, len(body.head)+3*pieceSize))
			require.NoError(t, err)
			_, err = req.Body.Read(make([]byte, 1))
			require.NoError(t, err)
			cancel()
			s.Close()
			assert.Equal(t, []report{{0, 1}, {3 * pieceSize, 1}}, r.list)
		})
	}
}

// A callback that blocks must not keep a call from returning when its context ends, and is called neither twice at once
// nor later.
func TestReportsThatBlockDoNotKeepTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		free := make(chan struct{})
		body := bodyOf(t, wav(Bytes(recording(100))))
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			req, s, _, err := begin(t, ctx, body, wire.Limits{}, func(int64) {
				calls.Add(1)
				<-free
			})
			if err == nil { // nothing is reported a second time
				_, _ = io.Copy(io.Discard, req.Body)
			}
			s.Close()
			assert.LessOrEqual(t, time.Since(start), time.Minute+Grace)
		}
		close(free)
		synctest.Wait()
		time.Sleep(time.Minute)
		assert.EqualValues(t, 1, calls.Load())
	})
}

// A panic of a callback, and an end of its goroutine, as of a test's FailNow, ends the upload: the service must not get
// the file whole, as the call ends with an error that says nothing of a record.
func TestReportThatPanicsOrExitsEndsTheUpload(t *testing.T) {
	for kind, source := range map[string]Source{
		"memory":      Bytes(recording(300_000)),
		"file system": FS(fstest.MapFS{"a.wav": {Data: recording(300_000)}}, "a.wav"),
	} {
		for name, end := range map[string]func(){"panics": func() { panic("boom") }, "exits": runtime.Goexit} {
			for from, when := range []string{"before the first byte", "later"} {
				inBubble(t, kind+", "+name+" "+when, func(t *testing.T) {
					body := bodyOf(t, wav(source))
					req, s, _, err := begin(t, t.Context(), body, wire.Limits{}, func(sent int64) {
						if sent >= int64(from) {
							end()
						}
					})
					if from > 0 {
						require.NoError(t, err)
						_, err = io.Copy(io.Discard, readerFunc(func(p []byte) (int, error) {
							time.Sleep(reportInterval)
							return req.Body.Read(p)
						}))
					}
					require.ErrorIs(t, err, ErrSource)
					s.Close()
					assert.False(t, s.Complete())
				})
			}
		}
	}
}
