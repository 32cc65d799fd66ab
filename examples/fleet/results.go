package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// results prints a row for each ended job: its record, or why it is dead. Dead jobs are an error.
func results(ctx context.Context, args []string, out io.Writer) error {
	flags, natsContext := newFlags("results")
	since := flags.Duration("since", 0, "only recordings that ended so much `time` ago or less, such as 24h")
	flags.Parse(args)
	switch {
	case flags.NArg() > 0:
		return usagef("results takes no arguments, but got %q", flags.Arg(0))
	case *since < 0:
		return usagef("-since must be above 0, not %v", *since)
	}
	q, err := openQueue(ctx, *natsContext, 0)
	if err != nil {
		return err
	}
	defer q.close()
	bucket, err := q.jobs.bucket.Status(ctx)
	if err != nil {
		return fmt.Errorf("count the jobs: %w", err)
	}
	entries, err := q.jobs.bucket.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("read the jobs: %w", err)
	}
	defer func() { _ = entries.Stop() }()
	read, died := uint64(0), 0
	for entry := range entries.Updates() {
		if entry == nil { // all have come
			break
		}
		read++
		if entry.Operation() != jetstream.KeyValuePut { // deleted by an operator
			continue
		}
		var j job
		if err := json.Unmarshal(entry.Value(), &j); err != nil {
			return fmt.Errorf("job %s: %w", entry.Key(), err)
		}
		if j.State == queued || *since > 0 && time.Since(entry.Created()) > *since {
			continue
		}
		if j.State == dead {
			died++
		}
		// Quoted, no name or reason looks like another row.
		if _, err := fmt.Fprintf(out, "%s\t%q\t%q\t%q\n", j.State, j.File, j.Record, j.Reason); err != nil {
			return err
		}
	}
	if read < bucket.Values() { // The leader has counted, and any replica may have listed.
		return errors.New("rows are missing: a NATS server lags behind the others; run results again")
	}
	if died > 0 {
		return fmt.Errorf("dead jobs: %d", died)
	}
	return ctx.Err()
}
