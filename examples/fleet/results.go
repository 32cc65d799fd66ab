package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"
)

// results prints a row for each job that has ended within a time, or ever if that is 0: its record, or why it is
// dead. Dead jobs are an error.
func results(ctx context.Context, q *queue, within time.Duration, out io.Writer) error {
	died := 0
	err := q.each(ctx, func(_ string, r record) error {
		if !r.ended() || within > 0 && time.Since(r.Since) > within {
			return nil
		}
		if r.State == dead {
			died++
		}
		file, id := field(string(r.File)), field(string(r.ID))
		_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", file, r.State, id, field(r.Reason))
		return err
	})
	return errors.Join(err, deadJobs(died))
}

// deadJobs is the error of a command that has met so many dead jobs.
func deadJobs(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("dead jobs: %d", n)
}

// field is a text as a field of a row. What could end the field, or look like another one, makes it a string of Go.
func field(text string) string {
	hidden := func(r rune) bool { return !strconv.IsGraphic(r) || r == utf8.RuneError }
	if strings.HasPrefix(text, `"`) || strings.ContainsFunc(text, hidden) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

// each calls do with every job and its record, until it fails.
func (q *queue) each(ctx context.Context, do func(id string, r record) error) error {
	err := q.jobs.each(ctx, func(entry jetstream.KeyValueEntry) error {
		var r record
		if err := json.Unmarshal(entry.Value(), &r); err != nil {
			return fmt.Errorf("the record of %s: %w", entry.Key(), err)
		}
		return do(entry.Key(), r)
	})
	if err != nil {
		err = fmt.Errorf("read the jobs: %w", err)
	}
	return err
}
