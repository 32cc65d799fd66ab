package upload

import (
	"sync"
	"time"
)

// reportInterval is the time between two reports: a progress bar that moves 20 times a second looks smooth.
const reportInterval = 50 * time.Millisecond

// progress reports the progress of an attempt. The attempt waits for each report.
type progress struct {
	report   func(sent int64)
	busy     *sync.Mutex // held during a report: if one never returns, no other follows
	reported int64       // bytes of the last report; -1 before the first
	due      time.Time   // of the next report
}

// at reports the number of bytes sent, if it is new and a report is due. The last report of an attempt is always due.
func (p *progress) at(sent int64, last bool) {
	if sent == p.reported || !last && time.Now().Before(p.due) || !p.busy.TryLock() {
		return
	}
	defer p.busy.Unlock()
	p.reported = sent
	p.report(sent)
	p.due = time.Now().Add(reportInterval)
}
