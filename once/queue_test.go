package once_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestAKnownRecordIsShownToAThousandCallersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for _, p := range []*process{w.process(t), w.process(t, once.WithMaxWait(0))} {
			if _, _, err := p.Images.Store(p, job("a")); err != nil {
				require.NoError(t, err)
			}
			start := time.Now()
			var wg sync.WaitGroup
			for range 1000 {
				wg.Go(func() {
					_, found, err := p.Images.Store(p, job("a"))
					assert.NoError(t, err)
					assert.True(t, found)
				})
			}
			wg.Wait()
			assert.Equal(t, 50*time.Millisecond, time.Since(start), "one Show")
		}
	}, kit.Latency(50*time.Millisecond))
}

// Those who queued for the first request do not queue for its record.
func TestAThousandCallersOfANewNameEndTogether(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				_, _, err := p.Images.Store(p, job("a"))
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Equal(t, 150*time.Millisecond, time.Since(w.start), "a search, a Store and a Show")
		assert.Equal(t, 1, w.requests(kit.ImagesList))
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
		assert.Equal(t, 1+1+2*999, w.Ledger.gets+w.Ledger.puts-1, "each one that waited looks into the ledger again")
	}, kit.Latency(50*time.Millisecond))
}

// A call that leaves the queue takes no turn with it.
func TestACallThatLeavesTheQueueHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.Status(422, `{"message":"no","errors":{"style":["no"]}}`))
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := p.Images.Store(p, job("a"))
			assert.Error(t, err)
		})
		for range 20 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(p, 10*time.Second)
				defer cancel()
				time.Sleep(time.Second)
				_, _, err := p.Images.Store(ctx, job("a"))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		wg.Go(func() {
			time.Sleep(2 * time.Second)
			_, found, err := p.Images.Store(p, job("a"))
			assert.NoError(t, err)
			assert.False(t, found)
		})
		wg.Wait()
		assert.Equal(t, 2*time.Minute, time.Since(w.start))
		w.require1(t)
	}, kit.LatencyOn(kit.ImagesStore, time.Minute))
}
