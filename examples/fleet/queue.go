package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// Names in NATS.
const (
	stream       = "fleet"       // a message per job, removed when the job has ended
	consumerName = "workers"     // all workers pull from it
	jobSubject   = "fleet.jobs." // followed by the job's ID
	jobPrefix    = "fleet-"      // of all IDs

	// Buckets.
	filesBucket = "fleet-files" // a file per job, in parts, removed when the job has ended
	textsBucket = "fleet-texts" // a text per job, in parts; before it is there, room for it
	jobsBucket  = "fleet-jobs"  // a record per job, and under the same key and a second token its files' names
	rateBucket  = "fleet-rate"  // the schedule that all workers share

	ledgerBucket = "fleet-ledger" // of package once; never removed
)

// A job is a message of the stream.
type job struct {
	ID       string                `json:"id"`   // a hash of content and settings; also names the transcription
	File     []byte                `json:"file"` // as the user named it, in whatever encoding
	Size     int64                 `json:"size"`
	Language aicontent.CountryCode `json:"language,omitempty"`
}

// encode returns the JSON of a job, record or schedule, which always has one.
func encode(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// A queue holds what the processes of a fleet share.
type queue struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	pending jetstream.Consumer
	files   bucket
	texts   bucket
	jobs    bucket
	rate    bucket
	ledger  bucket
	opened  schedule // the schedule when the queue was opened
}

// openQueue returns the queue. If l is not nil, it creates what is missing with these limits, and what exists must have
// the limits that were given as flags. A cluster that has just started needs some seconds.
func openQueue(ctx context.Context, urls string, l *limits, login ...nats.Option) (*queue, error) {
	hosts, err := hosts(urls)
	if err != nil {
		return nil, err
	}
	login = append(login, nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond))
	nc, err := nats.Connect(urls, login...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, err)
	}
	js, err := jetstream.New(nc)
	q := &queue{nc: nc, js: js}
	if err == nil {
		err = patiently(ctx, func(ctx context.Context) error {
			err := q.get(ctx)
			if l == nil || !errors.Is(err, jetstream.ErrBucketNotFound) {
				return err
			}
			if err := q.create(ctx, *l); err != nil {
				return err
			}
			return q.get(ctx)
		})
	}
	switch {
	case l == nil && errors.Is(err, jetstream.ErrBucketNotFound):
		err = errNoQueue
	case l != nil && full(err):
		err = fmt.Errorf("the NATS server has no room for %d MiB, -room %d and -texts %d bytes",
			fixed>>20, l.room, l.texts)
	case l != nil && err == nil:
		was := q.limits()
		if differed := was.take(l.given); len(differed) > 0 {
			err = fmt.Errorf("it has other settings: %s; fleet set changes them", strings.Join(differed, ", "))
		}
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return q, nil
}

var errNoQueue = errors.New("there is none yet; fleet produce creates it")

// hosts are the hosts of a list of URLs. Its error says nothing of them: any part may be a password.
func hosts(urls string) (string, error) {
	var hosts []string
	for part := range strings.SplitSeq(urls, ",") {
		if part = strings.TrimSpace(part); !strings.Contains(part, "://") {
			part = "nats://" + part
		}
		u, err := url.Parse(part)
		if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
			return "", errors.New("NATS_URL must be one or more URLs, such as nats://user:password@host:4222; " +
				"write special characters of a password as %2F and so on")
		}
		hosts = append(hosts, u.Host)
	}
	return strings.Join(hosts, ", "), nil
}

// fixed is the room for what has no flag. Jobs and ledger hold half a million recordings each.
const (
	fixed      = queueRoom + jobsRoom + ledgerRoom + rateRoom
	queueRoom  = 64 << 20
	jobsRoom   = 256 << 20
	ledgerRoom = 256 << 20
	rateRoom   = 1 << 20
)

// buckets calls do with each bucket, its name and its room, until it fails. The last is that of files: a queue that has
// it is complete.
func (q *queue) buckets(l limits, do func(b *bucket, name string, room int64) error) error {
	err := do(&q.jobs, jobsBucket, jobsRoom)
	if err == nil {
		err = do(&q.texts, textsBucket, l.texts+spare)
	}
	if err == nil {
		err = do(&q.ledger, ledgerBucket, ledgerRoom)
	}
	if err == nil {
		err = do(&q.rate, rateBucket, rateRoom)
	}
	if err == nil {
		err = do(&q.files, filesBucket, l.room)
	}
	return err
}

// create creates what get has not found: a full server refuses to create even what exists. Each part reserves its room,
// so that files leave some for results.
func (q *queue) create(ctx context.Context, l limits) (err error) {
	if q.stream == nil {
		q.stream, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: stream, Subjects: []string{jobSubject + "*"}, Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, Replicas: l.replicas, MaxBytes: queueRoom, Duplicates: time.Hour,
		})
	}
	if err != nil {
		return err
	}
	// The rest of a queue that was made in part is like its beginning.
	l.replicas = q.stream.CachedInfo().Config.Replicas
	if q.pending == nil {
		_, err = q.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.ackWait, MaxDeliver: -1,
		})
	}
	if err != nil {
		return err
	}
	return q.buckets(l, func(b *bucket, name string, room int64) (err error) {
		if b.KeyValue == nil {
			*b, err = createBucket(ctx, q.js, name, l.replicas, room)
		}
		if err == nil && name == rateBucket {
			_, err = q.rate.Create(ctx, scheduleKey, encode(schedule{PerSecond: l.rate}))
		}
		if errors.Is(err, jetstream.ErrKeyExists) {
			err = nil
		}
		return err
	})
}

func (q *queue) get(ctx context.Context) error {
	var errs [3]error
	q.stream, errs[0] = q.js.Stream(ctx, stream)
	q.pending, errs[1] = q.js.Consumer(ctx, stream, consumerName)
	_ = q.buckets(limits{}, func(b *bucket, name string, _ int64) (err error) {
		*b, err = openBucket(ctx, q.js, name)
		errs[2] = errors.Join(errs[2], err)
		return nil
	})
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	var err error
	q.opened, _, err = read[schedule](ctx, q.rate, scheduleKey)
	return err
}

// read returns a job's record and revision, or zeros.
func (q *queue) read(ctx context.Context, id string) (r record, revision uint64, err error) {
	r, revision, err = read[record](ctx, q.jobs, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = nil
	}
	return r, revision, err
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
