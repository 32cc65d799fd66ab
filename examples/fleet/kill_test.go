package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fleetJobs  = flag.Int("fleet.jobs", 200, "jobs of the test that kills")
	fleetKills = flag.Int("fleet.kills", 8, "workers that it kills")
	fleetSeed  = flag.Uint64("fleet.seed", 0, "its seed; 0 draws one")
)

// Workers and a node of the queue are killed while the service fails. No job is lost, and none is paid for twice. The
// name of a recording that a killed worker was sending is open for the settle time and two minutes.
func TestJobsBecomeOneRecordEachWhereverWorkersAndNodesAreKilled(t *testing.T) {
	seed := *fleetSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with -fleet.seed=%d -fleet.jobs=%d -fleet.kills=%d", seed, *fleetJobs, *fleetKills)
	random := rand.New(rand.NewPCG(seed, seed))
	nodes, service := startCluster(t), startService(t, 300*time.Millisecond, 0.15, seed)
	t.Setenv("NATS_URL", nodes.url)
	dir, hashes := t.TempDir(), map[string]string{}
	for i := range *fleetJobs {
		content := noise(uint64(i), 2000)
		write(t, dir, fmt.Sprint(i, ".wav"), content)
		hashes[jobID(content)] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	}
	enqueue(t, append([]string{"-replicas", "3"}, filesIn(t, dir)...)...)
	q, err := openQueue(t.Context(), "", 0)
	require.NoError(t, err)
	t.Cleanup(q.close)
	workers := q.workers.CachedInfo().Config
	workers.AckWait = 12 * time.Second
	_, err = q.messages.UpdateConsumer(t.Context(), workers)
	require.NoError(t, err)
	startOne := func() *process {
		return start(t, service.env, "fleet", "work", "-rate", "20", "-concurrency", "8", "-settle", "3s")
	}
	fleet := []*process{startOne(), startOne(), startOne(), startOne()}

	// At these counts of records something dies, or comes back.
	due := func(from, to int) int { return from**fleetJobs/100 + random.IntN((to-from)**fleetJobs/100) }
	events := map[string]func(){}
	victim := random.IntN(3)
	events["node killed"] = nodes.nodes[victim].kill
	at := map[string]int{"node killed": due(10, 50)}
	at["node back"] = at["node killed"] + due(10, 40)
	events["node back"] = func() { nodes.start(victim) }
	for i := range *fleetKills {
		name := fmt.Sprintf("worker kill %d", i+1)
		at[name] = due(2, 80)
		events[name] = func() {
			i := random.IntN(len(fleet))
			fleet[i].kill()
			fleet[i] = startOne()
		}
	}
	begin := time.Now()
	for len(events) > 0 {
		records := service.order("count").Made
		for _, name := range slices.Sorted(maps.Keys(events)) {
			if records >= at[name] {
				t.Logf("%5.1f s, %d records: %s", time.Since(begin).Seconds(), records, name)
				events[name]()
				delete(events, name)
			}
		}
		require.NoError(t, pause(t.Context(), 20*time.Millisecond))
	}
	results := outcome(t, q, *fleetJobs)
	book := service.order("book")
	assert.Empty(t, book.Violations)
	assert.Len(t, book.Records, *fleetJobs)
	for id, hash := range hashes {
		j, err := q.result(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, done, j.State, "%s: %s", id, j.Reason)
		if made := book.Records[id]; assert.Len(t, made, 1, "records of %s", id) {
			assert.Contains(t, made[0].Result, hash, "the record of %s is of another file", id)
			assert.EqualValues(t, made[0].ID, j.Record, "the result of %s is another's", id)
		}
	}
	t.Logf("%d jobs, %d results, %d records, %d workers killed, %d requests met a fault, %.0f s", *fleetJobs,
		len(results), book.Made, *fleetKills, book.Faults, time.Since(begin).Seconds())
}
