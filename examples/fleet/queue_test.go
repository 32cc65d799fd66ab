package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProducersThatMakeANewQueueAtOnceAllSucceed(t *testing.T) {
	const count = 4
	for replicas, start := range map[string]func(){
		"1": func() { newNode(t, &server.Options{}) },
		"3": func() { startCluster(t) },
	} {
		start()
		var group sync.WaitGroup
		for _, path := range recordings(t, count, 500) {
			group.Go(func() {
				status, _, errOut := command(t, "produce", "-replicas", replicas, path)
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
		assert.Equal(t, replicas, fmt.Sprint(q.chunks.CachedInfo().Config.Replicas))
	}
}

// A job may wait for years, and jobs may end for years.
func TestQueueForgetsNothingButAbandonedFiles(t *testing.T) {
	q := newQueue(t)
	for name, age := range map[string]time.Duration{
		"KV_" + jobsBucket: 0, "KV_" + ledgerBucket: 0, "OBJ_" + filesStore: 30 * 24 * time.Hour,
	} {
		stream, err := q.js.Stream(t.Context(), name)
		require.NoError(t, err)
		config := stream.CachedInfo().Config
		assert.Equal(t, age, config.MaxAge, name)
		assert.Equal(t, jetstream.DiscardNew, config.Discard, name)
		assert.Equal(t, jetstream.FileStorage, config.Storage, name)
		assert.False(t, config.AllowDirect, "%s is read from replicas, which may lag", name)
	}
	workers := q.workers.CachedInfo().Config
	assert.Equal(t, -1, workers.MaxDeliver, "a job that waits for long must not be dropped")
	assert.Equal(t, -1, workers.MaxAckPending, "jobs that wait must not block others")
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
