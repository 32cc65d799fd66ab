package integration

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

var (
	seqFull  = flag.Bool("seq.full", false, "sequences: walk all of them, which takes minutes")
	seqOnly  = flag.String("seq.only", "", "sequences: play this one, as a failure prints it")
	seqShown = flag.Int("seq.shown", 20, "sequences: how many failures are printed for each mode")
)

// TestMain lets the heap grow: the walks leave much garbage and keep little, and a quarter of their CPU time went into
// collecting it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// A course is a sequence or a scene that is carried out, with a server of its own, which takes it for the test.
type course struct {
	*testing.T // of the bubble
	srv        *aicontenttest.Server
	start      time.Time
	lasted     time.Duration
	took       time.Duration // the longest wait after a disturbance

	mu         sync.Mutex
	calm       bool // nothing goes wrong any more
	complaints []string
	excused    []string // the exceptions that the documentation has for it
}

// inBubble calls play in a bubble of its own.
func inBubble(t *testing.T, name fmt.Stringer, play func(*course)) {
	defer func() {
		if failure := recover(); failure != nil {
			panic(fmt.Sprintf("%s: %v", name, failure))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		c := &course{T: t, start: time.Now()}
		play(c)
		c.lasted = time.Since(c.start)
	})
}

// Errorf is what the server calls where a request is not allowed.
func (c *course) Errorf(format string, args ...any) { c.check(false, format, args...) }

func (c *course) check(holds bool, format string, args ...any) {
	if !holds {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.complaints = append(c.complaints, fmt.Sprintf(format, args...))
	}
}

// A walk counts what was carried out.
type walk struct {
	mu                       sync.Mutex
	courses, calls           int
	requests                 int
	virtual, longest         time.Duration
	visited, excuses, faulty map[string]int
}

func newWalk() *walk {
	return &walk{visited: map[string]int{}, excuses: map[string]int{}, faulty: map[string]int{}}
}

// add counts a course of a mode. A failed one is printed with the flag that plays it again.
func (w *walk) add(t *testing.T, mode string, name fmt.Stringer, c *course, calls int, visited ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.courses++
	w.calls += calls
	w.requests += len(c.srv.Requests())
	w.virtual += c.lasted
	w.longest = max(w.longest, c.took)
	for _, place := range visited {
		w.visited[place]++
	}
	slices.Sort(c.excused)
	for _, excuse := range slices.Compact(c.excused) {
		w.excuses[excuse]++
	}
	if len(c.complaints) > 0 {
		t.Fail()
		if w.faulty[mode]++; w.faulty[mode] <= *seqShown {
			t.Logf("-seq.only=%s\n\t%s", name, strings.Join(c.complaints, "\n\t"))
		}
	}
}

// end reports what the walk has come to. It must have been everywhere, and must have met each documented exception.
func (w *walk) end(t *testing.T, start time.Time, excuses, places []string) {
	t.Logf("%d in all, %d calls, %d requests, %v of virtual time, %v of real time", w.courses, w.calls, w.requests,
		w.virtual.Round(time.Hour), time.Since(start).Round(time.Second))
	t.Logf("failures: %v", w.faulty)
	for _, excuse := range excuses {
		t.Logf("%d times, %s", w.excuses[excuse], excuse)
		assert.NotZero(t, w.excuses[excuse], "a documented exception is not reached: %s", excuse)
	}
	for _, place := range places {
		assert.NotZero(t, w.visited[place], "never visited: %s", place)
	}
}

// struck returns the strikes with these names, separated by commas.
func struck(t *testing.T, names string) (all []strike) {
	t.Helper()
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(strikes, func(s strike) bool { return s.name == name })
		if name != "" {
			require.GreaterOrEqual(t, i, 0, "no strike is called %q", name)
			all = append(all, strikes[i])
		}
	}
	return all
}

// named returns the names of strikes, separated by commas.
func named(all []strike) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.name
	}
	return strings.Join(names, ",")
}
