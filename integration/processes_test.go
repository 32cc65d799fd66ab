package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A scene is the story of processes that store one name.
type scene struct {
	cast    string
	service string
	strikes []strike // of the create requests, in their order
	events  []event
}

// An event happens to the n-th operation of a kind of a process. Operations are get and put of the ledger, and list,
// show, store and remove of the service.
//
//	kill, cancel, fail  and the moment: before, during, after; late, if the operation is carried out after its end
//	pause, outage       and how long the process is suspended, or its ledger fails
//	rival, delete       process b stores or deletes the name before the operation
type event struct {
	what string
	who  string
	op   string
	n    int
}

// String returns the argument of -seq.only: processes/two/prompt/lose-response/kill-after@a.put2,pause-20s@b.get1
func (s scene) String() string {
	var events []string
	for _, e := range s.events {
		events = append(events, fmt.Sprintf("%s@%s.%s%d", e.what, e.who, e.op, e.n))
	}
	return strings.Join([]string{"processes", s.cast, s.service, named(s.strikes), strings.Join(events, ",")}, "/")
}

// parseScene reads the text of String.
func parseScene(t *testing.T, text string) scene {
	t.Helper()
	parts := strings.Split(text, "/")
	require.Len(t, parts, 5, text)
	s := scene{cast: parts[1], service: parts[2], strikes: struck(t, parts[3])}
	require.Contains(t, casts, s.cast)
	require.Contains(t, services, s.service)
	for _, m := range matches(`([\w-]+)@(\w+)\.([a-z]+)(\d+)`, parts[4]) {
		e := event{what: m[1], who: m[2], op: m[3]}
		_, err := fmt.Sscan(m[4], &e.n)
		require.NoError(t, err)
		s.events = append(s.events, e)
	}
	return s
}

// A cast is a group of processes.
type cast struct {
	skewed bool // the clocks differ
	play   func(*stage)
}

var casts = map[string]cast{
	"alone":  {play: func(g *stage) { g.plays("a", habits{}, "store") }},
	"worker": {play: func(g *stage) { g.plays("a", habits{maxWait: time.Nanosecond}, "store") }},
	"relay":  {play: func(g *stage) { g.plays("a", habits{life: 5 * time.Second}, "store") }}, // one after the other
	"two":    {play: func(g *stage) { g.pair(habits{}) }},
	"forms":  {play: func(g *stage) { g.pair(habits{form: "other"}) }},
	"ahead":  {play: func(g *stage) { g.pair(habits{skew: clock}) }, skewed: true},
	"behind": {play: func(g *stage) { g.pair(habits{skew: -clock}) }, skewed: true},
	"delete": {play: func(g *stage) {
		g.plays("a", habits{}, "store")
		g.playing.Wait()
		g.plays("b", habits{}, "delete")
		g.plays("c", habits{}, "store")
	}},
	// Package once does not cover it.
	"astray": {play: func(g *stage) { g.pair(habits{skew: 2 * time.Hour}) }},
}

// pair has two processes store the name at once.
func (g *stage) pair(second habits) {
	g.plays("a", habits{}, "store")
	g.plays("b", second, "store")
}

// happenings are the events of each kind of operation. A request that is suspended for too long is not covered.
var happenings = map[string][]string{
	"get": {
		"kill-before", "kill-after", "cancel-before", "fail-before", "pause-20s", "pause-8m", "outage-6m",
		"rival", "delete",
	},
	"put": {
		"kill-before", "kill-after", "kill-late", "cancel-before", "cancel-after", "fail-before", "fail-after",
		"fail-late", "pause-20s", "pause-1m50s", "pause-8m", "outage-20s", "outage-6m", "rival", "delete",
	},
	"list": {
		"kill-before", "kill-after", "cancel-before", "fail-before", "pause-20s", "pause-1m50s", "pause-8m", "rival",
		"delete",
	},
	"show": {"kill-before", "kill-after", "cancel-before", "fail-before", "pause-20s", "pause-8m", "rival", "delete"},
	"store": {
		"kill-before", "kill-during", "kill-after", "kill-late", "cancel-before", "cancel-during", "cancel-after",
		"fail-before", "fail-late", "pause-20s", "pause-1m50s", "rival", "delete",
	},
	"remove": {
		"kill-before", "kill-after", "kill-late", "cancel-before", "cancel-after", "fail-before", "fail-late",
		"pause-20s", "pause-8m",
	},
}

// Processes that share a ledger and nothing else store one name, whichever is killed, suspended or overtaken, and
// whenever that happens.
func TestProcesses(t *testing.T) {
	w := newWalk()
	if strings.HasPrefix(*seqOnly, "processes/") {
		w.scene(t, parseScene(t, *seqOnly))
		return
	} else if *seqOnly != "" {
		t.Skip("plays a sequence")
	}
	start := time.Now()
	share(t, w.scenes(t))
	places := []string{}
	for op, all := range happenings {
		for _, what := range all {
			places = append(places, what+"@"+op)
		}
	}
	w.end(t, start, nil, places)
	t.Logf("the longest wait: %v", w.longest)
}

