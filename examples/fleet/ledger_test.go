package main

import (
	"flag"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// On a machine that is busy for seconds, the leader of three replicas rejects a Put because of one that it has not
// applied yet, and TestLedger does not wait for that: three replicas are for a quiet one.
var ledgerReplicas = flag.Int("fleet.replicas", 1, "replicas of the ledger that is tested, 1 or 3")

func TestLedgerKeepsItsPromise(t *testing.T) {
	url := startNodeProcess(t)
	if *ledgerReplicas == 3 {
		url = startCluster(t).url
	}
	l := limits{Replicas: *ledgerReplicas, Room: 1 << 20}
	require.NoError(t, aicontenttest.TestLedger(func() (once.Ledger, error) {
		return ledger{queueAt(t, url, &l).ledger}, nil
	}))
}

// An operator may delete a key, or a bucket, while a process has its version.
func TestVersionOfALedgerNeverReturns(t *testing.T) {
	q := testQueue(t, limits{})
	l, ctx := ledger{q.ledger}, t.Context()
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
	require.NoError(t, q.ledger.Delete(ctx, key))
	gone()
	put(put(""))
	require.NoError(t, q.ledger.Purge(ctx, key))
	gone()
	put("")
	require.NoError(t, q.js.DeleteStream(ctx, "KV_"+ledgerBucket))
	b, err := q.openBucket(ctx, &limits{}, ledgerBucket, 1<<20)
	require.NoError(t, err)
	l.bucket = b
	gone()
	put(put(""))
}

func TestLedgerOfAQueueIsReadFromItsLeader(t *testing.T) {
	q := testQueue(t, limits{})
	assert.False(t, q.ledger.stream.CachedInfo().Config.AllowDirect)

	// CreateKeyValue, or the nats program, may have made the bucket.
	made, err := q.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "made-elsewhere"})
	require.NoError(t, err)
	b, err := q.openBucket(t.Context(), &limits{}, made.Bucket(), 1<<20)
	require.NoError(t, err)
	assert.False(t, b.stream.CachedInfo().Config.AllowDirect)
}
