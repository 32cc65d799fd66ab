package main

import (
	"strings"
	"testing"

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
