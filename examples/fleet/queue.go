package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// Names in NATS.
const (
	messageStream = "fleet"        // a message for each job, removed when the job has ended
	jobSubject    = "fleet.jobs."  // followed by the job's ID
	consumerName  = "workers"      // all workers pull from it
	filesStore    = "fleet-files"  // an object for each job, removed when the job has ended
	resultsBucket = "fleet-jobs"   // an entry for each job that has ended
	ledgerBucket  = "fleet-ledger" // of package once; never removed

	// An object store keeps the chunks of an object by its NUID, and its description by its name in base64.
	chunkSubject = "$O." + filesStore + ".C."
	metaSubject  = "$O." + filesStore + ".M."
)

// keep is how long a file stays if no worker removes it. It also removes the parts that a killed producer leaves.
const keep = 30 * 24 * time.Hour

// transferTime returns the longest time for a file between this machine and NATS. If a NATS server dies meanwhile, the
// transfer may stall until then.
func transferTime(size int64) time.Duration {
	return 30*time.Second + time.Duration(size/200e3)*time.Second
}

// A job is a message in the queue, and once it has ended an entry of the bucket of results.
type job struct {
	File     string                `json:"file"`
	Language aicontent.CountryCode `json:"language,omitempty"`
	State    string                `json:"state,omitempty"` // empty until the job has ended
	Ended    time.Time             `json:"ended,omitzero"`
	Record   aicontent.ID          `json:"record,omitempty"`
	Reason   string                `json:"reason,omitempty"` // why it is dead
}

// The states of a job that has ended.
const (
	done = "done"
	dead = "dead" // no further run can help: a person must look
)

// A queue holds everything that the processes of a fleet share.
type queue struct {
	js       jetstream.JetStream
	messages jetstream.Stream
	workers  jetstream.Consumer
	files    jetstream.ObjectStore
	chunks   jetstream.Stream // of the files
	results  jetstream.KeyValue
	ledger   jetstream.KeyValue
}

var errNoQueue = errors.New("there is none yet; fleet produce makes one")

// openQueue connects to the queue. If replicas is above 0, it makes the parts that are missing, each on so many
// servers. A cluster needs some seconds to choose leaders.
func openQueue(ctx context.Context, natsContext string, replicas int) (*queue, error) {
	nc, err := connect(natsContext)
	if err != nil {
		return nil, err
	}
	q := &queue{}
	if q.js, err = jetstream.New(nc); err != nil {
		return nil, err
	}
	for end := time.Now().Add(time.Minute); ; {
		if err = q.open(ctx, replicas); err == nil {
			return q, nil
		}
		if err == errNoQueue || time.Now().After(end) || pause(ctx, 250*time.Millisecond) != nil {
			nc.Close()
			return nil, fmt.Errorf("open the queue: %w", err)
		}
	}
}

func (q *queue) close() { q.js.Conn().Close() }

func (q *queue) open(ctx context.Context, replicas int) error {
	if replicas > 0 {
		if err := q.create(ctx, replicas); err != nil {
			return err
		}
	}
	var errs [6]error
	q.messages, errs[0] = q.js.Stream(ctx, messageStream)
	q.workers, errs[1] = q.js.Consumer(ctx, messageStream, consumerName)
	q.chunks, errs[2] = q.js.Stream(ctx, "OBJ_"+filesStore)
	q.files, errs[3] = q.js.ObjectStore(ctx, filesStore)
	q.results, errs[4] = q.js.KeyValue(ctx, resultsBucket)
	q.ledger, errs[5] = q.js.KeyValue(ctx, ledgerBucket)
	if replicas == 0 && errors.Is(errs[0], jetstream.ErrStreamNotFound) {
		return errNoQueue
	}
	return cmp.Or(errs[:]...)
}

// create makes the parts of a queue that are missing, unless another producer does. The settings of the others stay as
// an operator has given them.
func (q *queue) create(ctx context.Context, replicas int) error {
	for _, c := range []jetstream.StreamConfig{
		{Name: messageStream, Subjects: []string{jobSubject + "*"}, Retention: jetstream.WorkQueuePolicy, MaxBytes: 64e6},
		{
			Name: "OBJ_" + filesStore, Subjects: []string{chunkSubject + ">", metaSubject + ">"}, AllowRollup: true,
			MaxAge: keep, MaxBytes: 1e9,
		},
		bucket(resultsBucket),
		bucket(ledgerBucket),
	} {
		c.Discard, c.Replicas = jetstream.DiscardNew, replicas
		stream, err := q.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			_, err = q.js.CreateStream(ctx, c)
		} else if err == nil && stream.CachedInfo().Config.AllowDirect { // The nats command turns it on.
			c = stream.CachedInfo().Config
			c.AllowDirect = false
			_, err = q.js.UpdateStream(ctx, c)
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
	}
	// Neither a number of runs nor a number of waiting jobs ends or blocks a job.
	_, err := q.js.CreateConsumer(ctx, messageStream, jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 45 * time.Second,
		MaxDeliver: -1, MaxAckPending: -1,
	})
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return nil
	}
	return err
}

// result returns the entry of a job that has ended. Without one, it is zero.
func (q *queue) result(ctx context.Context, id string) (j job, err error) {
	entry, err := q.results.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return job{}, nil
	}
	if err == nil {
		err = json.Unmarshal(entry.Value(), &j)
	}
	return j, err
}

// end writes down how a job has ended.
func (q *queue) end(ctx context.Context, id string, j *job) error {
	j.Ended = time.Now().UTC()
	entry, err := json.Marshal(j)
	if err == nil {
		_, err = q.results.Create(ctx, id, entry)
	}
	return err
}

// fetch copies the file of a job. A queue that has lost or damaged it is ErrObjectNotFound or ErrDigestMismatch.
func (q *queue) fetch(ctx context.Context, id string, language aicontent.CountryCode, to io.WriteSeeker) error {
	info, err := q.files.GetInfo(ctx, id)
	if err != nil {
		return err
	}
	if idOf(language, info.Digest) != id {
		return jetstream.ErrDigestMismatch
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime(int64(info.Size)))
	defer cancel()
	object, err := q.files.Get(ctx, id)
	if err != nil {
		return err
	}
	defer object.Close()
	_, err = io.Copy(to, object)
	if err == nil {
		_, err = to.Seek(0, io.SeekStart)
	}
	return err
}

// removeFile removes the file of a job, if there is one. ObjectStore.Delete would leave a marker in place of each file.
// The chunks are first, so that an interrupted call can be repeated.
func (q *queue) removeFile(ctx context.Context, id string) error {
	info, err := q.files.GetInfo(ctx, id)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	name := base64.URLEncoding.EncodeToString([]byte(id))
	for _, subject := range []string{chunkSubject + info.NUID, metaSubject + name} {
		if err := q.chunks.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for d. Its error is that of a ctx that ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
