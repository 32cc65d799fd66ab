package once_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	kit "github.com/aicontent/aicontent-go/aicontenttest"
)

// How long a Store call takes, and how many searches it makes, as the package doc says. A process that is killed at
// `kill` after it began is followed by another one, to which the numbers of searches and minutes then belong.
func TestACallTakesAsLongAsThePackageDocSays(t *testing.T) {
	const works = 20 * time.Second // the service, for a Store
	for name, c := range map[string]struct {
		fault    kit.Fault
		kill     time.Duration
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
			kit.Fault{Acts: true}, 19 * time.Second, "ok", 2, 1, time.Second},
		"killed while it sent, and a record after a minute": {
			kit.LateAct(504, time.Minute), 19 * time.Second, "ok", 7, 1, 61 * time.Second},
		"killed while it sent, and a record after eight minutes": {
			kit.LateAct(504, 8*time.Minute), 19 * time.Second, "ok", 21, 1, 8*time.Minute + time.Second},
		"killed while it sent, and no record": {
			kit.Stall(kit.BeforeRead), 19 * time.Second, "ok", 39, 2, margin + settle - 19*time.Second + works},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.FaultOn(kit.ImagesStore, 1, c.fault)
			p := w.process(t)
			if c.kill > 0 {
				time.AfterFunc(c.kill, p.kill)
				_, _, _ = p.Images.Store(p, job("a"))
				p = w.process(t)
			}
			before := w.requests(kit.ImagesList)
			if c.kill == 0 {
				before = 0
			}
			start := time.Now()
			_, _, err := p.Images.Store(p, job("a"))
			assert.Equal(t, c.want, outcome(err), "%v", err)
			assert.Equal(t, c.searches, w.requests(kit.ImagesList)-before, "searches")
			assert.Equal(t, c.stores, w.requests(kit.ImagesStore), "create requests")
			assert.Equal(t, c.takes, time.Since(start))
		}, kit.LatencyOn(kit.ImagesStore, works))
	}
}
