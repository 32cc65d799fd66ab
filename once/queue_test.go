package once_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// storeByAThousand has a thousand callers store the name at once.
func storeByAThousand(t *testing.T, p *process) {
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			_, _, err := p.Images.Store(p, job("a"))
			assert.NoError(t, err)
		})
	}
	wg.Wait()
}

func TestAKnownRecordIsShownToAThousandCallersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.process(t).creates(t, job("a"))
		for _, p := range []*process{w.process(t), w.process(t, once.WithMaxWait(0))} {
			start := time.Now()
			storeByAThousand(t, p)
			assert.Equal(t, 50*time.Millisecond, time.Since(start), "one Show")
		}
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
	}, kit.Latency(50*time.Millisecond))
}

// Those who queued for the first request do not queue for its record.
func TestAThousandCallersOfANewNameEndTogether(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		storeByAThousand(t, w.process(t))
		assert.Equal(t, 150*time.Millisecond, time.Since(w.start), "a search, a Store and a Show")
		assert.Equal(t, 1, w.requests(aicontent.ImagesList))
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		assert.Equal(t, 1+1+2*999, w.Ledger.gets+w.Ledger.puts-1, "each one that waited looks into the ledger again")
	}, kit.Latency(50*time.Millisecond))
}

// A call that leaves the queue takes no turn with it.
func TestACallThatLeavesTheQueueHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(422, `{"message":"no","errors":{"style":["no"]}}`))
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := p.Images.Store(p, job("a"))
			assert.Error(t, err)
		})
		time.Sleep(time.Second)
		leaving := p.within(t, 9*time.Second)
		for range 20 {
			wg.Go(func() {
				_, _, err := p.Images.Store(leaving, job("a"))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		time.Sleep(time.Second)
		p.creates(t, job("a"))
		wg.Wait()
		assert.Equal(t, 2*time.Minute, time.Since(w.start))
		w.requireRecords(t, 1)
	}, kit.LatencyOn(aicontent.ImagesStore, time.Minute))
}

// One call waits for the request of another process, and a second one waits for its turn. As soon as the first one
// reads the ID in the ledger, both show the record.
func TestACallThatLearnsTheIDHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.AddImage(listed("a"))
		w.write(t, "a", openUntil(15))
		p := w.process(t)
		var wg sync.WaitGroup
		wg.Go(func() { p.finds(t, job("a")) }) // reads the ledger at each full second
		time.Sleep(time.Second / 2)
		wg.Go(func() { p.finds(t, job("a")) }) // reads it half a second later
		time.Sleep(10*time.Second + time.Second/4)
		w.write(t, "a", entryOf(`,"made":"2000-01-01T00:00:10Z","id":"1"`))
		wg.Wait()
		assert.Equal(t, 11*time.Second+5*time.Second, time.Since(w.start))
	}, lagging(time.Hour), kit.LatencyOn(aicontent.ImagesShow, 5*time.Second))
}
