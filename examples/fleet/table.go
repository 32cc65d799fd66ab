package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A table is what is known of the fleet.
type table struct {
	records map[string]record
	since   time.Time // what ended before is not shown as a problem
	problem string    // the latest of any job
	left    int       // jobs that have not ended
	rate    float64   // requests per second of the whole fleet
}

// watch shows the fleet until no job is left, or ctx ends. It counts the jobs that died meanwhile.
func watch(ctx context.Context, q *queue, out io.Writer) (died int, err error) {
	t := &table{left: 1, records: map[string]record{}, since: time.Now()}
	changes, err := q.jobs.Watch(ctx, "*")
	if err != nil {
		return 0, fmt.Errorf("watch the jobs: %w", err)
	}
	defer func() { _ = changes.Stop() }()
	show, every := display(out), time.NewTicker(time.Second)
	defer every.Stop()
	for t.left > 0 {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case change := <-changes.Updates():
			var r record
			if change != nil && json.Unmarshal(change.Value(), &r) == nil {
				_ = t.learn(change.Key(), r)
			}
			continue
		case <-every.C:
		}
		if t.refresh(ctx, q) == nil && t.left > 0 {
			show(t)
		}
	}
	// A node that ended took its news with it.
	err = q.each(ctx, t.learn)
	show(t)
	for _, r := range t.records {
		if r.State == dead && r.Ended.After(t.since) {
			died++
		}
	}
	return died, err
}

// display returns a function that shows the table: on a terminal in place, elsewhere as a line every few seconds.
func display(out io.Writer) func(*table) {
	file, _ := out.(*os.File)
	info, err := file.Stat()
	terminal, ticks := err == nil && info.Mode()&os.ModeCharDevice != 0, 0
	return func(t *table) {
		switch {
		case terminal:
			// A narrow terminal cuts the lines and does not wrap them.
			up := strings.Repeat("\x1b[A\x1b[2K", min(ticks, 1)*strings.Count(t.String(), "\n"))
			fmt.Fprintf(out, "%s\x1b[?7l%s\x1b[?7h", up, t)
		case t.left == 0 || ticks%5 == 4:
			fmt.Fprintln(out, strings.ReplaceAll(strings.TrimRight(t.String(), "\n"), "\n", " | "))
		}
		ticks++
	}
}

// refresh asks the queue for what it does not tell by itself.
func (t *table) refresh(ctx context.Context, q *queue) error {
	messages, err := q.stream.Info(ctx)
	if err != nil {
		return err
	}
	s, _, err := read[schedule](ctx, q.rate, scheduleKey)
	if err == nil {
		t.left, t.rate = int(messages.State.Msgs), s.PerSecond
	}
	return err
}

func (t *table) learn(id string, r record) error {
	if r.Reason != "" && (r.Ended.IsZero() || r.Ended.After(t.since)) {
		t.problem = field(r.Reason)
	}
	t.records[id] = r
	return nil
}

// String is three lines: the jobs, the workers and their rate, and the latest problem.
func (t *table) String() string {
	jobs, workers := t.count()
	return fmt.Sprintf("%d jobs: %d queued, %d running, %d waiting, %d done, %d dead\n"+
		"workers: %d, up to %g requests/s\n%s\n",
		len(t.records), jobs[queued], jobs[running], jobs[waiting], jobs[done], jobs[dead], workers, t.rate, t.problem)
}

// count counts the jobs, by state, and the workers that are running any.
func (t *table) count() (jobs map[state]int, workers int) {
	jobs, busy := map[state]int{}, map[string]bool{}
	for _, r := range t.records {
		jobs[r.State]++
		if r.State == running {
			busy[r.Worker] = true
		}
	}
	return jobs, len(busy)
}
