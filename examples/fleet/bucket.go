package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A bucket is a key-value bucket. Large values are in parts.
type bucket struct {
	jetstream.KeyValue
	stream jetstream.Stream
}

// openBucket returns a bucket, as openStream does. AllowDirect is off, although CreateKeyValue turns it on: with it, each
// replica answers Get, and one that lags returns an older entry. Revisions begin at the time of creation, so a bucket
// that is created again repeats none.
func (q *queue) openBucket(ctx context.Context, create *limits, name string, room int64) (bucket, error) {
	s, err := q.openStream(ctx, create, jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, FirstSeq: uint64(time.Now().UnixMicro()),
		MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true, Discard: jetstream.DiscardNew, MaxBytes: room,
		AllowDirect: false,
	})
	if err != nil {
		return bucket{}, err
	}
	kv, err := q.js.KeyValue(ctx, name)
	return bucket{kv, s}, err
}

// part is how many bytes of a large value are in a message; NATS accepts 1 MiB. The last part has less.
const part = 512 << 10

// inParts is the room that so many bytes take, with what NATS adds to each part.
func inParts(size int64) int64 { return size + (size/part+1)*256 }

// write stores what it reads, of any size.
func (b bucket) write(ctx context.Context, key string, from io.Reader) error {
	data := make([]byte, part)
	for n := 0; ; n++ {
		size, err := io.ReadFull(from, data)
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err == nil || last {
			_, err = b.Put(ctx, fmt.Sprintf("%s.%d", key, n), data[:size])
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
			entry, err = b.Get(ctx, fmt.Sprintf("%s.%d", key, n))
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

// remove removes a value of any size. KeyValue.Purge would write a marker, for which a full bucket has no room.
func (b bucket) remove(ctx context.Context, key string) error {
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+b.Bucket()+"."+key+".*"))
}

// WatchAll is patient: the node that was to answer may have ended.
func (b bucket) WatchAll(ctx context.Context, opts ...jetstream.WatchOpt) (entries jetstream.KeyWatcher, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		entries, err = b.KeyValue.WatchAll(ctx, opts...)
		return err
	})
	return entries, err
}

// each calls do with every entry, until it fails.
func (b bucket) each(
	ctx context.Context, do func(jetstream.KeyValueEntry) error, opts ...jetstream.WatchOpt,
) error {
	entries, err := b.WatchAll(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() { _ = entries.Stop() }()
	for entry := range entries.Updates() {
		if entry == nil {
			return nil
		}
		if err := do(entry); err != nil {
			return err
		}
	}
	return ctx.Err()
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

var errFull = &jetstream.APIError{ErrorCode: 10077, Code: 503, Description: "the queue has no room for the file now"}

// full reports whether there is no room: the codes mean a failed write, a server's limit and an account's limit.
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
