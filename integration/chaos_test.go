package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

var (
	chaosOps = flag.Int("chaos.ops", 300,
		"chaos: stores, and as many deletes, updates and lists together, in each run")
	chaosSeed    = flag.Uint64("chaos.seed", 0, "chaos: seed to replay; 0 draws one")
	chaosWorkers = flag.Int("chaos.workers", 32, "chaos: goroutines")
)

const (
	chaosRate  = 0.4
	chaosTag   = "X-Chaos"
	chaosLimit = 64 << 10 // of a response
)

// chaosFaults are all that can go wrong with a request. wait is for what takes time.
func chaosFaults(wait time.Duration) []aicontenttest.Fault {
	seconds := fmt.Sprint(wait.Seconds())
	return []aicontenttest.Fault{
		aicontenttest.Status(408, ``),
		aicontenttest.Status(500, `{"message":"Server Error"}`), aicontenttest.Status(501, ``),
		aicontenttest.Status(401, `{"message":"Unauthenticated."}`),
		aicontenttest.Status(422, `{"message":"no","errors":{"name":["no"]}}`),
		aicontenttest.Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter(seconds),
		aicontenttest.HTMLPage(413).Early(),
		aicontenttest.HTMLPage(502), aicontenttest.HTMLPage(503), aicontenttest.HTMLPage(504),
		aicontenttest.HTMLPage(503).WithRetryAfter(seconds), aicontenttest.HTMLPage(503).Early(),
		aicontenttest.HTMLPage(200),
		aicontenttest.ActThenStatus(500), aicontenttest.ActThenStatus(502), aicontenttest.ActThenStatus(503),
		aicontenttest.ActThenStatus(504), aicontenttest.ActThenStatus(524), aicontenttest.ActThenStatus(403),
		aicontenttest.LateAct(504, wait), aicontenttest.LateAct(503, wait).WithRetryAfter(seconds),
		aicontenttest.RedirectTo(302, "https://elsewhere.example/"),
		aicontenttest.RedirectTo(307, "https://elsewhere.example/"),
		aicontenttest.RefuseConnection(),
		aicontenttest.CloseBeforeRead(), aicontenttest.CloseBeforeRead().WithReset(),
		aicontenttest.CloseMidUpload(64), aicontenttest.CloseMidUpload(64).WithReset(),
		aicontenttest.CloseMidUpload(2000),
		aicontenttest.LoseResponse(), aicontenttest.LoseResponse().WithReset(),
		aicontenttest.CloseMidResponse(), aicontenttest.CloseMidResponse().WithReset(),
		aicontenttest.Stall(aicontenttest.BeforeRead), aicontenttest.Stall(aicontenttest.MidUpload),
		aicontenttest.Stall(aicontenttest.BeforeResponse), aicontenttest.Stall(aicontenttest.MidResponse),
		aicontenttest.TruncatedJSON(), aicontenttest.InvalidJSON(), oversized(2 * chaosLimit),
	}
}

// passing are the faults that a store gets over with a further attempt, so that each one can end well.
func passing(faults []aicontenttest.Fault) []aicontenttest.Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f aicontenttest.Fault) bool {
		return slices.Contains([]int{401, 403, 422, 413, 307}, f.Status)
	})
}

// strike lets each request meet one of its faults with the probability chaosRate. What the nth request of a deed meets
// depends on the seed alone, whatever the goroutines do, so that a seed can be replayed.
func (r *chaos) strike(others, stores []aicontenttest.Fault) {
	faults := slices.Concat(others, stores)
	var mu sync.Mutex
	drawn := map[int]int{} // by the request's number; -1 is none
	nth := map[string]uint64{}
	draw := func(request *aicontenttest.Request) int {
		mu.Lock()
		defer mu.Unlock()
		if i, known := drawn[request.Number]; known {
			return i
		}
		tag := request.Header.Get(chaosTag)
		nth[tag]++
		hash := fnv.New64a()
		_, _ = io.WriteString(hash, tag)
		random := rand.New(rand.NewPCG(r.seed, hash.Sum64()+nth[tag]))
		i := -1
		if random.Float64() < chaosRate {
			if i = random.IntN(len(others)); strings.HasSuffix(string(request.Operation), ".store") {
				i = len(others) + random.IntN(len(stores))
			}
		}
		drawn[request.Number] = i
		return i
	}
	for i, fault := range faults {
		r.srv.FaultWhen(func(request *aicontenttest.Request) bool { return draw(request) == i }, math.MaxInt, fault)
	}
}

