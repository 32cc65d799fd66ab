package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// limits are the settings of a queue.
type limits struct {
	replicas int
	room     int64 // bytes for the files of unfinished jobs
	texts    int64 // bytes for the texts of finished ones
	ackWait  time.Duration
	rate     float64 // requests per second

	given map[string]string // by flags on the command line
}

// define adds a flag for each limit. Its default is what the limit is.
func (l *limits) define(flags *flag.FlagSet) {
	flags.Float64Var(&l.rate, "rate", l.rate, "`requests` per second of the whole fleet; 0 stops it")
	flags.DurationVar(&l.ackWait, "ack-wait", l.ackWait, "`time` after which a silent worker's job goes to another")
	flags.IntVar(&l.replicas, "replicas", l.replicas, "`number` of NATS servers with the queue; of 3, one may fail")
	flags.Int64Var(&l.room, "room", l.room, "`bytes` of files in the queue before a producer waits")
	flags.Int64Var(&l.texts, "texts", l.texts, "`bytes` of texts in the queue before jobs wait for results -drop")
}

// take gives l the limits that were given as flags, and returns a text for each that differed.
func (l *limits) take(given map[string]string) (differed []string) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	l.define(flags)
	flags.VisitAll(func(f *flag.Flag) {
		if value, ok := given[f.Name]; ok && value != f.Value.String() {
			differed = append(differed, fmt.Sprintf("-%s is %s, not %s", f.Name, f.Value, value))
			_ = f.Value.Set(value)
		}
	})
	return differed
}

// limits returns the settings that the queue had when it was opened.
func (q *queue) limits() limits {
	return limits{
		replicas: q.stream.CachedInfo().Config.Replicas,
		room:     q.files.stream.CachedInfo().Config.MaxBytes,
		texts:    q.texts.stream.CachedInfo().Config.MaxBytes - spare,
		ackWait:  q.pending.CachedInfo().Config.AckWait,
		rate:     q.opened.PerSecond,
	}
}

// set changes the settings that were given as flags, and shows all.
func set(ctx context.Context, q *queue, given map[string]string, out io.Writer) error {
	l := q.limits()
	l.take(given)
	change := func(s jetstream.Stream, room int64) error {
		config := s.CachedInfo().Config
		config.Replicas, config.MaxBytes = l.replicas, room
		_, err := q.js.UpdateStream(ctx, config)
		return err
	}
	err := change(q.stream, queueRoom)
	if err == nil {
		err = q.buckets(l, func(b *bucket, _ string, room int64) error { return change(b.stream, room) })
	}
	if err != nil {
		return fmt.Errorf("change the queue: %w", err)
	}
	config := q.pending.CachedInfo().Config
	config.AckWait = l.ackWait
	if _, err := q.js.UpdateConsumer(ctx, stream, config); err != nil {
		return fmt.Errorf("change the queue: %w", err)
	}
	if err := setRate(ctx, q.rate, l.rate); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "-replicas %d -ack-wait %v -room %d -texts %d -rate %g\n",
		l.replicas, l.ackWait, l.room, l.texts, l.rate)
	return err
}
