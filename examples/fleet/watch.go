package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A table is what is known of the fleet.
type table struct {
	records map[string]record
	since   time.Time // dead letters from before are no problem of now
	rate    float64   // requests per second of the whole fleet
}

// watch prints a line a second until no job is left, or ctx ends. That jobs died meanwhile is an error.
func watch(ctx context.Context, q *queue, out io.Writer) error {
	t := &table{records: map[string]record{}, since: time.Now()}
	changes, err := q.jobs.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("watch the jobs: %w", err)
	}
	defer func() { _ = changes.Stop() }()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for left := true; left; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case change := <-changes.Updates():
			var r record
			if change != nil && json.Unmarshal(change.Value(), &r) == nil {
				t.records[change.Key()] = r
			}
		case <-every.C:
			messages, err := q.stream.Info(ctx)
			s, _, failed := read[schedule](ctx, q.rate, scheduleKey)
			if err != nil || failed != nil {
				continue
			}
			left, t.rate = messages.State.Msgs > 0, s.PerSecond
			if left {
				fmt.Fprintln(out, t)
			}
		}
	}
	died := 0
	err = q.each(ctx, func(id string, r record) error { // a node that ended took its news with it
		t.records[id] = r
		if r.State == dead && r.Since.After(t.since) {
			died++
		}
		return nil
	})
	fmt.Fprintln(out, t)
	return errors.Join(err, deadJobs(died))
}

// String is a line: the jobs by state, the workers that run any, their rate, and the latest problem of a job that
// waits, or has died since the table was made.
func (t *table) String() string {
	jobs, workers := map[state]int{}, map[string]bool{}
	var latest record
	for _, r := range t.records {
		jobs[r.State]++
		switch {
		case r.State == running:
			workers[r.Worker] = true
		case r.State == waiting || r.State == dead && r.Since.After(t.since):
			if r.Since.After(latest.Since) {
				latest = r
			}
		}
	}
	line := fmt.Sprintf("%d jobs: %d queued, %d running, %d waiting, %d done, %d dead; workers: %d, up to %g/s",
		len(t.records), jobs[queued], jobs[running], jobs[waiting], jobs[done], jobs[dead], len(workers), t.rate)
	if latest.Reason != "" {
		line += "; " + field(latest.Reason)
	}
	return line
}
