package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestLedgerKeepsItsPromise(t *testing.T) {
	newQueue(t)
	require.NoError(t, aicontenttest.TestLedger(func() (once.Ledger, error) {
		q, err := openQueue(t.Context(), "", 0)
		if err != nil {
			return nil, err
		}
		t.Cleanup(q.close)
		return q.ledger, nil
	}))
}

// An operator may delete a key, or a bucket, while a process has its version.
func TestVersionOfALedgerNeverReturns(t *testing.T) {
	q, ctx := newQueue(t), t.Context()
	key := strings.Repeat("0", 64)
	var seen []string
	for _, lose := range []func() error{
		func() error { return q.ledger.bucket.Delete(ctx, key) },
		func() error { return q.ledger.bucket.Purge(ctx, key) },
		func() error { return q.js.DeleteStream(ctx, "KV_"+ledgerBucket) },
		func() error { return nil },
	} {
		version := ""
		for range 2 {
			next, err := q.ledger.Put(ctx, key, []byte("entry"), version)
			require.NoError(t, err)
			assert.NotContains(t, seen, next)
			seen, version = append(seen, next), next
		}
		require.NoError(t, lose())
		again, err := openQueue(ctx, "", 1)
		require.NoError(t, err)
		defer again.close()
		q.ledger = again.ledger
		for _, old := range seen[:len(seen)-1] {
			_, err := q.ledger.Put(ctx, key, []byte("old"), old)
			require.Error(t, err, old)
		}
	}
}

// A silent bucket never responds.
type silent struct{ jetstream.KeyValue }

func (silent) Get(ctx context.Context, _ string) (jetstream.KeyValueEntry, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Update(ctx context.Context, _ string, _ []byte, _ uint64) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestLedgerDoesNotWaitLongForANodeThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin, l := time.Now(), ledger{silent{}}
		_, _, err := l.Get(ctx, "key")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = l.Put(ctx, "key", nil, "1")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2*responseTime, time.Since(begin))
	})
}
