package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A scene is what happens to processes that store one name.
type scene struct {
	collection string
	cast       string
	service    string
	strikes    []strike // of the create requests, in their order
	events     []event
}

// An event happens at the n-th operation of a kind of a process.
type event struct {
	what string
	who  string
	op   string // get, put, list, show, store or remove
	n    int
}

func (e event) String() string { return fmt.Sprintf("%s@%s.%s%d", e.what, e.who, e.op, e.n) }

// pause is how long the process stands still.
func (e event) pause() time.Duration {
	if text, found := strings.CutPrefix(e.what, "pause-"); found {
		return parsed(text)
	}
	switch e.what {
	case "rival", "delete", "find", "other":
		return holdUp
	}
	return 0
}

// lasts is how long the event is felt.
func (e event) lasts() time.Duration {
	kind, text, _ := strings.Cut(e.what, "-")
	switch {
	case kind == "answer" || kind == "outage" || kind == "offline" || kind == "slow":
		return max(parsed(text), inFlight)
	case e.what == "hang":
		return hung
	}
	return max(e.pause(), inFlight)
}

func parsed(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// String is what -seq.only takes: processes/images/two/prompt/lose-response/crash-after@a.put2,pause-29s@b.get1
func (s scene) String() string {
	var events []string
	for _, e := range s.events {
		events = append(events, e.String())
	}
	parts := []string{"processes", s.collection, s.cast, s.service, named(s.strikes), strings.Join(events, ",")}
	return strings.Join(parts, "/")
}

// parseScene reads what String writes.
func parseScene(t *testing.T, text string) scene {
	t.Helper()
	parts := strings.Split(text, "/")
	require.Len(t, parts, 6, text)
	s := scene{collection: parts[1], cast: parts[2], service: parts[3], strikes: struck(t, parts[4])}
	require.Contains(t, services, s.service)
	for text := range strings.SplitSeq(parts[5], ",") {
		if text == "" {
			continue
		}
		var e event
		at := ""
		e.what, at, _ = strings.Cut(text, "@")
		e.who, at, _ = strings.Cut(at, ".")
		e.op = strings.TrimRight(at, "0123456789")
		_, err := fmt.Sscan(strings.TrimPrefix(at, e.op), &e.n)
		require.NoError(t, err, text)
		s.events = append(s.events, e)
	}
	return s
}

// casts are who is there.
var casts = map[string]func(*stage){
	// A process, and its successor if it dies.
	"alone": func(g *stage) { g.actor("a", patient).plays("store") },
	// One whose calls have less patience than the settle time.
	"hurried": func(g *stage) { g.actor("a", actor{patience: lifetime, maxWait: unlimited}).plays("store") },
	// Ones that wait for nothing, or for a while, and call again at once, or when the error says.
	"unwilling": func(g *stage) { g.actor("a", actor{maxWait: 0}).plays("store") },
	"brief":     func(g *stage) { g.actor("a", actor{maxWait: 20 * time.Second}).plays("store") },
	"punctual":  func(g *stage) { g.actor("a", actor{maxWait: 0, punctual: true}).plays("store") },
	// Two at once.
	"two": func(g *stage) { g.both(patient) },
	// Two at once, which want different records.
	"forms": func(g *stage) { g.both(actor{maxWait: unlimited, form: "other"}) },
	// Two at once, of which the second has a clock that is ahead, behind, and out of order.
	"ahead":  func(g *stage) { g.both(actor{maxWait: unlimited, skew: clock}) },
	"behind": func(g *stage) { g.both(actor{maxWait: unlimited, skew: -clock}) },
	"apart":  func(g *stage) { g.both(actor{maxWait: unlimited, skew: apart}) },
	// One whose clock is as far ahead, and another one that comes after it.
	"heir-of-apart": func(g *stage) {
		g.actor("a", actor{maxWait: unlimited, skew: apart}).plays("try")
		g.wait()
		g.actor("b", patient).plays("store")
	},
	// One that calls once, and another one that comes after it.
	"heir": func(g *stage) {
		g.actor("a", patient).plays("try")
		g.wait()
		g.actor("b", patient).plays("store")
	},
	// Processes that are killed again and again.
	"relay-700ms": func(g *stage) { g.actor("a", patient).plays("store") },
	"relay-1s":    func(g *stage) { g.actor("a", patient).plays("store") },
	"relay-5s":    func(g *stage) { g.actor("a", patient).plays("store") },
	"relay-12s":   func(g *stage) { g.actor("a", patient).plays("store") },
	// One stores, another one deletes what it has stored, and a third one stores meanwhile: at once, and when
	// everything has settled.
	"delete": func(g *stage) { g.deletes(0) },
	"delete-later": func(g *stage) {
		g.deletes(settled + margin)
	},
	// Somebody deletes what was stored long ago, and then two store it at once.
	"removed": func(g *stage) {
		a := g.actor("a", patient)
		a.plays("store")
		g.wait()
		time.Sleep(settled + margin)
		a.meddle("remove")
		g.both(patient)
	},
	// One deletes while another one stores.
	"delete-meanwhile": func(g *stage) {
		a, b := g.actor("a", patient), g.actor("b", patient)
		a.plays("store")
		time.Sleep(g.works() / 2)
		b.plays("delete")
	},
	// One looks while another one stores.
	"find": func(g *stage) {
		a, b := g.actor("a", patient), g.actor("b", patient)
		a.plays("store")
		time.Sleep(time.Millisecond)
		b.plays("find")
	},
}

// A trait is what the rules must know of a cast.
type trait struct {
	life    time.Duration // processes are killed again and again, each after so long
	skewed  bool          // the clock of a process differs by clock
	apart   bool          // the clock of a process is out of order
	ahead   bool          // so an entry may be ahead of all other clocks, and the scene still ends well
	deletes bool          // somebody deletes the record
	excuse  string        // why it need not end well
}

// traits are those of casts that have one. They are apart from casts, whose functions need them.
var traits = map[string]trait{
	"ahead":            {skewed: true},
	"behind":           {skewed: true},
	"apart":            {apart: true, excuse: apartExcuse},
	"heir-of-apart":    {apart: true, ahead: true},
	"relay-700ms":      {life: 700 * time.Millisecond},
	"relay-1s":         {life: time.Second},
	"relay-5s":         {life: 5 * time.Second},
	"relay-12s":        {life: 12 * time.Second},
	"delete":           {deletes: true},
	"delete-later":     {deletes: true},
	"delete-meanwhile": {deletes: true},
}

func (g *stage) both(second actor) {
	a, b := g.actor("a", patient), g.actor("b", second)
	a.plays("store")
	time.Sleep(time.Millisecond)
	b.plays("store")
}

func (g *stage) deletes(later time.Duration) {
	g.actor("a", patient).plays("store")
	g.wait()
	time.Sleep(later)
	g.actor("b", patient).plays("delete")
	time.Sleep(time.Millisecond)
	g.actor("c", patient).plays("store")
}

// carryOutScene plays a scene in a bubble of its own.
func carryOutScene(t *testing.T, s scene) (g *stage) {
	inBubble(t, s, func(c *course) {
		g = &stage{course: c, scene: s, disk: &disk{}, fired: make([]bool, len(s.events))}
		service := services[s.service]
		opts := []aicontenttest.Option{
			aicontenttest.InMemoryNetwork(), aicontenttest.OnResponse(g.responds),
			aicontenttest.LatencyOn(aicontent.ImagesStore, service.works),
			aicontenttest.LatencyOn(aicontent.TranscriptionsStore, service.works),
			aicontenttest.UnusedFaults(), takesMinutes,
		}
		if service.personality != "" {
			opts = append(opts, service.personality)
		}
		if service.drops {
			opts = append(opts, aicontenttest.DropAbandoned())
		}
		g.srv = aicontenttest.NewServer(g, opts...)
		g.arm()
		casts[s.cast](g)
		g.wait()
		g.end()
		time.Sleep(allOver)
		synctest.Wait()
		g.judge()
	})
	return g
}

// end is what the name comes to when nothing goes wrong any more.
func (g *stage) end() {
	g.mu.Lock()
	g.calm = true
	g.mu.Unlock()
	last := g.actor("z", patient)
	last.play("store")
	if g.conflicts(last.deal) {
		last = g.actor("y", actor{maxWait: unlimited, form: "other"})
		last.play("store")
	}
	if services[g.service].blind && g.told() && aicontent.OutcomeOf(last.deal.err) == aicontent.OutcomeExecuted {
		return // nobody knows the record, and nothing is sent again
	}
	g.holds(last.deal.err == nil, "cannot be repaired: %v", last.deal.err)
	reader := g.actor("reader", patient)
	reader.play("find")
	g.holds(reader.deal.err == nil && reader.deal.id == last.deal.id,
		"%s cannot be found in the end: %s, %v", last.deal.id, reader.deal.id, reader.deal.err)
}

// scene plays a scene, and reports whether all its events have happened.
func (w *walk) scene(t *testing.T, s scene) bool {
	g := carryOutScene(t, s)
	visited := []string{s.cast, s.service}
	for i, e := range s.events {
		if g.fired[i] {
			visited = append(visited, e.what+"@"+e.op)
		}
	}
	w.add(t, "processes", s, g.course, len(g.deals), visited...)
	return !slices.Contains(g.fired, false)
}

// happenings are the events of each kind of operation.
var happenings = map[string][]string{
	"get": {
		"crash-before", "crash-after", "cancel-before", "cancel-after", "fail", "slow-20s", "massacre",
		"pause-29s", "pause-1m50s", "pause-8m", "outage-20s", "outage-6m", "rival", "other", "delete", "find",
	},
	"put": {
		"crash-before", "crash-after", "crash-late", "cancel-before", "cancel-after", "massacre",
		"fail", "fail-written", "fail-late", "hang", "changed", "answer-1m30s", "slow-3s", "slow-1m50s", "slow-3m",
		"pause-29s", "pause-1m50s", "pause-8m", "outage-20s", "outage-6m", "rival", "other", "delete", "find",
	},
	"list": {
		"crash-before", "crash-after", "cancel-before", "cancel-after", "fail", "slow-29.5s",
		"offline-1m", "offline-6m", "pause-29s", "pause-1m50s", "pause-8m", "rival", "other", "delete", "massacre",
	},
	"show": {
		"crash-before", "crash-after", "cancel-before", "cancel-after", "fail", "slow-29.5s", "offline-6m", "pause-29s",
		"pause-8m", "rival", "delete",
	},
	"store": {
		"crash-before", "crash-after", "crash-during", "crash-late", "cancel-before", "cancel-after", "cancel-during",
		"fail", "fail-late", "pause-29s", "pause-1m50s", "pause-3m30s", "rival", "other", "delete", "find", "massacre",
	},
	"remove": {
		"crash-before", "crash-after", "crash-late", "cancel-before", "cancel-after", "fail", "fail-late", "pause-29s",
		"pause-8m", "massacre",
	},
}

// Processes that share a ledger and nothing else store one name. Whatever happens to them, and whenever, it has one
// record in the end, and nobody was told what is not true.
func TestProcesses(t *testing.T) {
	w := newWalk()
	if strings.HasPrefix(*seqOnly, "processes/") {
		w.scene(t, parseScene(t, *seqOnly))
		return
	} else if *seqOnly != "" {
		t.Skip("plays a sequence")
	}
	require.Subset(t, slices.Collect(maps.Keys(casts)), slices.Collect(maps.Keys(traits)))
	start := time.Now()
	share(t, w.scenes(t))
	places := slices.Concat(slices.Sorted(maps.Keys(casts)), slices.Sorted(maps.Keys(services)))
	for op, whats := range happenings {
		for _, what := range whats {
			places = append(places, what+"@"+op)
		}
	}
	w.end(t, start, excuses, places)
	t.Logf("the longest wait after a disturbance: %v", w.longest)
}

// scenes returns the scenes that are played: each event at each operation of some casts, each cast with each service,
// those that need not end well, and some that are drawn.
func (w *walk) scenes(t *testing.T) (jobs []func(*testing.T)) {
	walk := func(cast, service, who string, all ...string) {
		for _, strikes := range all {
			for _, op := range slices.Sorted(maps.Keys(happenings)) {
				s := scene{collection: "images", cast: cast, service: service, strikes: struck(t, strikes)}
				jobs = append(jobs, func(t *testing.T) { w.each(t, s, who, op) })
			}
		}
	}
	add := func(s scene) { jobs = append(jobs, func(t *testing.T) { w.scene(t, s) }) }
	full := []string{"ok", "late-504", "act-201-empty", "422", "409", "minutes", "429,501", "503-early,lose-response"}
	walk("alone", "prompt", "a", "502")
	walk("alone", "beats", "a", "502")
	walk("two", "replica", "a", "lose-response")
	walk("delete", "prompt", "b", "ok")
	draws := 200
	if *seqFull {
		walk("alone", "prompt", "a", full...)
		walk("two", "beats", "a", "ok", "502", "act-201-empty")
		walk("two", "slow", "b", "ok")
		walk("two", "drops", "a", "ok")
		walk("alone", "lists", "a", "lose-response")
		walk("two", "flicker", "b", "lose-response")
		for _, cast := range []string{"heir", "hurried", "ahead", "behind", "brief", "forms", "find"} {
			walk(cast, "prompt", "a", "502")
			walk(cast, "lists", "b", "ok")
		}
		for _, cast := range []string{"delete", "delete-later", "delete-meanwhile"} {
			walk(cast, "prompt", "b", "lose-response", "act-201-empty")
			walk(cast, "replica", "b", "ok")
		}
		draws = 1_500
	}
	for _, cast := range slices.Sorted(maps.Keys(casts)) {
		service, all := "flicker", append([]string{"lose-response", "502"}, full...)
		if traits[cast].life > 0 {
			service, all = "quick", []string{"ok", "502", "lose-response", "act-201-empty"}
		}
		for _, strikes := range all {
			for _, service := range []string{"prompt", service} {
				add(scene{collection: "images", cast: cast, service: service, strikes: struck(t, strikes)})
			}
		}
	}
	for _, name := range beyond {
		add(parseScene(t, name))
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range draws {
		add(draw(t, random))
	}
	return jobs
}

// beyond are scenes that need not end well, and scenes beside them that must.
var beyond = []string{
	"processes/images/apart/prompt/minutes/",
	"processes/images/alone/blind/lose-response/",
	"processes/images/alone/blind/act-201-empty/",
	"processes/images/alone/blind/act-201-empty/outage-20s@a.put4",
	"processes/images/alone/nameless/lose-response/",
	"processes/images/alone/renaming/lose-response/",
	"processes/images/alone/renaming/ok/",
	"processes/images/alone/prompt/502/forget@a.put2",
	"processes/images/alone/prompt/late-504/forget@a.put2,crash-before@a.put2",
	"processes/images/two/slow/ok/restored@b.get2",
	"processes/images/alone/prompt/ok/elsewhere@a.put1",
	"processes/images/alone/prompt/ok/plain@a.put2",
	"processes/images/alone/prompt/lose-response/rename@a.put2",
	"processes/images/alone/prompt/lose-response/remove@a.put2",
	"processes/images/two/slower/ok/cancel-during@a.store1",
	"processes/images/two/prompt/ok/pause-20m@a.store1",

	// Each rule has a scene here that another rule does not save.
	"processes/images/alone/blind/act-201-empty/hang@a.put2",
	"processes/images/alone/lists/lose-response/slow-29.5s@a.list9",
	"processes/images/alone/lists/lose-response/offline-6m@a.list2",
	"processes/images/two/drops/ok/outage-6m@a.put2",
	"processes/images/two/lets-go/ok/answer-1m30s@a.put1,outage-6m@a.put2",
	"processes/images/two/beats/502/answer-1m30s@a.put5",
	"processes/images/find/lists/ok/slow-20s@b.get2",
	"processes/images/two/beats/502/pause-3m50s@a.put2,crash-before@b.put2",
	"processes/images/two/beats/422/pause-4m@a.put4,outage-6m@a.put4",
	"processes/images/alone/prompt/422/slow-20s@a.get2",
	"processes/images/alone/prompt/429,501/pause-1m50s@a.store1",
	"processes/images/two/prompt/ok/offline-1m@a.list1",
	"processes/images/two/prompt/minutes/",
	"processes/images/forms/prompt/501/",
	"processes/images/forms/prompt/ok/pause-29s@b.list1,outage-20s@b.put1",
	"processes/images/delete/replica/ok/",
	"processes/images/delete-meanwhile/lists/409/crash-after@s3.list1,other@a.list2",
}

// each plays a scene with each event at each operation of a kind, of which a pause has many that are alike.
func (w *walk) each(t *testing.T, s scene, who, op string) {
	last := 6
	if op == "list" {
		last = 9 // which begins before what was sent is over, and may end after it
	}
	for _, what := range happenings[op] {
		for n := 1; n <= last; n++ {
			s.events = []event{{what, who, op, n}}
			if !w.scene(t, s) {
				break
			}
		}
	}
}

// draw is a scene in which several things happen.
func draw(t *testing.T, random *rand.Rand) scene {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	s := scene{collection: pick("images", "transcriptions")}
	s.cast = pick("alone", "two", "two", "hurried", "ahead", "behind", "brief", "forms", "find", "delete-meanwhile")
	s.service = pick("prompt", "prompt", "beats", "lists", "replica", "flicker")
	for range random.IntN(3) {
		s.strikes = append(s.strikes, struck(t, pick(
			"ok", "lose-response", "late-504", "502", "act-201-empty", "422", "409", "minutes", "429", "501"))...)
	}
	for range 2 + random.IntN(3) {
		op := pick("get", "put", "put", "list", "show", "store")
		what := pick(happenings[op]...)
		if strings.HasPrefix(what, "pause-") && op != "store" {
			what = fmt.Sprintf("pause-%ds", 1+random.IntN(600))
		}
		s.events = append(s.events, event{what, pick("a", "a", "b", "s1", "s2", "s3"), op, 1 + random.IntN(5)})
	}
	return s
}

// share does jobs on as many goroutines as tests run in parallel.
func share(t *testing.T, jobs []func(*testing.T)) {
	t.Run("tour", func(t *testing.T) {
		const workers = 4
		var next atomic.Int64
		for n := range workers {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
					jobs[i](t)
				}
			})
		}
	})
}

// Where the disk is full, nothing is sent, and the error says so.
func TestAFullDiskSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		disk := &fullDisk{Ledger: once.InMemory(), full: true}
		names, err := once.New(srv.Client(), disk)
		require.NoError(t, err)
		_, _, err = names.Images.Store(t.Context(), aStore)
		require.ErrorContains(t, err, syscall.ENOSPC.Error())
		assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), err)
		assert.Empty(t, srv.Records())
		disk.full = false
		start := time.Now()
		_, found, err := names.Images.Store(t.Context(), aStore)
		require.NoError(t, err)
		assert.False(t, found)
		assert.Zero(t, time.Since(start), "nothing was sent, so nothing is waited for")
	})
}

// A fullDisk is a ledger that is read, and cannot be written.
type fullDisk struct {
	once.Ledger
	full bool
}

func (d *fullDisk) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if d.full {
		return "", fmt.Errorf("write %s: %w", key, syscall.ENOSPC)
	}
	return d.Ledger.Put(ctx, key, entry, version)
}