// deed is one call of a chaos run, and what became of it.
type deed struct {
	kind string // store, delete, update, list
	tag  string
	name string // that the record has or is to have
	id   aicontent.ID
	left bool // the client left while the service worked
	err  error
}

// chaos is a run against one server.
type chaos struct {
	t     *testing.T
	srv   *aicontenttest.Server
	c     *aicontent.Client
	names *once.Client  // for Store calls; nil for plain ones
	leave time.Duration // after which every fifth Store call is left; 0 for never
	seed  uint64
	deeds []*deed
}

// newChaos makes a server with a record for each delete and update, and the deeds to do.
func newChaos(t *testing.T, byName bool, srv *aicontenttest.Server, opts ...aicontent.Option) *chaos {
	r := &chaos{t: t, srv: srv, seed: *chaosSeed}
	r.c = srv.Client(append(opts, aicontent.WithMaxResponseSize(chaosLimit), aicontent.WithRetryBudget(0))...)
	if byName {
		r.names = newNames(t, r.c)
	}
	if r.seed == 0 {
		r.seed = rand.Uint64()
	}
	add := func(kind, name string) {
		d := &deed{kind: kind, tag: fmt.Sprint(len(r.deeds)), name: name}
		if kind == "delete" || kind == "update" {
			seeded := aicontent.Image{Name: "seeded " + d.tag, Description: "d", Resolution: "256x256"}
			d.id = aicontent.ID(srv.AddImage(seeded).ID)
		}
		r.deeds = append(r.deeds, d)
	}
	for i := range *chaosOps {
		add("store", fmt.Sprintf("job-%d-store", i))
		if !byName {
			add([]string{"delete", "update", "list"}[i%3], fmt.Sprintf("job-%d-other", i))
		}
	}
	return r
}

// run does all deeds from many goroutines.
func (r *chaos) run(ctx context.Context) {
	next := make(chan *deed)
	var workers sync.WaitGroup
	for range *chaosWorkers {
		workers.Go(func() {
			for d := range next {
				r.do(ctx, d)
			}
		})
	}
	for i, d := range r.deeds {
		if i%20 == 7 {
			r.srv.RefuseConnections(1)
		}
		if i%50 == 31 {
			r.srv.CloseIdleConnections()
		}
		next <- d
	}
	close(next)
	workers.Wait()
}

func (r *chaos) do(ctx context.Context, d *deed) {
	tag := aicontent.WithHeader(chaosTag, d.tag)
	switch d.kind {
	case "store":
		d.err = r.store(ctx, d, tag)
		for calls := 1; r.names != nil && d.err != nil && calls < 50; calls++ {
			time.Sleep(r.leave) // as long as a job queue may wait
			d.err = r.store(ctx, d, tag)
		}
	case "delete":
		d.err = r.c.Images.Delete(ctx, d.id, tag)
	case "update":
		_, d.err = r.c.Images.Update(ctx, d.id, aicontent.ImageUpdateParams{Name: new(d.name)}, tag)
	case "list":
		_, d.err = r.c.Images.List(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage100}, tag)
	}
}

// store makes a Store call, which the client may leave if it is the deed's first one.
func (r *chaos) store(ctx context.Context, d *deed, tag aicontent.CallOption) (err error) {
	if r.leave > 0 && !d.left && strings.HasSuffix(strings.TrimRight(d.tag, "13579"), "0") {
		d.left = true
		leaving, cancel := context.WithTimeout(ctx, r.leave)
		defer cancel()
		ctx = leaving
	}
	j := job{name: d.name, description: "d"}
	if len(d.tag)%2 != 0 {
		j.file = wav(4_000)
		if strings.HasSuffix(d.tag, "5") {
			// More than the transport takes at once: what breaks in the middle of it is not sent, and retried.
			j.file = wav(200_000)
		}
	}
	_, err = j.store(ctx, r.c, r.names, tag)
	return err
}

