package upload

import (
	"context"
	"time"
)

// reportInterval is the time between two reports.
const reportInterval = 50 * time.Millisecond

// Meter reports how much of a file is sent, from a goroutine of its own: a report that blocks does not hold the upload
// up. A nil Meter counts nothing.
type Meter struct {
	report   func(sent int64, attempt int)
	attempt  int
	news     chan progress // what was not reported yet
	done     chan struct{}
	finished chan struct{}
}

type progress struct {
	sent    int64
	attempt int
}

// NewMeter starts a meter. It must be stopped.
func NewMeter(report func(sent int64, attempt int)) *Meter {
	m := &Meter{
		report: report, news: make(chan progress, 1), done: make(chan struct{}), finished: make(chan struct{}),
	}
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
	for now := range m.news {
		m.report(now.sent, now.attempt)
		select {
		case <-time.After(reportInterval):
		case <-m.done:
		}
	}
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
		m.forget()
		m.news <- progress{sent, m.attempt}
	}
}

// forget drops what was not reported yet.
func (m *Meter) forget() {
	select {
	case <-m.news:
	default:
	}
}

// Stop makes the last report, which is exact, and waits for it until the context ends, or a moment where it has ended
// already. No report begins after Stop has returned; one that blocks may then still be under way. It is called once,
// when nothing is sent any more.
func (m *Meter) Stop(ctx context.Context) {
	close(m.done)
	close(m.news)
	if _, finished := await(ctx, m.finished); !finished {
		m.forget()
	}
}
