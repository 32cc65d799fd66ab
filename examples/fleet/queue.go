package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// Names in NATS.
const (
	stream       = "fleet"         // a message per job, removed when the job has ended
	consumerName = "workers"       // all workers pull from it
	jobSubject   = "fleet.jobs."   // followed by the job's ID
	reports      = "fleet.workers" // a report from each worker every second
	filesBucket  = "fleet-files"   // a file per job, removed when the job has ended
	jobsBucket   = "fleet-jobs"    // a record per job: claim, result or dead letter; never removed
	rateBucket   = "fleet-rate"    // the schedule that all workers share
)

// A job is a message of the stream.
type job struct {
	ID       string                `json:"id"`   // a hash of content and settings; also names the transcription
	File     string                `json:"file"` // as the user named it
	Language aicontent.CountryCode `json:"language,omitempty"`
}

type state string

const (
	running state = "running"
	waiting state = "waiting" // for a retry
	done    state = "done"
	dead    state = "dead" // a dead letter: no retry can succeed
)

// A record holds the state of a job. Every change but the one to done is a compare-and-set.
type record struct {
	State  state        `json:"state"`
	File   string       `json:"file"`
	Worker string       `json:"worker"`         // of the latest run
	Until  time.Time    `json:"until"`          // no run sends anything after this time, unless it moves it first
	Runs   int          `json:"runs"`           // how many were started
	Lost   int          `json:"lost,omitempty"` // how many of them ended without reporting
	Reason string       `json:"reason,omitempty"`
	Found  bool         `json:"found,omitempty"` // the transcription was there already, from an earlier run
	ID     aicontent.ID `json:"id,omitempty"`
	Text   string       `json:"text,omitempty"`
}

func (r record) ended() bool { return r.State == done || r.State == dead }

// A queue holds what the processes of a fleet share.
type queue struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	pending jetstream.Consumer
	files   jetstream.ObjectStore
	chunks  jetstream.Stream // below the files
	jobs    jetstream.KeyValue
	rate    jetstream.KeyValue
}

// limits are set when the queue is made.
type limits struct {
	replicas int
	room     int64 // bytes for the files of unfinished jobs
	ackWait  time.Duration
	rate     float64 // requests per second
}

// makeQueue creates what is missing and returns the queue. Each part reserves its room, so that a bucket full of files
// leaves some for results. A cluster that has just started needs some seconds, so transient failures are retried.
func makeQueue(ctx context.Context, url string, l limits) (*queue, error) {
	q, err := dial(url)
	if err != nil {
		return nil, err
	}
	err = patiently(ctx, time.Minute, func(ctx context.Context) error {
		_, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: stream, Subjects: []string{jobSubject + "*"}, Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, Replicas: l.replicas, MaxBytes: 64 << 20, Duplicates: time.Hour,
		})
		if err != nil {
			return err
		}
		_, err = q.js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.ackWait, MaxDeliver: -1,
		})
		if err != nil {
			return err
		}
		_, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: filesBucket, Replicas: l.replicas, MaxBytes: l.room})
		if err != nil {
			return err
		}
		_, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: jobsBucket, Replicas: l.replicas, MaxBytes: 256 << 20})
		if err != nil {
			return err
		}
		q.rate, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: rateBucket, Replicas: l.replicas, MaxBytes: 1 << 20})
		if err != nil {
			return err
		}
		if _, err := q.rate.Get(ctx, scheduleKey); !errors.Is(err, jetstream.ErrKeyNotFound) {
			return err
		}
		return setRate(ctx, q.rate, l.rate)
	})
	if err != nil {
		q.nc.Close()
		if full(err) {
			return nil, errors.New("make the queue: the NATS server does not have the room to reserve; see -room")
		}
		return nil, fmt.Errorf("make the queue: %w", err)
	}
	return q.bind(ctx)
}

// openQueue returns a queue that exists.
func openQueue(ctx context.Context, url string) (*queue, error) {
	q, err := dial(url)
	if err != nil {
		return nil, err
	}
	return q.bind(ctx)
}

func dial(url string) (*queue, error) {
	nc, err := nats.Connect(url, nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	js, err := jetstream.New(nc)
	return &queue{nc: nc, js: js}, err
}

func (q *queue) bind(ctx context.Context) (*queue, error) {
	err := patiently(ctx, time.Minute, func(ctx context.Context) (err error) {
		if q.stream, err = q.js.Stream(ctx, stream); err != nil {
			return err
		}
		if q.pending, err = q.js.Consumer(ctx, stream, consumerName); err != nil {
			return err
		}
		if q.files, err = q.js.ObjectStore(ctx, filesBucket); err != nil {
			return err
		}
		if q.chunks, err = q.js.Stream(ctx, "OBJ_"+filesBucket); err != nil {
			return err
		}
		if q.jobs, err = q.js.KeyValue(ctx, jobsBucket); err != nil {
			return err
		}
		q.rate, err = q.js.KeyValue(ctx, rateBucket)
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = errors.New("there is none yet; fleet produce makes it")
	}
	if err != nil {
		q.nc.Close()
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return q, nil
}

// read returns the record of a job and its revision, which is 0 if there is none. A replica that lags may return an old
// record, but no compare-and-set succeeds with its revision.
func (q *queue) read(ctx context.Context, id string) (r record, revision uint64, err error) {
	entry, err := q.jobs.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return record{}, 0, nil
	}
	if err != nil {
		return record{}, 0, err
	}
	err = json.Unmarshal(entry.Value(), &r)
	return r, entry.Revision(), err
}

// patiently calls do until it succeeds or fails for good, for up to limit: NATS may be electing a leader, or unreachable.
// A JetStream request times out after five seconds if the context has no deadline.
func patiently(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	for end := time.Now().Add(limit); ; {
		err := do(ctx)
		if err == nil || !transient(err) || time.Now().After(end) || pause(ctx, 250*time.Millisecond) != nil {
			return err
		}
	}
}

// transient reports whether a JetStream request that failed with err may succeed later.
func transient(err error) bool {
	var api jetstream.JetStreamError
	if errors.As(err, &api) && api.APIError() != nil {
		return api.APIError().Code == 503 && !full(err)
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// full reports whether NATS has no room: the codes mean a failed write, a server's limit and an account's limit.
func full(err error) bool {
	var api jetstream.JetStreamError
	return errors.As(err, &api) && api.APIError() != nil && slices.Contains([]jetstream.ErrorCode{10077, 10023, 10047}, api.APIError().ErrorCode)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// startNode runs a NATS server in this process.
func startNode(o *server.Options) (*server.Server, error) {
	o.JetStream, o.NoSigs, o.NoLog = true, true, true
	node, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	go node.Start()
	if !node.ReadyForConnections(30 * time.Second) {
		return nil, errors.New("the NATS server does not start")
	}
	return node, nil
}
