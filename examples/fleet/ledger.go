package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go/once"
)

// A ledger keeps the entries of package once in a key-value bucket of NATS JetStream. Create the bucket as openBucket
// does, without AllowDirect, so that its leader answers all reads. An entry's version is its revision, which neither a
// deleted key nor a bucket that is created again repeats. With one replica, set sync_interval to always: otherwise a
// crash of the machine loses the last changes.
type ledger struct{ bucket jetstream.KeyValue }

func (l ledger) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	value, err := l.bucket.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	return value.Value(), strconv.FormatUint(value.Revision(), 10), nil
}

func (l ledger) Put(ctx context.Context, key string, entry []byte, version string) (_ string, err error) {
	var revision uint64
	if version == "" {
		revision, err = l.bucket.Create(ctx, key, entry) // even over the marker of a deleted key
	} else if revision, err = strconv.ParseUint(version, 10, 64); err == nil {
		revision, err = l.bucket.Update(ctx, key, entry, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		err = once.ErrChanged
	}
	return strconv.FormatUint(revision, 10), err
}
