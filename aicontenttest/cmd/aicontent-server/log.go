package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/mask"
)

// A log writes lines, with the keys masked. Nobody waits for it: while its reader is behind by logLimit, lines are
// dropped and counted.
type log struct {
	keys mask.Mask

	mu      sync.Mutex
	waiting []byte
	dropped int
	closed  bool
	more    chan struct{} // has a value while there is something to write
	written chan struct{} // closed when everything is
}

const (
	logLimit = 1 << 20     // bytes that wait to be written
	logGrace = time.Second // for the last lines
)

// newLog returns a log that writes to w, until w fails.
func newLog(w io.Writer, keys ...string) *log {
	l := &log{keys: mask.New(keys...), more: make(chan struct{}, 1), written: make(chan struct{})}
	go l.write(w)
	return l
}

func (l *log) write(w io.Writer) {
	defer close(l.written)
	for range l.more {
		l.mu.Lock()
		lines, dropped, closed := l.waiting, l.dropped, l.closed
		l.waiting, l.dropped = nil, 0
		l.mu.Unlock()
		if dropped > 0 {
			lines = fmt.Appendf(lines, "%d lines are missing here: nobody read the log\n", dropped)
		}
		if _, err := w.Write(lines); err != nil || closed {
			return
		}
	}
}

// close waits until everything is written, or the reader has had its time.
func (l *log) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wake()
	select {
	case <-l.written:
	case <-time.After(logGrace):
	}
}

func (l *log) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *log) printf(format string, args ...any) {
	l.line(l.keys.Text(fmt.Sprintf(format, args...)))
}

func (l *log) line(line string) {
	line += "\n"
	l.mu.Lock()
	if len(l.waiting)+len(line) > logLimit {
		l.dropped++
	} else {
		l.waiting = append(l.waiting, line...)
	}
	l.mu.Unlock()
	l.wake()
}

// request writes the line of a request, escaped as it came.
func (l *log) request(r aicontenttest.Request) {
	address := r.EscapedPath
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	status := fmt.Sprint(r.Status)
	if r.Status == 0 {
		status = "no response"
	}
	what := string(r.Operation)
	if r.RecordID != "" {
		what += fmt.Sprintf(" %q", r.RecordID)
	}
	if r.Fault != "" {
		what += ", fault " + r.Fault
	}
	l.printf("%s %s %s %s", status, r.Method, address, what)
}
