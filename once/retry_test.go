package once_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// work is a worker of a job queue. It needs Retryable and RetryAt, and no arithmetic.
func work(ctx context.Context, names *once.Client, params aicontent.ImageStoreParams) (*aicontent.Image, error) {
	for backoff := time.Second; ; backoff = min(2*backoff, time.Minute) {
		image, _, err := names.Images.Store(ctx, params)
		if err == nil || !aicontent.Retryable(err) {
			return image, err
		}
		again := aicontent.RetryAt(err)
		if again.IsZero() {
			again = time.Now().Add(backoff)
		}
		// Here a queue would put the job back, with the time at which it is due.
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Until(again)):
		}
	}
}

func TestAWorkerThatAsksRetryAtMakesFewRequests(t *testing.T) {
	for name, c := range map[string]struct {
		fault            kit.Fault
		searches, stores int
		takes            time.Duration
	}{
		"the record appears after one minute": {kit.LateAct(504, time.Minute), 1 + 7, 1, 61 * time.Second},
		"the record never appears":            {kit.HTMLPage(504), 1 + 35, 2, settle},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.FaultOn(kit.ImagesStore, 1, c.fault)
			p := w.process(t, once.WithMaxWait(0))
			image, err := work(p, p.Client, job("a"))
			require.NoError(t, err)
			assert.Equal(t, "a", image.Name)
			assert.Equal(t, c.takes, time.Since(w.start))
			assert.Equal(t, c.searches, w.requests(kit.ImagesList), "searches")
			assert.Equal(t, c.stores, w.requests(kit.ImagesStore), "create requests")
			w.require1(t)
		})
	}
}

// Each call is one of another process, which remembers nothing.
func TestRetryAtFollowsTheScheduleOfTheEntry(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
		var looks []time.Duration
		for {
			p := w.process(t, once.WithMaxWait(0))
			_, found, err := p.Images.Store(p, job("a"))
			if err == nil {
				assert.False(t, found, "nothing came of the first request")
				break
			}
			require.True(t, aicontent.Retryable(err), "%v", err)
			assert.ErrorIs(t, err, once.ErrMaxWait)
			assert.Equal(t, "an earlier request may still create the record", aicontent.Reason(err))
			at := aicontent.RetryAt(err)
			require.True(t, at.After(time.Now()), "%v", at)
			looks = append(looks, at.Sub(w.start))
			time.Sleep(time.Until(at))
		}
		second := time.Second
		assert.Equal(t, []time.Duration{second, 3 * second, 7 * second, 15 * second, 31 * second, 61 * second}, looks[:6])
		assert.Equal(t, settle, looks[len(looks)-1], "Until at the latest")
	})
}

func TestRetryAtWaitsForARetryAfterButNotBeyondUntil(t *testing.T) {
	for seconds, want := range map[string]time.Duration{"100": 100 * time.Second, "86400": settle} {
		bubbleOf(t, seconds, func(t *testing.T, w *world) {
			w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
			w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
			w.FaultOn(kit.ImagesList, 1, kit.Status(429, `{}`).WithRetryAfter(seconds))
			p := w.process(t, once.WithMaxWait(0))
			_, _, err := p.Images.Store(p, job("a"))
			require.ErrorIs(t, err, once.ErrMaxWait)
			assert.Equal(t, w.start.Add(want).UTC(), aicontent.RetryAt(err))
		})
	}
}

// An error that no retry helps has no time, and one after which the caller's own backoff is as good has none either.
func TestRetryAtIsZeroWithoutAnOpenRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesList, 1, kit.Status(403, `{"message":"no"}`))
		_, err := p.Images.Find(p, "a")
		assert.Zero(t, aicontent.RetryAt(err), "%v", err)
		w.FaultOn(kit.ImagesList, 1, kit.Status(200, "ok"))
		_, err = p.Images.Find(p, "a")
		require.True(t, aicontent.Retryable(err))
		assert.Zero(t, aicontent.RetryAt(err), "%v", err)
	})
}

// The people who use a program read no names of options, folders or hosts.
func TestReasonIsForThePeopleWhoUseAProgram(t *testing.T) {
	for want, c := range map[string]struct {
		entry  string
		maxed  bool
		fault  kit.Fault
		broken bool
	}{
		"an earlier request may still create the record": {entry: `,"until":"2000-01-01T00:15:00Z"`, maxed: true},
		"it was stored with other parameters":            {entry: `,"until":"2000-01-01T00:15:00Z","form":"other"`},
		"the monthly limit is reached":                   {fault: kit.Status(402, `{"message":"the monthly limit is reached"}`)},
		"the response could not be read":                 {fault: kit.Status(200, `ok`)},
		"the ledger failed":                              {broken: true},
	} {
		bubbleOf(t, want, func(t *testing.T, w *world) {
			opts := []once.Option{}
			if c.maxed {
				opts = append(opts, once.WithMaxWait(0))
			}
			p := w.process(t, opts...)
			if c.entry != "" {
				w.write(t, "a", another[:len(another)-3]+c.entry+"}")
			}
			if c.fault.Acts || c.fault.Status > 0 {
				w.FaultOn(kit.ImagesList, 1, c.fault)
			}
			if c.broken {
				w.Ledger.fail = func(int, string) (bool, error) { return false, errDisk }
			}
			_, _, err := p.Images.Store(p, job("a"))
			require.Error(t, err)
			assert.Equal(t, want, aicontent.Reason(err), "%v", err)
		})
	}
}
