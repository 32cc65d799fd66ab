package upload

import (
	"context"
	"sync/atomic"
	"time"
)

// reportInterval is the time between two reports.
const reportInterval = 50 * time.Millisecond

// Meter reports how much of a file is sent, from a goroutine of its own: a report that blocks does not hold the upload
// up. A nil Meter counts nothing.
type Meter struct {
	total    int64
	report   func(sent, total int64, attempt int)
	attempt  int
	news     atomic.Pointer[progress] // nil where it was reported
	done     chan struct{}
	finished chan struct{}
}

type progress struct {
	sent    int64
	attempt int
}

// NewMeter starts a meter for a file of total bytes, -1 where that is unknown. It must be stopped.
func NewMeter(total int64, report func(sent, total int64, attempt int)) *Meter {
	m := &Meter{total: total, report: report, done: make(chan struct{}), finished: make(chan struct{})}
	go m.run()
	return m
}

func (m *Meter) run() {
	ticker := time.NewTicker(reportInterval)
	defer ticker.Stop()
	for stopped := false; !stopped; {
		select {
		case <-ticker.C:
		case <-m.done:
			stopped = true
		}
		if now := m.news.Swap(nil); now != nil {
			m.report(now.sent, m.total, now.attempt)
		}
	}
	close(m.finished) // not after a panic, which ends the program: until then the call must not go on
}

// Begin starts the count of an attempt, the first of which is 1.
func (m *Meter) Begin(attempt int) {
	if m != nil {
		m.attempt = attempt
		m.At(0)
	}
}

// At notes how many bytes of the file the transport has taken in this attempt.
func (m *Meter) At(sent int64) {
	if m != nil {
		m.news.Store(&progress{sent, m.attempt})
	}
}

// Stop makes the last report, which is exact, and waits for it until the context ends, or a moment where it has ended
// already. No report begins after Stop has returned; one that blocks may then still be under way. It is called once.
func (m *Meter) Stop(ctx context.Context) {
	close(m.done)
	if _, finished := await(ctx, m.finished); !finished {
		m.news.Store(nil)
	}
}
