package main

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProducersThatMakeANewQueueAtOnceAllSucceed(t *testing.T) {
	for replicas, start := range map[string]func(){
		"1": func() { newNode(t, &server.Options{}) },
		"3": func() { startCluster(t) },
	} {
		start()
		var group sync.WaitGroup
		for _, path := range recordings(t, 4, 500) {
			group.Go(func() {
				status, _, errOut := command(t, "produce", "-replicas", replicas, path)
				assert.Zero(t, status, errOut)
			})
		}
		group.Wait()
		q, err := openQueue(t.Context(), "", 0)
		require.NoError(t, err)
		defer q.close()
		assert.Len(t, jobs(t, q), 4)
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

func TestEndedJobsLeaveOnlyTheirResults(t *testing.T) {
	q, _ := newDeployment(t)
	dir := t.TempDir()
	write(t, dir, "a.mp3", sized(1, 300_000)) // several chunks
	write(t, dir, "b.mp3", "%PDF-1.7 xxxxxxxxxx")
	enqueue(t, filesIn(t, dir)...)
	startWorker(t, io.Discard)
	ended := outcome(t, q, 2)
	assert.Equal(t, done, ended["a.mp3"].State, ended["a.mp3"].Reason)
	assert.Equal(t, dead, ended["b.mp3"].State)
	assert.Zero(t, stored(t, q))
}

func TestProduceKeepsTheSettingsThatAnOperatorHasGiven(t *testing.T) {
	q := newQueue(t)
	workers, files := q.workers.CachedInfo().Config, q.chunks.CachedInfo().Config
	workers.AckWait, files.MaxBytes = 9*time.Second, 5e6
	_, err := q.js.UpdateConsumer(t.Context(), "KV_"+jobsBucket, workers)
	require.NoError(t, err)
	_, err = q.js.UpdateStream(t.Context(), files)
	require.NoError(t, err)
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	again, err := openQueue(t.Context(), "", 0)
	require.NoError(t, err)
	defer again.close()
	assert.Equal(t, 9*time.Second, again.workers.CachedInfo().Config.AckWait)
	assert.EqualValues(t, 5e6, again.chunks.CachedInfo().Config.MaxBytes)
}

func TestJobThatAnOperatorDeletesDoesNotRun(t *testing.T) {
	q, srv := newDeployment(t)
	enqueue(t, write(t, t.TempDir(), "a.mp3", recording(1)))
	require.NoError(t, q.jobs.bucket.Delete(t.Context(), jobID(recording(1))))
	startWorker(t, io.Discard)
	outcome(t, q, 0)
	assert.Zero(t, uploads(srv))
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