// What no call may come to.
const (
	doubles       = "records made twice"
	phantoms      = "successes that did nothing"
	falseRefusals = "reported NotExecuted, and acted on"
	falseDones    = "reported Executed, and not acted on"
	unsaved       = "given up where a retry could have saved it"
)

// tally is what a run came to, against the server's own book.
type tally struct {
	ended  map[string]int      // calls by kind and outcome
	wrong  map[string][]string // calls by what none may come to
	undone []string
	left   int
}

func (r *chaos) tally() tally {
	count := tally{ended: map[string]int{}, wrong: map[string][]string{}}
	made, faults := map[string]int{}, map[string]string{}
	deleted, names := map[aicontent.ID]bool{}, map[aicontent.ID]string{}
	for _, record := range r.srv.Records() {
		if record.Request != 0 {
			made[record.Name]++
		}
		if record.Collection == "images" {
			deleted[record.ID] = record.DeletedBy != 0
		}
	}
	for _, image := range r.srv.Images() {
		names[image.ID] = image.Name
	}
	for _, request := range r.srv.Requests() {
		if request.Operation != aicontent.ImagesList {
			faults[request.Header.Get(chaosTag)] = request.Fault
		}
	}
	for _, d := range r.deeds {
		outcome := aicontent.OutcomeOf(d.err)
		ending := outcome.String()
		if d.err == nil {
			ending = "succeeded"
		}
		count.ended[d.kind+" "+ending]++
		note := fmt.Sprintf("%s %s: %v (last fault %s)", d.kind, d.name, d.err, faults[d.tag])
		wrong := func(what string) { count.wrong[what] = append(count.wrong[what], note) }
		var done bool
		switch d.kind {
		case "store":
			done = made[d.name] > 0
		case "delete":
			done = deleted[d.id]
		case "update":
			done = names[d.id] == d.name
		case "list":
			done = true
		}
		store := d.kind == "store"
		switch {
		case store && made[d.name] > 1:
			wrong(doubles)
		case d.err == nil && !done:
			wrong(phantoms)
		case outcome == aicontent.OutcomeNotExecuted && done && (store || d.kind == "delete" && !refused(d.err)):
			// A firewall's page in place of the response to a Delete counts as a refusal.
			wrong(falseRefusals)
		case store && d.err != nil && outcome == aicontent.OutcomeExecuted && !done:
			wrong(falseDones)
		}
		if store && d.err != nil && !done {
			count.undone = append(count.undone, note)
		}
		if d.left {
			count.left++
		} else if savable(d) {
			wrong(unsaved)
		}
	}
	return count
}

// refused reports whether a response says that the request was not executed.
func refused(err error) bool { return errors.As(err, new(*aicontent.APIError)) }

// savable reports whether a further attempt could have saved the call without risk, by the contract alone.
func savable(d *deed) bool {
	var api *aicontent.APIError
	var decode *aicontent.DecodeError
	var transport *aicontent.CallError
	store := d.kind == "store"
	switch {
	case errors.As(d.err, &api):
		passing := api.StatusCode == 408 || api.StatusCode >= 500 && api.StatusCode != 501 && api.StatusCode != 505
		return api.StatusCode == http.StatusTooManyRequests || !store && passing
	case errors.As(d.err, &decode):
		return !store && d.kind != "delete" && strings.Contains(decode.Error(), "cut off")
	case errors.As(d.err, &transport):
		return !store || aicontent.OutcomeOf(d.err) == aicontent.OutcomeNotExecuted
	}
	return false
}

