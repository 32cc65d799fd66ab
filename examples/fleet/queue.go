package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"
)

// Names in NATS.
const (
	jobsStream   = "fleet"       // a message per job, removed when the job has ended
	consumerName = "workers"     // all workers pull from it
	jobSubject   = "fleet.jobs." // followed by the job's ID
	jobPrefix    = "fleet-"      // of all IDs

	// Buckets.
	filesBucket  = "fleet-files"  // a file per job, in parts, removed when the job has ended
	jobsBucket   = "fleet-jobs"   // a record per job
	rateBucket   = "fleet-rate"   // the schedule that all workers share
	ledgerBucket = "fleet-ledger" // of package once; never removed
)

// limits are the settings of a queue. One that is zero or nil stays as it is; in a new queue it has its default.
type limits struct {
	Rate     *float64      `placeholder:"N" help:"Requests per second of the whole fleet (10); 0 stops it."`
	AckWait  time.Duration `placeholder:"TIME" help:"Time after which a silent worker's job goes to another (45s)."`
	Replicas int           `placeholder:"N" help:"NATS servers with the queue (1); of 3, one may fail."`
	Room     size          `placeholder:"SIZE" help:"Size of all files in the queue, such as 5MB (1GB)."`
}

// A size is a number of bytes, with a unit on the command line.
type size int64

func (s *size) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err == nil && (n < 1<<20 || n > 1<<60) {
		err = errors.New("must be at least 1MiB")
	}
	*s = size(n)
	return err
}

// connect connects to NATS with a context of the nats program, or to NATS_URL.
func connect(name string) (nc *nats.Conn, err error) {
	opts := []nats.Option{nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond)}
	urls := os.Getenv("NATS_URL")
	switch {
	case name != "":
		nc, _, err = natscontext.Connect(name, opts...)
	case urls != "":
		nc, err = nats.Connect(urls, opts...)
	default:
		err = errors.New("NATS_URL is not set, and no -context is given")
	}
	if _, malformed := errors.AsType[*url.Error](err); malformed {
		// Any part of it may be a password.
		err = errors.New("the address must be one or more URLs, such as nats://user:password@host:4222; " +
			"write special characters of a password as %2F and so on")
	}
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return nc, nil
}

// A queue holds what the processes of a fleet share.
type queue struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	pending jetstream.Consumer
	files   bucket
	jobs    bucket
	rate    bucket
	ledger  bucket
}

// openQueue returns the queue at NATS. With limits, it makes what is missing and changes what differs from them. A
// cluster that has just started needs some seconds.
func openQueue(ctx context.Context, nc *nats.Conn, l *limits) (*queue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	q := &queue{js: js}
	err = patiently(ctx, func(ctx context.Context) error { return q.open(ctx, l) })
	switch {
	case l == nil && (errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound)):
		err = errors.New("there is none yet; fleet produce creates it")
	case l != nil && full(err):
		err = fmt.Errorf("the NATS server has no room for it: %w; see -room", err)
	}
	if err != nil {
		err = fmt.Errorf("open the queue: %w", err)
	}
	return q, err
}

// open opens all parts. Each reserves its room, so that files leave some for records: jobs and ledger hold half a
// million recordings each.
func (q *queue) open(ctx context.Context, create *limits) (err error) {
	q.stream, err = q.openStream(ctx, create, jetstream.StreamConfig{
		Name: jobsStream, Subjects: []string{jobSubject + "*"}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, MaxBytes: 64 << 20, Duplicates: time.Hour,
	})
	if err != nil {
		return err
	}
	if q.pending, err = q.openConsumer(ctx, create); err != nil {
		return err
	}
	for _, part := range []struct {
		bucket *bucket
		name   string
		room   int64
	}{
		{&q.jobs, jobsBucket, 256 << 20},
		{&q.ledger, ledgerBucket, 256 << 20},
		{&q.rate, rateBucket, 1 << 20},
		{&q.files, filesBucket, 1e9},
	} {
		if *part.bucket, err = q.openBucket(ctx, create, part.name, part.room); err != nil {
			return err
		}
	}
	if create == nil {
		return nil
	}
	_, err = q.rate.Create(ctx, scheduleKey, encode(schedule{PerSecond: 10}))
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = nil
	}
	if err == nil && create.Rate != nil {
		err = setRate(ctx, q.rate, *create.Rate)
	}
	return err
}

// openStream returns a stream. With limits, it is created if it is missing, and changed if they differ: what an
// operator has given it, such as more room, stays.
func (q *queue) openStream(ctx context.Context, create *limits, c jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, c.Name)
	if create == nil || err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	if err == nil {
		c = s.CachedInfo().Config
		c.AllowDirect = false // It is on in a bucket that another program created.
	}
	c.Replicas = cmp.Or(create.Replicas, c.Replicas)
	if c.Name == "KV_"+filesBucket {
		c.MaxBytes = cmp.Or(int64(create.Room), c.MaxBytes)
	}
	return q.js.CreateOrUpdateStream(ctx, c)
}

func (q *queue) openConsumer(ctx context.Context, create *limits) (jetstream.Consumer, error) {
	consumer, err := q.stream.Consumer(ctx, consumerName)
	if create == nil || err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return consumer, err
	}
	ackWait := 45 * time.Second
	if err == nil {
		ackWait = consumer.CachedInfo().Config.AckWait
	}
	// A job waits for what became of an earlier request for as long as that takes: no number of deliveries ends it.
	return q.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: -1,
		AckWait: cmp.Or(create.AckWait, ackWait),
	})
}

// encode returns the JSON of a record or schedule, which always has one.
func encode(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// read returns the value of a key and its revision.
func read[T any](ctx context.Context, bucket jetstream.KeyValue, key string) (value T, revision uint64, err error) {
	entry, err := bucket.Get(ctx, key)
	if err != nil {
		return value, 0, err
	}
	err = json.Unmarshal(entry.Value(), &value)
	return value, entry.Revision(), err
}
