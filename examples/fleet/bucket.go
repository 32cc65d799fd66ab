package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A bucket is a key-value bucket. Large values are in parts.
type bucket struct {
	jetstream.KeyValue
	stream jetstream.Stream
}

// createBucket creates a bucket that its leader alone reads: a replica may lag. Revisions begin at the time of
// creation, so that a bucket that is created again repeats none.
func createBucket(
	ctx context.Context, js jetstream.JetStream, name string, replicas int, room int64,
) (bucket, error) {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, FirstSeq: uint64(time.Now().UnixMicro()),
		MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true, Discard: jetstream.DiscardNew,
		Replicas: replicas, MaxBytes: room,
	})
	if err != nil {
		return bucket{}, err
	}
	return openBucket(ctx, js, name)
}

func openBucket(ctx context.Context, js jetstream.JetStream, name string) (b bucket, err error) {
	kv, err := js.KeyValue(ctx, name)
	if err != nil {
		return bucket{}, err
	}
	s, err := js.Stream(ctx, "KV_"+name)
	if err != nil {
		return bucket{}, err
	}
	return bucket{kv, s}, nil
}

// forget purges keys. KeyValue.Purge writes a marker, for which a full bucket has no room.
func (b bucket) forget(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		subject := jetstream.WithPurgeSubject("$KV." + b.Bucket() + "." + key)
		if err := b.stream.Purge(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}

// part is how many bytes of a large value are in a message; NATS accepts 1 MiB. The last part has less.
const part = 512 << 10

func partKey(key string, n int) string {
	if n == 0 {
		return key
	}
	return fmt.Sprintf("%s.%d", key, n)
}

// write stores what it reads, of any size.
func (b bucket) write(ctx context.Context, key string, from io.Reader) error {
	data := make([]byte, part)
	for n := 0; ; n++ {
		size, err := io.ReadFull(from, data)
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err == nil || last {
			_, err = b.Put(ctx, partKey(key, n), data[:size])
		}
		if err != nil || last {
			return err
		}
	}
}

// copy writes a value of any size.
func (b bucket) copy(ctx context.Context, key string, to io.Writer) error {
	for n := 0; ; n++ {
		var entry jetstream.KeyValueEntry
		err := patiently(ctx, func(ctx context.Context) (err error) {
			entry, err = b.Get(ctx, partKey(key, n))
			return err
		})
		if err == nil {
			_, err = to.Write(entry.Value())
		}
		if err != nil || len(entry.Value()) < part {
			return err
		}
	}
}

// remove removes a value of any size.
func (b bucket) remove(ctx context.Context, key string) error { return b.forget(ctx, key+".*", key) }

// spare is room for texts beyond -texts: a text needs its own before it has that of what it replaces.
const spare = 8 << 20

var errNoRoom = errors.New("no room for its text; export and drop results, or raise -texts")

// reserve makes room for the text of a job before its recording is sent. Speech has less text than a 64th of its size.
func (q *queue) reserve(ctx context.Context, id string, size int64) error {
	_, err := q.texts.Create(ctx, id, make([]byte, min(max(64<<10, size/64), part)))
	switch {
	case errors.Is(err, jetstream.ErrKeyExists):
		return nil
	case full(err):
		return errNoRoom
	case err != nil:
		return err
	}
	info, err := q.texts.stream.Info(ctx)
	if err == nil && info.State.Bytes > uint64(info.Config.MaxBytes-spare) {
		err = errors.Join(errNoRoom, q.texts.remove(ctx, id))
	}
	return err
}

// text returns the text of a job that is done.
func (q *queue) text(ctx context.Context, id string) (string, error) {
	var text strings.Builder
	err := q.texts.copy(ctx, id, &text)
	if err != nil {
		err = fmt.Errorf("the text of %s: %w", id, err)
	}
	return text.String(), err
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
	return slices.ContainsFunc([]error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse}, is)
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
