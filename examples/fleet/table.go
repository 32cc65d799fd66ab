package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A table is what is known of the fleet.
type table struct {
	records map[string]record
	problem string  // the latest of any job
	fresh   int     // jobs that no worker has met
	left    int     // jobs that have not ended
	rate    float64 // requests per second of the whole fleet
}

// deadJobs is the error of a command that has met so many dead jobs.
func deadJobs(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("dead jobs: %d", n)
}

// watch shows the fleet until no job is left, or ctx ends. Dead jobs are an error.
func watch(ctx context.Context, q *queue, out io.Writer) error {
	t := &table{left: 1, records: map[string]record{}}
	changes, err := q.jobs.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("watch the jobs: %w", err)
	}
	defer func() { _ = changes.Stop() }()
	show, every := display(out), time.NewTicker(time.Second)
	defer every.Stop()
	for t.left > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
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
	jobs, _ := t.count()
	return errors.Join(err, deadJobs(jobs[dead]))
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
	workers, err := q.pending.Info(ctx)
	if err != nil {
		return err
	}
	s, _, err := read[schedule](ctx, q.rate, scheduleKey)
	if err == nil {
		t.left, t.fresh, t.rate = int(messages.State.Msgs), int(workers.NumPending), s.PerSecond
	}
	return err
}

func (t *table) learn(id string, r record) error {
	if r.Reason != "" {
		t.problem = field(r.Reason)
	}
	r.Text = ""
	t.records[id] = r
	return nil
}

// String is three lines: the jobs, the workers and their rate, and the latest problem.
func (t *table) String() string {
	jobs, workers := t.count()
	running, waiting, done, dead := jobs[running], jobs[waiting], jobs[done], jobs[dead]
	// A message may be left of a job that has ended, and a replica may not know yet that a job was met.
	queued := max(min(t.fresh, t.left-running-waiting), 0)
	return fmt.Sprintf("%d jobs: %d queued, %d running, %d waiting, %d done, %d dead\n"+
		"workers: %d, up to %g requests/s\n%s\n",
		queued+running+waiting+done+dead, queued, running, waiting, done, dead, workers, t.rate, t.problem)
}

// count counts the jobs that workers have met, by state, and the workers that are running any.
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

// printResults prints a row for every job that has ended: its text, or why it is dead. It counts the dead jobs.
func printResults(ctx context.Context, q *queue, out io.Writer) (jobs int, err error) {
	err = q.each(ctx, func(id string, r record) error {
		if !r.ended() {
			return nil
		}
		if r.State == dead {
			jobs++
		}
		var long strings.Builder
		if r.Long {
			if err := q.texts.fetch(ctx, id, &long); err != nil {
				return fmt.Errorf("the text of %s: %w", id, err)
			}
		}
		text := cmp.Or(r.Reason, r.Text, long.String())
		_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", field(r.File), r.State, field(string(r.ID)), field(text))
		return err
	})
	return jobs, err
}

// field is a text as a field of a row. What could end the field, or look like another one, makes it a string of Go.
func field(text string) string {
	hidden := func(r rune) bool { return !strconv.IsGraphic(r) || r == utf8.RuneError }
	if strings.HasPrefix(text, `"`) || strings.ContainsFunc(text, hidden) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

// each calls do with every record, until it fails.
func (q *queue) each(ctx context.Context, do func(id string, r record) error) error {
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
			return fmt.Errorf("the result of %s: %w", change.Key(), err)
		}
		if err := do(change.Key(), r); err != nil {
			return err
		}
	}
	return ctx.Err()
}
