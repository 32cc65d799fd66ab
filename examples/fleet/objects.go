package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A bucket holds what may be larger than a message of NATS, in chunks.
type bucket struct {
	jetstream.ObjectStore
	stream jetstream.Stream // of the chunks
}

func (q *queue) bucket(ctx context.Context, name string) (b bucket, err error) {
	if b.ObjectStore, err = q.js.ObjectStore(ctx, name); err != nil {
		return b, err
	}
	b.stream, err = q.js.Stream(ctx, "OBJ_"+name)
	return b, err
}

// fetch copies a job's object, chunk by chunk. When a node dies meanwhile, ObjectStore.Get would wait for its deadline,
// however far ahead.
func (b bucket) fetch(ctx context.Context, id string, to io.Writer) error {
	info, err := b.GetInfo(ctx, id)
	if err != nil {
		return err
	}
	next, subject := uint64(1), jetstream.WithGetMsgSubject(chunkSubject(info))
	for range info.Chunks {
		err := patiently(ctx, time.Minute, func(ctx context.Context) error {
			chunk, err := b.stream.GetMsg(ctx, next, subject)
			if err != nil {
				return err
			}
			next = chunk.Sequence + 1
			_, err = to.Write(chunk.Data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remove purges a job's object. ObjectStore.Delete writes a marker, for which a full bucket has no room.
func (b bucket) remove(ctx context.Context, id string) error {
	info, err := b.GetInfo(ctx, id)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(chunkSubject(info))); err != nil {
		return err
	}
	name := base64.URLEncoding.EncodeToString([]byte(id))
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+info.Bucket+".M."+name))
}

// chunkSubject is the subject of an object's chunks, and of no other's.
func chunkSubject(info *jetstream.ObjectInfo) string { return "$O." + info.Bucket + ".C." + info.NUID }
