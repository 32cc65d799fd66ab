package once_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
)

// How long a Store call takes, and how many searches it makes, as the package doc says. A process that is killed is
// followed by another one, to which the numbers then belong.
func TestACallTakesAsLongAsThePackageDocSays(t *testing.T) {
	const works = 20 * time.Second     // the service, for a Store
	const kill = works - time.Second/2 // so that no search is made at the moment when the record appears
	for name, c := range map[string]struct {
		fault    kit.Fault
		kill     time.Duration // after the beginning; zero for never
		want     string
		searches int
		stores   int
		takes    time.Duration
	}{
		"the response arrives": {kit.Fault{Acts: true}, 0, "ok", 1, 1, works},
		"a 504, and a record after eight minutes": {
			kit.LateAct(504, 8*time.Minute), 0, "ok", 1 + 21, 1, 8*time.Minute + time.Second + works},
		"a 504, and no record": {kit.HTMLPage(504), 0, "not executed, retryable", 1 + 35, 1, settle + works},
		"no response, and no record": {
			kit.Stall(kit.BeforeRead), 0, "not executed, retryable", 1 + 35, 1, 10*time.Minute + settle},
		"killed while it sent, and the record appears at once": {
			kit.Fault{Acts: true}, kill, "ok", 2, 1, time.Second},
		"killed while it sent, and a record after a minute": {
			kit.LateAct(504, time.Minute), kill, "ok", 7, 1, 61 * time.Second},
		"killed while it sent, and a record after eight minutes": {
			kit.LateAct(504, 8*time.Minute), kill, "ok", 21, 1, 8*time.Minute + time.Second},
		"killed while it sent, and no record": {
			kit.Stall(kit.BeforeRead), kill, "ok", 39, 2, margin + settle - kill + works},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesStore, 1, c.fault)
			p := w.process(t)
			before := 0
			if c.kill > 0 {
				time.AfterFunc(c.kill, p.kill)
				p.fails(t, "unknown, retryable", job("a"))
				p, before = w.process(t), w.requests(aicontent.ImagesList)
			}
			start := time.Now()
			_, found, err := p.Images.Store(p, job("a"))
			assert.Equal(t, c.want, outcome(err), "%v", err)
			assert.Equal(t, c.kill > 0 && c.stores == 1, found, "a call that found the record billed nothing")
			assert.Equal(t, c.searches, w.requests(aicontent.ImagesList)-before, "searches")
			assert.Equal(t, c.stores, w.requests(aicontent.ImagesStore), "create requests")
			assert.Equal(t, c.takes, time.Since(start))
			if err == nil {
				w.requireRecords(t, 1)
			}
		}, kit.LatencyOn(aicontent.ImagesStore, works))
	}
}