// Package once does not cover these cases of its documentation. They show that judge sees a second record.
func TestProcessesMakeASecondRecordAsDocumented(t *testing.T) {
	t.Parallel()
	for why, text := range map[string]string{
		"a program stores the name without this package": "alone/prompt/ok/plain@a.put2",
		"or with another ledger":                         "alone/prompt/ok/elsewhere@a.put1",
		"the record appears later than the settle time":  "two/slower/ok/cancel-during@a.store1",
		"the service changes names":                      "alone/renaming/lose-response/",
		"a person renames the record":                    "alone/prompt/lose-response/rename@a.put2",
		"clocks differ by more":                          "astray/beats/ok/",
		"a process is suspended while it sends":          "two/prompt/ok/pause-20m@a.store1",
		"an entry is deleted":                            "alone/prompt/late-504/forget@a.put2",
		"a response without an ID, and no ledger":        "alone/unlisted/act-201-empty/outage-20s@a.put4",
	} {
		g := perform(t, parseScene(t, "processes/"+text))
		assert.NotContains(t, g.fired, false, why)
		assert.Contains(t, strings.Join(g.complaints, "\n"), " beside ", why)
	}
}

// scene plays a scene, and reports whether all its events have happened.
func (w *walk) scene(t *testing.T, s scene) bool {
	g := perform(t, s)
	var visited []string
	for i, e := range s.events {
		if g.fired[i] {
			visited = append(visited, e.what+"@"+e.op)
		}
	}
	w.add(t, "processes", s, g.course, len(g.deals), visited...)
	return !slices.Contains(g.fired, false)
}

// scenes returns the scenes: each event at each operation of some casts, each cast with each service, and drawn ones.
func (w *walk) scenes(t *testing.T) (jobs []func(*testing.T)) {
	walk := func(cast, service, who string, all ...string) {
		for _, strikes := range all {
			for op := range happenings {
				s := scene{cast: cast, service: service, strikes: struck(t, strikes)}
				jobs = append(jobs, func(t *testing.T) { w.each(t, s, who, op) })
			}
		}
	}
	walk("alone", "prompt", "a", "502")
	walk("two", "replica", "a", "lose-response")
	walk("delete", "prompt", "b", "ok")
	draws := 200
	if *seqFull {
		walk("alone", "prompt", "a", "ok", "late-504", "act-201-empty", "422", "429,501")
		walk("alone", "beats", "a", "ok", "502")
		walk("worker", "prompt", "a", "502")
		walk("two", "beats", "a", "ok", "502", "act-201-empty")
		walk("two", "flicker", "b", "lose-response")
		walk("delete", "prompt", "b", "act-201-empty")
		walk("delete", "replica", "b", "ok")
		walk("forms", "prompt", "a", "502")
		draws = 1_500
	}
	all := []string{"ok", "502", "late-504", "lose-response", "act-201-empty", "422", "429,501"}
	for _, cast := range []string{"alone", "worker", "relay", "two", "forms", "ahead", "behind", "delete"} {
		for _, service := range []string{"prompt", "beats", "replica", "flicker"} {
			for _, strikes := range all {
				s := scene{cast: cast, service: service, strikes: struck(t, strikes)}
				jobs = append(jobs, func(t *testing.T) { w.scene(t, s) })
			}
		}
	}
	cutOff := parseScene(t, "processes/two/slow/ok/outage-6m@a.put2")
	jobs = append(jobs, func(t *testing.T) { w.scene(t, cutOff) })
	random := rand.New(rand.NewPCG(1, 1))
	for range draws {
		s := draw(t, random)
		jobs = append(jobs, func(t *testing.T) { w.scene(t, s) })
	}
	return jobs
}

// each plays a scene with each event at each operation of a kind. The operations of a pause are alike.
func (w *walk) each(t *testing.T, s scene, who, op string) {
	for _, what := range happenings[op] {
		for n := 1; n <= 6; n++ {
			s.events = []event{{what, who, op, n}}
			if !w.scene(t, s) {
				break
			}
		}
	}
}

// draw returns a scene with several events.
func draw(t *testing.T, random *rand.Rand) scene {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	s := scene{
		cast:    pick("alone", "worker", "two", "two", "forms", "ahead", "behind"),
		service: pick("prompt", "prompt", "beats", "replica", "flicker"),
	}
	if casts[s.cast].skewed && s.service == "beats" {
		s.service = "prompt" // because the record of a late request would come after the settle time
	}
	for range random.IntN(3) {
		name := pick("ok", "502", "late-504", "lose-response", "act-201-empty", "422")
		s.strikes = append(s.strikes, struck(t, name)...)
	}
	for range 2 + random.IntN(3) {
		op := pick(slices.Sorted(maps.Keys(happenings))...)
		what, who := pick(happenings[op]...), pick("a", "a", "b", "a2", "a3")
		s.events = append(s.events, event{what, who, op, 1 + random.IntN(5)})
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
