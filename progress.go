package aicontent

import (
	"sync"
	"time"
)

// Progress is how far an upload is: bytes of the file, without the form around them.
type Progress struct {
	Sent    int64 // taken by the network so far in this attempt; it never falls within one
	Total   int64 // the file's size; -1 where it is unknown
	Attempt int   // counts from 1
}

// progressPause is the time between two reports.
const progressPause = 50 * time.Millisecond

// meter reports progress from a goroutine of its own, so that a slow callback does not hold the upload up. A nil meter
// reports nothing.
type meter struct {
	report func(Progress)
	done   chan struct{}
	ended  chan struct{}

	mu   sync.Mutex
	now  Progress
	told Progress // only of the reporting goroutine
}

func startMeter(report func(Progress), total int64) *meter {
	m := &meter{report: report, done: make(chan struct{}), ended: make(chan struct{}), now: Progress{Total: total}}
	go m.run()
	return m
}

func (m *meter) run() {
	defer func() {
		// A panic of the callback ends the program: until then the call must not go on as if nothing was.
		if r := recover(); r != nil {
			panic(r)
		}
		close(m.ended)
	}()
	ticker := time.NewTicker(progressPause)
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

// tell reports where the upload is, unless that was said already.
func (m *meter) tell() {
	m.mu.Lock()
	now := m.now
	m.mu.Unlock()
	if now.Attempt > 0 && now != m.told {
		m.told = now
		m.report(now)
	}
}

// begin starts an attempt's count.
func (m *meter) begin(attempt int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Sent, m.now.Attempt = 0, attempt
}

// at notes how many bytes of the file are taken. A body that net/http replays within an attempt starts anew, its progress
// does not.
func (m *meter) at(sent int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Sent = max(m.now.Sent, sent)
}

// stop makes the last report, which is exact, and returns when nothing more will be reported.
func (m *meter) stop() {
	close(m.done)
	<-m.ended
}
