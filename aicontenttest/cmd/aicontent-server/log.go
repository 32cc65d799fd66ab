package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/mask"
)

// A log writes lines, with the keys masked. It never blocks: while its reader is behind by logLimit lines, it drops and
// counts further lines.
type log struct {
	keys    mask.Mask
	lines   chan string
	dropped atomic.Int64
	written chan struct{} // closed at the end of the log
}

const (
	logLimit = 4096
	logGrace = time.Second // for the last lines
)

// newLog returns a log that writes to w, until w fails.
func newLog(w io.Writer, keys ...string) *log {
	l := &log{keys: mask.New(keys...), lines: make(chan string, logLimit), written: make(chan struct{})}
	go func() {
		defer close(l.written)
		for line := range l.lines {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	}()
	return l
}

// close waits until everything is written, or the reader has had its time.
func (l *log) close() {
	close(l.lines)
	select {
	case <-l.written:
	case <-time.After(logGrace):
	}
}

func (l *log) printf(format string, args ...any) {
	l.line(l.keys.Text(fmt.Sprintf(format, args...)))
}

// line writes a line, or drops it.
func (l *log) line(line string) {
	line += "\n"
	dropped := l.dropped.Swap(0)
	if dropped > 0 {
		line = fmt.Sprintf("%d lines are missing here: nobody read the log\n", dropped) + line
	}
	select {
	case l.lines <- line:
	default:
		l.dropped.Add(dropped + 1)
	}
}

// request writes the line of a request, escaped as it came.
func (l *log) request(r aicontenttest.Request) {
	status, address, what := fmt.Sprint(r.Status), r.Path, string(r.Operation)
	if r.Status == 0 {
		status = "no response"
	}
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	if r.RecordID != "" {
		what += fmt.Sprintf(" %q", r.RecordID)
	}
	if r.Fault != "" {
		what += ", fault " + r.Fault
	}
	l.printf("%s %s %s %s", status, r.Method, address, what)
}
