package main

import (
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
	l := q.ledger
	const key = "0000000000000000000000000000000000000000000000000000000000000000"
	seen := map[string]bool{"": true}
	put := func(version string) string {
		t.Helper()
		next, err := l.Put(ctx, key, []byte("entry"), version)
		require.NoError(t, err)
		assert.False(t, seen[next], next)
		seen[next] = true
		return next
	}
	gone := func() {
		t.Helper()
		_, version, err := l.Get(ctx, key)
		require.NoError(t, err)
		assert.Empty(t, version)
		for version := range seen {
			if version != "" {
				_, err := l.Put(ctx, key, []byte("old"), version)
				require.Error(t, err, version)
			}
		}
	}
	put(put(put("")))
	require.NoError(t, l.bucket.Delete(ctx, key))
	gone()
	put(put(""))
	require.NoError(t, l.bucket.Purge(ctx, key))
	gone()
	put("")
	require.NoError(t, q.js.DeleteStream(ctx, "KV_"+ledgerBucket))
	again, err := openQueue(ctx, "", 1)
	require.NoError(t, err)
	defer again.close()
	l = again.ledger
	gone()
	put(put(""))
}
