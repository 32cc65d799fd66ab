package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/aicontent/aicontent-go"
)

// Names in NATS.
const (
	jobsBucket   = "fleet-jobs"   // an entry for each job
	ledgerBucket = "fleet-ledger" // of package once
	filesStore   = "fleet-files"  // an object for each job until it ends
	consumerName = "workers"      // delivers each change of a job's entry to a worker

	jobSubject  = "$KV." + jobsBucket + "." // followed by the job's ID
	fileSubject = "$O." + filesStore + "."
)

// ackTime is the longest time until NATS acknowledges a part of a file. A NATS server that dies acknowledges none.
const ackTime = 30 * time.Second

// A job is an entry of the bucket of jobs. Each change makes a message for the workers: to run a queued job, or to
// remove the object of an ended one.
type job struct {
	State    string                `json:"state"`
	File     string                `json:"file"` // the path that the producer knows
	Language aicontent.CountryCode `json:"language,omitempty"`
	Size     int64                 `json:"size"`
	Object   string                `json:"object"` // the name of its object; no other job has it
	Chunks   string                `json:"chunks"` // the last part of the subject of the object's chunks
	Record   aicontent.ID          `json:"record,omitempty"`
	Reason   string                `json:"reason,omitempty"` // why it is dead
}

// chunkSubject returns the subject of the chunks of the job's object.
func (j job) chunkSubject() string { return fileSubject + "C." + j.Chunks }

// metaSubject returns the subject of the description of the job's object.
func (j job) metaSubject() string {
	return fileSubject + "M." + base64.URLEncoding.EncodeToString([]byte(j.Object))
}

// The states of a job.
const (
	queued = "queued"
	done   = "done"
	dead   = "dead" // no further run can help: a person must look
)

// A queue holds everything that the processes of a fleet share.
type queue struct {
	js      jetstream.JetStream
	jobs    ledger
	ledger  ledger
	files   jetstream.ObjectStore
	chunks  jetstream.Stream // of the files
	workers jetstream.Consumer
}

// connect connects to NATS with a context of the nats command, or to NATS_URL. A broken connection is made again for
// as long as the process lives, with the credentials then in their file.
func connect(natsContext string) (js jetstream.JetStream, err error) {
	var nc *nats.Conn
	loaded := natsContext == "" // or when the options of the context are complete
	opts := []nats.Option{nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(20 * time.Second), func(*nats.Options) error { loaded = true; return nil }}
	urls := os.Getenv("NATS_URL")
	if natsContext != "" {
		nc, _, err = natscontext.Connect(natsContext, opts...)
	} else if urls == "" {
		return nil, usagef("NATS_URL is not set, and no -context is given")
	} else {
		nc, err = nats.Connect(urls, opts...)
	}
	switch {
	case err == nil:
		return jetstream.New(nc)
	// An unescaped character of a password makes a part of it look like a host or a port, which these errors name.
	case errors.As(err, new(*url.Error)), !loaded && strings.Contains(natsContext, "//"):
		return nil, usagef("the address of NATS must be URLs such as nats://user:password@host:4222, with commas " +
			"between them; in a password, write %%2C for a comma, %%2F for a slash, and so on")
	case errors.As(err, new(*json.SyntaxError)), errors.As(err, new(*json.UnmarshalTypeError)): // may quote a password
		return nil, usagef("-context %s: its file is not JSON of the nats command", natsContext)
	case errors.As(err, new(*fs.PathError)), !loaded:
		return nil, usagef("-context: %w", err)
	case errors.As(err, new(net.Error)):
		err = errors.New("no server responds at the address")
	}
	return nil, fmt.Errorf("connect to NATS: %w", err)
}

// openQueue connects to the queue. If replicas is above 0, it makes the missing parts, each on so many
// servers. It tries again while another producer makes them, or the servers choose leaders.
func openQueue(ctx context.Context, natsContext string, replicas int) (*queue, error) {
	js, err := connect(natsContext)
	if err != nil {
		return nil, err
	}
	q := &queue{js: js}
	for end := time.Now().Add(time.Minute); ; {
		if err = q.open(ctx, replicas); err == nil {
			return q, nil
		}
		missing := replicas == 0 && errors.Is(err, jetstream.ErrStreamNotFound)
		if missing || time.Now().After(end) || pause(ctx, 250*time.Millisecond) != nil {
			q.close()
			return nil, fmt.Errorf("open the queue, which fleet produce makes: %w", err)
		}
	}
}

func (q *queue) close() { q.js.Conn().Close() }

