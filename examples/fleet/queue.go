package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
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
	filesBucket  = "fleet-files" // a file per job, removed when the job has ended
	textsBucket  = "fleet-texts" // a text per job whose text is long; never removed
	jobsBucket   = "fleet-jobs"  // a record per job: claim, result or dead letter; never removed
	rateBucket   = "fleet-rate"  // the schedule that all workers share
)

// A job is a message of the stream.
type job struct {
	ID       string                `json:"id"`   // a hash of content and settings; also names the transcription
	File     string                `json:"file"` // as the user named it
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
	jobs    jetstream.KeyValue
	rate    jetstream.KeyValue
	opened  schedule // the schedule when the queue was opened
}

// limits are the settings of a queue.
type limits struct {
	replicas int
	room     int64 // bytes for the files of unfinished jobs
	ackWait  time.Duration
	rate     float64 // requests per second

	given map[string]string // by flags on the command line
}

// openQueue returns the queue. If l is not nil, it creates what is missing with these limits, and what exists must have
// the limits that were given as flags. A cluster that has just started needs some seconds.
func openQueue(ctx context.Context, url string, l *limits, login ...nats.Option) (*queue, error) {
	login = append(login, nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond))
	nc, err := nats.Connect(url, login...)
	if err != nil {
		secret := regexp.MustCompile(`[^/,]*@`)
		return nil, fmt.Errorf("connect to NATS at %s: %w", secret.ReplaceAllString(url, ""), err)
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
		err = errors.New("there is none yet; fleet produce creates it")
	case l != nil && full(err):
		err = fmt.Errorf("the NATS server has no room for 577 MiB and -room %d bytes", l.room)
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

// create creates what get has not found: a full server refuses to create even what exists. Each part reserves its room,
// so that files leave some for results. The bucket of files is last: a queue that has it is complete.
func (q *queue) create(ctx context.Context, l limits) (err error) {
	if q.stream == nil {
		q.stream, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: stream, Subjects: []string{jobSubject + "*"}, Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, Replicas: l.replicas, MaxBytes: 64 << 20, Duplicates: time.Hour,
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
	values := jetstream.KeyValueConfig{Bucket: jobsBucket, Replicas: l.replicas, MaxBytes: 256 << 20}
	if err == nil && q.jobs == nil {
		_, err = q.js.CreateKeyValue(ctx, values)
	}
	if err == nil && q.rate == nil {
		values.Bucket, values.MaxBytes = rateBucket, 1<<20
		q.rate, err = q.js.CreateKeyValue(ctx, values)
	}
	objects := jetstream.ObjectStoreConfig{Bucket: textsBucket, Replicas: l.replicas, MaxBytes: 256 << 20}
	if err == nil && q.texts.ObjectStore == nil {
		_, err = q.js.CreateObjectStore(ctx, objects)
	}
	if err == nil {
		_, err = q.rate.Create(ctx, scheduleKey, encode(schedule{PerSecond: l.rate}))
	}
	if err == nil || errors.Is(err, jetstream.ErrKeyExists) {
		objects.Bucket, objects.MaxBytes = filesBucket, l.room
		_, err = q.js.CreateObjectStore(ctx, objects)
	}
	return err
}

// limits returns the settings that the queue had when it was opened.
func (q *queue) limits() limits {
	return limits{
		replicas: q.stream.CachedInfo().Config.Replicas,
		room:     q.files.stream.CachedInfo().Config.MaxBytes,
		ackWait:  q.pending.CachedInfo().Config.AckWait,
		rate:     q.opened.PerSecond,
	}
}

// set changes the settings that were given as flags, and shows all.
func set(ctx context.Context, q *queue, given map[string]string, out io.Writer) error {
	l := q.limits()
	l.take(given)
	for _, name := range []string{
		stream, "OBJ_" + filesBucket, "OBJ_" + textsBucket, "KV_" + jobsBucket, "KV_" + rateBucket,
	} {
		s, err := q.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		config := s.CachedInfo().Config
		config.Replicas = l.replicas
		if name == "OBJ_"+filesBucket {
			config.MaxBytes = l.room
		}
		if _, err := q.js.UpdateStream(ctx, config); err != nil {
			return fmt.Errorf("change the queue: %w", err)
		}
	}
	config := q.pending.CachedInfo().Config
	config.AckWait = l.ackWait
	if _, err := q.js.UpdateConsumer(ctx, stream, config); err != nil {
		return fmt.Errorf("change the queue: %w", err)
	}
	if err := setRate(ctx, q.rate, l.rate); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "-replicas %d -ack-wait %v -room %d -rate %g\n", l.replicas, l.ackWait, l.room, l.rate)
	return err
}

func (q *queue) get(ctx context.Context) error {
	var errs [9]error
	q.stream, errs[0] = q.js.Stream(ctx, stream)
	q.pending, errs[1] = q.js.Consumer(ctx, stream, consumerName)
	q.files.ObjectStore, errs[2] = q.js.ObjectStore(ctx, filesBucket)
	q.files.stream, errs[3] = q.js.Stream(ctx, "OBJ_"+filesBucket)
	q.texts.ObjectStore, errs[4] = q.js.ObjectStore(ctx, textsBucket)
	q.texts.stream, errs[5] = q.js.Stream(ctx, "OBJ_"+textsBucket)
	q.jobs, errs[6] = q.js.KeyValue(ctx, jobsBucket)
	if q.rate, errs[7] = q.js.KeyValue(ctx, rateBucket); errs[7] == nil {
		q.opened, _, errs[8] = read[schedule](ctx, q.rate, scheduleKey)
	}
	return errors.Join(errs[:]...)
}

// read returns a job's record and revision, or zeros. A replica that lags may return old ones: compare-and-set fails.
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

// patiently calls do until it succeeds or fails for good, for up to a minute: NATS may be electing a leader, or be
// unreachable. Without a deadline, a JetStream request times out after five seconds.
func patiently(ctx context.Context, do func(context.Context) error) error {
	for end := time.Now().Add(time.Minute); ; {
		err := do(ctx)
		if err == nil || !transient(err) || time.Now().After(end) || pause(ctx, 250*time.Millisecond) != nil {
			return err
		}
	}
}

// transient reports whether a JetStream request that failed with err may succeed later.
func transient(err error) bool {
	if api, ok := errors.AsType[jetstream.JetStreamError](err); ok && api.APIError() != nil {
		return api.APIError().Code == 503 && !full(err)
	}
	is := func(target error) bool { return errors.Is(err, target) }
	// A replica that lags may not have the rate yet.
	return slices.ContainsFunc([]error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse, jetstream.ErrKeyNotFound}, is)
}

// full reports whether NATS has no room: the codes mean a failed write, a server's limit and an account's limit.
func full(err error) bool {
	api, ok := errors.AsType[jetstream.JetStreamError](err)
	return ok && api.APIError() != nil &&
		slices.Contains([]jetstream.ErrorCode{10077, 10023, 10047}, api.APIError().ErrorCode)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
