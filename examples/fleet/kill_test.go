package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

var fleetSeed = flag.Uint64("fleet.seed", 0, "seed of the test that kills; 0 draws one")

// Workers, a producer and a node of the queue are killed while the service fails. No job is lost, and none is paid for
// twice. The name of a recording that a killed worker was sending is open for the settle time and two minutes.
func TestJobsBecomeOneRecordEachWhereverWorkersAndNodesAreKilled(t *testing.T) {
	seed := *fleetSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with -fleet.seed=%d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	nodes, srv := startCluster(t), newService(t, aicontenttest.Latency(300*time.Millisecond))
	srv.Chaos(seed, 0.15)
	const count, kills, size = 200, 8, 300_000 // three chunks each
	hashes := map[string]string{}
	for i := range count {
		content := sized(i, size)
		hashes[jobID(content)] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	}
	paths := recordings(t, count, size)
	produce := append([]string{"produce", "-replicas", "3"}, paths...)
	enqueue(t, "-replicas", "3", paths[0])
	q, err := openQueue(t.Context(), "", 0)
	require.NoError(t, err)
	t.Cleanup(q.close)
	workers := q.workers.CachedInfo().Config
	workers.AckWait = 12 * time.Second
	_, err = q.js.UpdateConsumer(t.Context(), "KV_"+jobsBucket, workers)
	require.NoError(t, err)
	producer := start(t, "fleet", produce...)
	var fleet [4]*supervised
	for i := range fleet {
		fleet[i] = supervise(t, "work", "-rate", "20", "-concurrency", "8", "-settle", "3s")
	}

	// At these counts of records something dies, or comes back.
	type event struct {
		at   int
		name string
		do   func()
	}
	due := func(from, to int) int { return from*count/100 + random.IntN((to-from)*count/100) }
	victim, down := random.IntN(3), due(10, 50)
	events := []event{
		{due(1, 10), "producer killed", func() {
			kill(producer)
			start(t, "fleet", produce...)
		}},
		{down, "node killed", func() { kill(nodes.nodes[victim]) }},
		{down + due(10, 40), "node back", func() { nodes.start(t, victim) }},
	}
	for range kills {
		events = append(events, event{due(2, 80), "worker killed", func() {
			fleet[random.IntN(len(fleet))].kill()
		}})
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.at - b.at })
	begin := time.Now()
	for _, e := range events {
		for len(srv.Records()) < e.at {
			require.NoError(t, pause(t.Context(), 20*time.Millisecond))
		}
		t.Logf("%5.1f s, %d records: %s", time.Since(begin).Seconds(), e.at, e.name)
		e.do()
	}
	outcome(t, q, count)
	records := map[string][]aicontenttest.Record{}
	for _, record := range srv.Created() {
		records[record.Name] = append(records[record.Name], record)
	}
	assert.Len(t, records, count)
	for id, j := range jobs(t, q) {
		assert.Equal(t, done, j.State, "%s: %s", id, j.Reason)
		if made := records[id]; assert.Len(t, made, 1, "records of %s", id) {
			assert.Equal(t, hashes[id], made[0].File.SHA256, "the record of %s is of another file", id)
			assert.EqualValues(t, made[0].ID, j.Record, "the result of %s is another's", id)
		}
	}
	t.Logf("%d jobs, %d records, %d workers killed, %.0f s", count, len(srv.Records()), kills,
		time.Since(begin).Seconds())
}
