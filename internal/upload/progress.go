package upload

import (
	"sync"
	"time"
)

// reportInterval is the time between two reports: a progress bar that moves 20 times a second looks smooth.
const reportInterval = 50 * time.Millisecond

// progress reports how much of a file is sent in an attempt, which waits for the report.
type progress struct {
	report   func(sent int64)
	busy     *sync.Mutex // held during a report, so that one that does not return is the last
	reported int64       // -1 for nothing
	due      time.Time   // of the next report
}

// at reports what was sent, unless that is known. The last report of an attempt is exact; others come in their time.
func (p *progress) at(sent int64, last bool) {
	if sent == p.reported || !last && time.Now().Before(p.due) || !p.busy.TryLock() {
		return
	}
	defer p.busy.Unlock()
	p.reported = sent
	p.report(sent)
	p.due = time.Now().Add(reportInterval)
}
