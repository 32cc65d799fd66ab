package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go/once"
)

// bucket returns the stream of a key-value bucket. AllowDirect is off, although CreateKeyValue turns it on: with it,
// each replica answers Get, and a lagging one returns an older entry. Revisions begin at the time of creation, so a
// second bucket of the name repeats none.
func bucket(name string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, FirstSeq: uint64(time.Now().UnixMicro()),
		MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true, Discard: jetstream.DiscardNew, MaxBytes: 256e6,
		AllowDirect: false,
	}
}

// A ledger keeps the entries of package once in a [bucket]. An entry's version is its revision. With one replica, set
// sync_interval to always: otherwise a crash of the machine loses the last changes.
type ledger struct{ bucket jetstream.KeyValue }

// responseTime is the longest wait for a response. A NATS server that dies or stops may owe one, and package once,
// which would wait for up to 105 seconds, asks again.
const responseTime = 5 * time.Second

func (l ledger) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, responseTime)
	defer cancel()
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
	ctx, cancel := context.WithTimeout(ctx, responseTime)
	defer cancel()
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
