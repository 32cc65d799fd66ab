package upload

import (
	"context"
	"sync"
	"time"
)

// reportInterval is the time between two reports.
const reportInterval = 50 * time.Millisecond

// Meter reports how much of a file is sent, from a goroutine of its own: a report that blocks does not hold the upload
// up. A nil Meter reports nothing.
type Meter struct {
	total    int64
	report   func(sent, total int64, attempt int)
	done     chan struct{}
	finished chan struct{}

	mu       sync.Mutex
	now      progress
	reported progress // used by the reporting goroutine alone
}

type progress struct {
	sent    int64
	attempt int
}

// NewMeter starts a meter for a file of total bytes, -1 where that is unknown. It must be stopped. A meter without a
// report is nil.
func NewMeter(total int64, report func(sent, total int64, attempt int)) *Meter {
	if report == nil {
		return nil
	}
	m := &Meter{total: total, report: report, done: make(chan struct{}), finished: make(chan struct{})}
	go m.run()
	return m
}

func (m *Meter) run() {
	defer func() {
		// A report that panics ends the program: until then the call must not go on as if nothing had happened.
		if r := recover(); r != nil {
			panic(r)
		}
		close(m.finished)
	}()
	ticker := time.NewTicker(reportInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.tell()
		case <-m.done:
			m.tell()
			return
		}
	}
}

// tell makes a report, unless it would repeat the one before.
func (m *Meter) tell() {
	m.mu.Lock()
	now := m.now
	m.mu.Unlock()
	if now.attempt > 0 && now != m.reported {
		m.reported = now
		m.report(now.sent, m.total, now.attempt)
	}
}

// Begin starts the count of an attempt, the first of which is 1. Of attempt 0 nothing is reported.
func (m *Meter) Begin(attempt int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = progress{attempt: attempt}
}

// At notes how many bytes of the file the transport has taken in this attempt.
func (m *Meter) At(sent int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.sent = sent
}

// Stop makes the last report, which is exact, and waits for it until the context ends, or a moment where it has ended
// already. No report begins after Stop has returned; one that blocks may then still be under way. It is called once.
func (m *Meter) Stop(ctx context.Context) {
	if m == nil {
		return
	}
	close(m.done)
	select {
	case <-m.finished:
		return
	case <-ctx.Done():
	}
	select {
	case <-m.finished:
	case <-time.After(grace):
		m.Begin(0)
	}
}
