package upload

import (
	"context"
	"time"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// reportInterval is the time between two reports: a progress bar that moves 20 times a second looks smooth.
const reportInterval = 50 * time.Millisecond

// Meter reports how much of a file is sent, and holds the upload up meanwhile. A nil Meter counts nothing.
type Meter struct {
	report func(sent int64, attempt int) // nil after one that did not return

	lock     chan struct{} // held during a report; not a mutex, for which time in a synctest bubble stands still
	attempt  int
	sent     int64
	reported int64
	due      time.Time // of the next report
}

// NewMeter returns a meter that calls report, never twice at once.
func NewMeter(report func(sent int64, attempt int)) *Meter {
	return &Meter{report: report, lock: make(chan struct{}, 1)}
}

// Begin starts the count of an attempt, the first of which is 1. A panic of the report continues.
func (m *Meter) Begin(ctx context.Context, attempt int) {
	if m != nil {
		m.attempt, m.reported, m.due = attempt, -1, time.Time{}
		wire.Raise(m.At(ctx, 0))
	}
}

// At notes how many bytes of the file the transport has sent in this attempt. The error is a panic of the report, or
// the context's.
func (m *Meter) At(ctx context.Context, sent int64) error {
	if m == nil {
		return nil
	}
	m.lock <- struct{}{}
	defer func() { <-m.lock }()
	m.sent = sent
	if time.Now().Before(m.due) {
		return nil
	}
	return m.tell(ctx)
}

// tell reports what was not reported yet. A report that blocks is abandoned when the context ends.
func (m *Meter) tell(ctx context.Context) error {
	report, sent, attempt := m.report, m.sent, m.attempt
	if report == nil || sent == m.reported {
		return nil
	}
	_, err := wire.Call(ctx, func() error { report(sent, attempt); return nil })
	if err != nil {
		m.report = nil
	}
	m.reported, m.due = sent, time.Now().Add(reportInterval)
	return err
}

// Stop makes the last report, which is exact. It is called once, when nothing is sent any more. A panic of the report
// continues.
func (m *Meter) Stop(ctx context.Context) {
	m.lock <- struct{}{}
	defer func() { <-m.lock }()
	wire.Raise(m.tell(ctx))
}