// open opens the parts of the queue. The settings of a part that exists stay as an operator has given them.
func (q *queue) open(ctx context.Context, replicas int) error {
	files := jetstream.StreamConfig{
		Name: "OBJ_" + filesStore, Subjects: []string{fileSubject + ">"}, AllowRollup: true,
		Discard: jetstream.DiscardNew, MaxBytes: 1e9,
		MaxAge: 30 * 24 * time.Hour, // also of an object of a killed producer, without a job
	}
	for _, c := range []jetstream.StreamConfig{bucket(jobsBucket), bucket(ledgerBucket), files} {
		c.Replicas = replicas
		stream, err := q.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && replicas > 0 {
			_, err = q.js.CreateStream(ctx, c)
		} else if err == nil && stream.CachedInfo().Config.AllowDirect { // The nats command turns it on.
			c = stream.CachedInfo().Config
			c.AllowDirect = false
			_, err = q.js.UpdateStream(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	var errs [5]error
	q.workers, errs[0] = q.js.Consumer(ctx, "KV_"+jobsBucket, consumerName)
	if errors.Is(errs[0], jetstream.ErrConsumerNotFound) && replicas > 0 {
		// Neither a number of runs nor a number of waiting jobs ends or blocks a job.
		q.workers, errs[0] = q.js.CreateConsumer(ctx, "KV_"+jobsBucket, jetstream.ConsumerConfig{
			Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 45 * time.Second,
			MaxDeliver: -1, MaxAckPending: -1,
		})
	}
	q.jobs.bucket, errs[1] = q.js.KeyValue(ctx, jobsBucket)
	q.ledger.bucket, errs[2] = q.js.KeyValue(ctx, ledgerBucket)
	q.files, errs[3] = q.js.ObjectStore(ctx, filesStore)
	q.chunks, errs[4] = q.js.Stream(ctx, "OBJ_"+filesStore)
	return cmp.Or(errs[:]...)
}

// load returns a job and the version of its entry, which is empty if there is no such job.
func (q *queue) load(ctx context.Context, id string) (j job, version string, err error) {
	entry, version, err := q.jobs.Get(ctx, id)
	if err == nil && version != "" {
		err = json.Unmarshal(entry, &j)
	}
	return j, version, err
}

// save replaces the entry of a job. If the entry has another version, the error is [once.ErrChanged].
func (q *queue) save(ctx context.Context, id string, j job, version string) error {
	entry, err := json.Marshal(j)
	if err == nil {
		_, err = q.jobs.Put(ctx, id, entry, version)
	}
	return err
}

// A writer is a function that takes writes.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// put copies the file of a job into the store, and returns its digest. ObjectStore.Put does not wait for responses: a
// chunk that it has to send again, because the servers have no leader, may have the bytes of a later one.
func (q *queue) put(ctx context.Context, j job, file io.Reader) (digest string, err error) {
	publish := func(subject string, data []byte, header nats.Header) error {
		ctx, cancel := context.WithTimeout(ctx, ackTime)
		defer cancel()
		_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data, Header: header})
		return err
	}
	info := jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: j.Object}, Bucket: filesStore, NUID: j.Chunks}
	send := writer(func(chunk []byte) (int, error) {
		info.Chunks++
		return len(chunk), publish(j.chunkSubject(), chunk, nil)
	})
	hash := sha256.New()
	size, err := io.CopyBuffer(io.MultiWriter(hash, send), struct{ io.Reader }{file}, make([]byte, 128<<10))
	if err != nil {
		return "", err
	}
	info.Size, info.Digest = uint64(size), jetstream.GetObjectDigestValue(hash)
	entry, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	return info.Digest, publish(j.metaSubject(), entry, nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}})
}

// fetch copies the file of a job. The error for a lost file is ErrObjectNotFound, for a damaged one
// ErrDigestMismatch.
func (q *queue) fetch(ctx context.Context, j job, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second+time.Duration(j.Size/200e3)*time.Second)
	defer cancel()
	object, err := q.files.Get(ctx, j.Object)
	if err != nil {
		return err
	}
	defer object.Close()
	_, err = io.Copy(to, object)
	if !errors.Is(err, jetstream.ErrDigestMismatch) {
		return err
	}
	// The object is read from any replica, and a lagging one ends it early. Only the leader knows of lost chunks.
	chunks, leaderErr := q.chunks.Info(ctx, jetstream.WithSubjectFilter(j.chunkSubject()))
	if info, _ := object.Info(); leaderErr == nil && chunks.State.Subjects[j.chunkSubject()] == uint64(info.Chunks) {
		return errors.New("a NATS server does not have all of the file yet")
	}
	return cmp.Or(leaderErr, err)
}

// remove removes the file of a job, if it is there. ObjectStore.Delete needs room for a marker, which a full store does
// not have.
func (q *queue) remove(ctx context.Context, j job) error {
	chunks := jetstream.WithPurgeSubject(j.chunkSubject())
	return errors.Join(q.chunks.Purge(ctx, chunks), q.chunks.Purge(ctx, jetstream.WithPurgeSubject(j.metaSubject())))
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
