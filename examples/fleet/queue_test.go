package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProducersThatMakeANewQueueAtOnceAllSucceed(t *testing.T) {
	const count = 4
	startCluster(t)
	var group sync.WaitGroup
	for _, path := range recordings(t, count, 500) {
		group.Go(func() {
			status, _, errOut := command(t, "produce", "-replicas", "3", path)
			assert.Zero(t, status, errOut)
		})
	}
	group.Wait()
	q, err := openQueue(t.Context(), "", 0)
	require.NoError(t, err)
	defer q.close()
	for seed := range count {
		j, _, err := q.load(t.Context(), jobID(recording(seed)))
		require.NoError(t, err)
		assert.Equal(t, queued, j.State)
	}
	assert.Equal(t, 3, q.chunks.CachedInfo().Config.Replicas)
}

func TestJobThatAnOperatorDeletesDoesNotRun(t *testing.T) {
	q, srv := newDeployment(t)
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	require.NoError(t, q.jobs.bucket.Delete(t.Context(), jobID(recording(1))))
	startWorker(t, io.Discard)
	outcome(t, q, 0)
	assert.Zero(t, uploads(srv))
}

// A replica that lags has only the first chunks of a file. The test makes it seem so: the digest is of a longer file.
func TestJobWaitsForAFileThatANodeDoesNotHaveYet(t *testing.T) {
	q, srv := newDeployment(t)
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	j, _, err := q.load(t.Context(), jobID(recording(1)))
	require.NoError(t, err)
	info, err := q.files.GetInfo(t.Context(), j.Object)
	require.NoError(t, err)
	setDigest := func(of string) {
		hash := sha256.New()
		hash.Write([]byte(of))
		info.Digest = jetstream.GetObjectDigestValue(hash)
		data, err := json.Marshal(info)
		require.NoError(t, err)
		msg := nats.NewMsg(fileSubject + "M." + base64.URLEncoding.EncodeToString([]byte(j.Object)))
		msg.Data = data
		msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
		_, err = q.js.PublishMsg(t.Context(), msg)
		require.NoError(t, err)
	}
	setDigest(recording(1) + "more")
	var log safeBuffer
	startWorker(t, &log)
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), "a NATS server does not have all of the file yet")
	}, time.Minute, 10*time.Millisecond)
	setDigest(recording(1))
	assert.Equal(t, done, outcome(t, q, 1)["a.mp3"].State)
	assert.Equal(t, 1, uploads(srv))
}

// A replica that lags would return an older entry of the ledger.
func TestBucketThatTheNatsCommandHasMadeIsReadFromItsLeader(t *testing.T) {
	q := newQueue(t)
	require.NoError(t, q.js.DeleteStream(t.Context(), "KV_"+ledgerBucket))
	_, err := q.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: ledgerBucket})
	require.NoError(t, err)
	again, err := openQueue(t.Context(), "", 1)
	require.NoError(t, err)
	defer again.close()
	stream, err := again.js.Stream(t.Context(), "KV_"+ledgerBucket)
	require.NoError(t, err)
	assert.False(t, stream.CachedInfo().Config.AllowDirect)
}
