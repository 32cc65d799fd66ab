package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func resultsCommand(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fleet results", flag.ContinueOnError)
	since := flags.Duration("since", 0, "only recordings that ended so much `time` ago or less, such as 24h")
	natsContext, err := parse(flags, args, out)
	switch {
	case err != nil:
		return err
	case flags.NArg() > 0:
		return usagef("results takes no arguments, but got %q", flags.Arg(0))
	case *since < 0:
		return usagef("-since must be above 0, not %v", *since)
	}
	q, err := openQueue(ctx, natsContext, 0)
	if err != nil {
		return err
	}
	defer q.close()
	return results(ctx, q, *since, out)
}

// results prints a row for each job that has ended within a time, or ever if that is 0: its record, or why it is dead.
// Dead jobs are an error.
func results(ctx context.Context, q *queue, within time.Duration, out io.Writer) error {
	entries, err := q.results.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	defer func() { _ = entries.Stop() }()
	died := 0
	for entry := range entries.Updates() {
		if entry == nil { // all have come
			break
		}
		var j job
		if err := json.Unmarshal(entry.Value(), &j); err != nil {
			return fmt.Errorf("the result of %s: %w", entry.Key(), err)
		}
		if within > 0 && time.Since(j.Ended) > within {
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
	if died > 0 {
		return fmt.Errorf("dead jobs: %d", died)
	}
	return ctx.Err()
}
