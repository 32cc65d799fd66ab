package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A table is what is known of the fleet.
type table struct {
	price   float64 // of one transcription
	states  map[string]state
	workers map[string]*row
	left    int // jobs that have not ended
	rate    float64
}

// A row is the latest report of a worker.
type row struct {
	report
	heard     time.Time
	perSecond float64 // requests
}

// watch shows the fleet until no job is left, or ctx ends, and returns how many jobs are dead. On a terminal the table
// stays in place; elsewhere there is a line every few seconds.
func watch(ctx context.Context, q *queue, price float64, out io.Writer) (deadJobs int, err error) {
	t := &table{price: price, states: map[string]state{}, workers: map[string]*row{}}
	changes, err := q.jobs.WatchAll(ctx)
	if err != nil {
		return 0, fmt.Errorf("watch the jobs: %w", err)
	}
	defer func() { _ = changes.Stop() }()
	heard := make(chan *nats.Msg, 1024)
	sub, err := q.nc.ChanSubscribe(reports, heard)
	if err != nil {
		return 0, fmt.Errorf("listen to the workers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()

	terminal := isTerminal(out)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	known := false // all records that existed at the start have arrived
	for lines, ticks := 0, 0; ; {
		select {
		case <-ctx.Done():
			return t.count(dead), ctx.Err()
		case change := <-changes.Updates():
			if change == nil {
				known = true
				continue
			}
			var r record
			if json.Unmarshal(change.Value(), &r) == nil {
				t.states[change.Key()] = r.State
			}
			continue
		case msg := <-heard:
			t.hear(msg.Data, time.Now())
			continue
		case <-every.C:
		}
		if info, err := q.stream.Info(ctx); err == nil {
			t.left = int(info.State.Msgs)
		}
		if s, _, err := readSchedule(ctx, q.rate); err == nil {
			t.rate = s.PerSecond
		}
		end := known && t.left == 0
		ticks++
		switch {
		case terminal:
			text := t.String()
			if lines > 0 {
				fmt.Fprintf(out, "\x1b[%dA\x1b[J", lines)
			}
			fmt.Fprint(out, text)
			lines = strings.Count(text, "\n")
		case end || ticks%5 == 0:
			fmt.Fprintln(out, t.summary())
		}
		if end {
			return t.count(dead), nil
		}
	}
}

func (t *table) hear(data []byte, now time.Time) {
	var r report
	if json.Unmarshal(data, &r) != nil {
		return
	}
	last := t.workers[r.Worker]
	next := &row{report: r, heard: now}
	if last != nil {
		next.perSecond = float64(r.Requests-last.Requests) / now.Sub(last.heard).Seconds()
	}
	t.workers[r.Worker] = next
	// A worker that has not reported for a while is gone.
	maps.DeleteFunc(t.workers, func(_ string, w *row) bool { return now.Sub(w.heard) > 5*time.Second })
}

func (t *table) count(s state) (n int) {
	for _, is := range t.states {
		if is == s {
			n++
		}
	}
	return n
}

func (t *table) summary() string {
	ended := t.count(done) + t.count(dead)
	var perSecond float64
	for _, w := range t.workers {
		perSecond += w.perSecond
	}
	return fmt.Sprintf("%d jobs: %d queued, %d running, %d waiting, %d done, %d dead | %.1f of %g requests/s | cost %.2f",
		ended+t.left, max(t.left-t.count(running)-t.count(waiting), 0), t.count(running), t.count(waiting), t.count(done), t.count(dead),
		perSecond, t.rate, t.price*float64(t.count(done)))
}

func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", t.summary())
	fmt.Fprintf(&b, "%-24s %7s %7s %7s %10s %9s  %s\n", "worker", "running", "done", "failed", "requests/s", "memory", "latest problem")
	for _, name := range slices.Sorted(maps.Keys(t.workers)) {
		w := t.workers[name]
		fmt.Fprintf(&b, "%-24.24s %7d %7d %7d %10.1f %5.1f MiB  %.60s\n",
			w.Worker, w.Running, w.Done, w.Failed, w.perSecond, float64(w.Memory)/(1<<20), w.Problem)
	}
	return b.String()
}

// printResults prints every job that has ended: its text, or the reason why it is dead.
func printResults(ctx context.Context, q *queue, out io.Writer) error {
	changes, err := q.jobs.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	defer func() { _ = changes.Stop() }()
	for change := range changes.Updates() {
		if change == nil {
			return nil
		}
		var r record
		if err := json.Unmarshal(change.Value(), &r); err != nil {
			return fmt.Errorf("read the result of %s: %w", change.Key(), err)
		}
		switch r.State {
		case done:
			fmt.Fprintf(out, "%s\tdone\t%s\t%s\n", r.File, r.ID, r.Text)
		case dead:
			fmt.Fprintf(out, "%s\tdead\t\t%s\n", r.File, r.Reason)
		}
	}
	return ctx.Err()
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