// check is the promise: what must be 0 is 0.
func (r *chaos) check(count tally) {
	r.t.Helper()
	replay := fmt.Sprintf("replay with -chaos.seed=%d -chaos.ops=%d -chaos.workers=%d",
		r.seed, *chaosOps, *chaosWorkers)
	r.t.Logf("seed %d: %d calls, of which %d were left, %d requests, %v",
		r.seed, len(r.deeds), count.left, len(r.srv.Requests()), count.ended)
	for _, what := range []string{doubles, phantoms, falseRefusals, falseDones, unsaved} {
		assert.Empty(r.t, count.wrong[what], "%s: %s", what, replay)
	}
}

// patience is enough attempts for every call that may be repeated to end well.
var patience = aicontent.RetryPolicy{
	MaxAttempts:   60,
	MinBackoff:    time.Microsecond,
	MaxBackoff:    time.Millisecond,
	MaxRetryAfter: time.Hour,
}

// Over real connections: whatever breaks, and wherever, no store is made twice and no outcome is a lie.
func TestChaos(t *testing.T) {
	t.Parallel()
	for _, network := range []struct {
		name string
		opts []aicontenttest.Option
	}{
		{"HTTP1", nil},
		{"HTTP1 over TLS", []aicontenttest.Option{aicontenttest.TLS()}},
		{"HTTP2", []aicontenttest.Option{aicontenttest.HTTP2()}},
	} {
		t.Run(network.name, func(t *testing.T) {
			t.Parallel()
			opts := append(network.opts, aicontenttest.BasePath("/tenant"), aicontenttest.Allow("page"),
				aicontenttest.UnusedFaults())
			srv := aicontenttest.NewServer(t, opts...)
			wait := 20 * time.Millisecond
			r := newChaos(t, false, srv,
				aicontent.WithRetryPolicy(patience), aicontent.WithStallTimeout(50*wait),
				aicontent.WithResponseTimeout(50*wait), aicontent.WithStoreTimeout(50*wait))
			r.strike(chaosFaults(wait), chaosFaults(wait))
			r.run(t.Context())
			r.check(r.tally())
		})
	}
}

// In virtual time, where a Retry-After of a minute and the default timeouts cost nothing.
func TestChaosInVirtualTimeMakesNoStoreTwiceAndNoOutcomeFalse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSlowChaos(t, false)
		r.strike(chaosFaults(time.Minute), chaosFaults(time.Minute))
		r.run(t.Context())
		time.Sleep(2 * time.Minute) // until nothing is late any more
		count := r.tally()
		r.check(count)
		assert.NotZero(t, count.left, "calls that were left")
	})
}

// With package once, and called again until it succeeds, every store ends with exactly one record, as long as the
// service acts within the settle time.
func TestChaosOnceLeavesOneRecordForEachStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSlowChaos(t, true)
		faults := passing(chaosFaults(time.Minute))
		r.strike(faults, append(slices.Clip(faults), aicontenttest.LateAct(504, 4*time.Minute)))
		r.run(t.Context())
		count := r.tally()
		r.check(count)
		assert.Empty(t, count.undone, "stores that ended without a record")
		assert.Equal(t, *chaosOps, count.ended["store succeeded"], "every store returns its record")
		assert.NotZero(t, count.left, "calls that were left")
	})
}

// chaosLatency is how long the service takes for a create request in virtual time. Some clients leave before that.
const chaosLatency = 15 * time.Second

// newSlowChaos returns a chaos run in memory, with a service that takes its time.
func newSlowChaos(t *testing.T, byName bool) *chaos {
	srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.BasePath("/tenant"),
		aicontenttest.UnusedFaults(), aicontenttest.LatencyOn(aicontent.ImagesStore, chaosLatency),
		aicontenttest.LatencyOn(aicontent.TranscriptionsStore, chaosLatency))
	policy := aicontent.DefaultRetryPolicy()
	policy.MaxAttempts = patience.MaxAttempts
	r := newChaos(t, byName, srv, aicontent.WithRetryPolicy(policy))
	r.leave = chaosLatency / 3
	return r
}

func TestChaosNeedsItsFaults(t *testing.T) {
	t.Parallel()
	require.Len(t, passing(chaosFaults(0)), len(chaosFaults(0))-5,
		"a fault that no store can get over has come or gone")
}
