package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// fetchFile copies a job's file from the queue, chunk by chunk. When a node dies meanwhile, ObjectStore.Get would wait
// for its deadline, however far ahead.
func (q *queue) fetchFile(ctx context.Context, id string, to io.Writer) error {
	info, err := q.files.GetInfo(ctx, id)
	if err != nil {
		return err
	}
	hash := sha256.New()
	to = io.MultiWriter(to, hash)
	next, subject := uint64(1), jetstream.WithGetMsgSubject(chunkSubject(info))
	for range info.Chunks {
		err := patiently(ctx, time.Minute, func(ctx context.Context) error {
			chunk, err := q.chunks.GetMsg(ctx, next, subject)
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
	if digest := jetstream.GetObjectDigestValue(hash); digest != info.Digest {
		return fmt.Errorf("the file is %s, not %s", digest, info.Digest)
	}
	return nil
}

// removeFile purges a job's file. ObjectStore.Delete writes a marker, for which a full bucket has no room.
func (q *queue) removeFile(ctx context.Context, id string) error {
	info, err := q.files.GetInfo(ctx, id)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := q.chunks.Purge(ctx, jetstream.WithPurgeSubject(chunkSubject(info))); err != nil {
		return err
	}
	name := base64.URLEncoding.EncodeToString([]byte(id))
	return q.chunks.Purge(ctx, jetstream.WithPurgeSubject("$O."+filesBucket+".M."+name))
}

// chunkSubject is the subject of a file's chunks, and of no other's.
func chunkSubject(info *jetstream.ObjectInfo) string { return "$O." + filesBucket + ".C." + info.NUID }
