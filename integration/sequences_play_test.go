package integration

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/once"
)

// modes are the ways in which programs call Store.
var modes = map[string]func(*play){
	// A caller that tries once more.
	"plain": func(p *play) { p.try(2, call{client: p.client()}) },
	// One whose context ends meanwhile.
	"cancelled": func(p *play) {
		c := call{client: p.client()}
		p.try(1, p.cancelled(c))
		p.try(1, c)
	},
	// A job queue, which calls again.
	"once": func(p *play) {
		c := call{process: p.process()}
		p.queue(c)
		p.repair(c)
	},
	// A job queue that has less patience than the settle time.
	"hurried": func(p *play) {
		c := call{process: p.process()}
		hurried := c
		hurried.patience = 7 * time.Second
		p.queue(hurried)
		p.repair(c)
	},
	// Two goroutines at once.
	"both": func(p *play) {
		c := call{process: p.process()}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { p.try(1, c) })
			time.Sleep(time.Millisecond)
		}
		both.Wait()
		slices.SortFunc(p.calls, func(a, b *call) int {
			return cmp.Or(a.ended.Compare(b.ended), a.began.Compare(b.began)) // the second may end in the same moment
		})
		p.queue(c)
		p.repair(c)
	},
	// A process that is killed, and the next one.
	"crash": func(p *play) {
		dies := p.process()
		p.try(1, call{process: dies, ctx: dies.life, cut: dies.kill})
		c := call{process: p.process()}
		p.queue(c)
		p.repair(c)
	},
	// A program that survives the panics and vetoes of its hook or middleware.
	"panic": func(p *play) {
		c := call{process: p.process()}
		panics := c
		panics.cut = func() { panic(errCut) }
		if !p.try(1, panics) {
			p.queue(c)
		}
		p.repair(c)
	},
}

// interrupted are the modes whose first call is interrupted at each of its attempts in turn, and the moments: by a hook
// that panics or vetoes before it is sent, while it is on its way, and when it has ended. In the last two, the service
// takes its time for each create request, and the client leaves meanwhile.
var interrupted = map[string][]string{
	"cancelled": {"sent", "done", "latency", "dropped"},
	"crash":     {"sent", "done", "latency", "dropped"},
	"panic":     {"hook", "veto", "sent", "done"},
}

// A play is a sequence that is carried out: Store calls for one name.
type play struct {
	*course
	sequence
	calls   []*call        // in the order in which they ended
	stores  int            // create requests so far
	sought  map[string]int // requests of searches so far, by verb
	met     []string       // strikes and obstacles
	budgets []int          // that requests of no call have found

	ledger once.Ledger // that processes share
}

// A call is one Store call.
type call struct {
	client   *aicontent.Client // for a plain call
	process  *process          // for one of package once
	ctx      context.Context
	patience time.Duration // 0 for a context without a deadline
	cut      func()        // interrupts the call; nil where that is not planned
	wasCut   bool

	attempts []*attempt
	stored
	response *aicontent.Response
	err      error

	began, ended time.Time
}

// An attempt is what the hooks are told of it, and what the service was told to do.
type attempt struct {
	aicontent.Attempt
	result       aicontent.AttemptResult
	dones        int
	search       bool   // of package once
	sent         bool   // no hook was against it
	strike       strike // of a create request
	request      int    // the server's number; 0 if none arrived
	began, ended time.Time
}

// verb is that of the operation: list, show or store.
func (a *attempt) verb() string {
	_, verb, _ := strings.Cut(string(a.Operation), ".")
	return verb
}

// carryOut plays a sequence in a bubble of its own.
func carryOut(t *testing.T, s sequence) (p *play) {
	inBubble(t, s, func(c *course) {
		p = &play{course: c, sequence: s, sought: map[string]int{}, ledger: once.InMemory()}
		p.srv = aicontenttest.NewServer(p, p.service()...)
		modes[s.mode](p)
		time.Sleep(allLate)
		synctest.Wait()
		p.judge()
		p.judgeHooks()
		p.judgeBudget()
	})
	return p
}

// service is what the sequence says of the server.
func (p *play) service() []aicontenttest.Option {
	opts := []aicontenttest.Option{aicontenttest.InMemoryNetwork(), aicontenttest.UnusedFaults(), takesMinutes}
	if p.personality != "" {
		opts = append(opts, p.personality)
	}
	if p.leaves() {
		opts = append(opts, aicontenttest.LatencyOn(aicontent.ImagesStore, latency),
			aicontenttest.LatencyOn(aicontent.TranscriptionsStore, latency))
	}
	if p.moment == "dropped" {
		opts = append(opts, aicontenttest.DropAbandoned())
	}
	return opts
}

// leaves reports whether the client leaves while the service works.
func (s sequence) leaves() bool { return s.moment == "latency" || s.moment == "dropped" }

func (p *play) client() *aicontent.Client {
	opts := []aicontent.Option{
		aicontent.WithMaxResponseSize(mostBytes), aicontent.WithAttemptHook(p.note), aicontent.WithAttemptHook(p.arm),
		drips,
	}
	if p.mode == "panic" {
		opts = append(opts, aicontent.WithMiddleware(p.middleware))
	}
	return p.srv.Client(opts...)
}

// A process shares a ledger with others, and the service, and nothing else. Nothing of it gets there once it is dead.
type process struct {
	once.Ledger
	names *once.Client
	life  context.Context
	kill  context.CancelFunc
}

func (p *play) process() *process {
	m := &process{Ledger: p.ledger}
	m.life, m.kill = context.WithCancel(p.Context())
	names, err := once.New(p.client(), m, once.WithSettleTime(settleTime))
	if err != nil {
		panic(err)
	}
	m.names = names
	return m
}

var errKilled = errors.New("the process was killed")

func (m *process) Get(ctx context.Context, key string) ([]byte, string, error) {
	if m.life.Err() != nil {
		return nil, "", errKilled
	}
	return m.Ledger.Get(ctx, key)
}

func (m *process) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if m.life.Err() != nil {
		return "", errKilled
	}
	return m.Ledger.Put(ctx, key, entry, version)
}

// cancelled has the call's context end at the moment that the sequence names.
func (p *play) cancelled(c call) call {
	c.ctx, c.cut = context.WithCancel(p.Context())
	return c
}

// try makes such calls until one succeeds, and reports whether one has.
func (p *play) try(times int, like call) bool {
	for range times {
		c := like
		c.began = time.Now()
		p.store(&c)
		c.ended = time.Now()
		p.mu.Lock()
		p.calls = append(p.calls, &c)
		p.mu.Unlock()
		if c.err == nil {
			return true
		}
	}
	return false
}

// queue makes calls for as long as their errors are temporary, as a job queue does. It must come to an end.
func (p *play) queue(like call) {
	rounds := 30
	if p.personality == aicontenttest.SaysNo {
		rounds = 2 // each of which comes to nothing
	}
	for range rounds {
		if p.try(1, like) || !aicontent.Retryable(p.calls[len(p.calls)-1].err) {
			return
		}
		time.Sleep(3 * time.Second)
	}
	p.check(p.personality == aicontenttest.SaysNo, "temporary for ever: %v", p.calls[len(p.calls)-1].err)
}

// repair makes calls when nothing goes wrong any more: that is how a job ends well, whatever it has met.
func (p *play) repair(like call) {
	p.calm = true
	p.queue(like)
	err := p.calls[len(p.calls)-1].err
	p.check(err == nil || p.beyondRepair(err), "cannot be repaired: %v", err)
}

// beyondRepair reports whether the last call has met what no call can mend: two records, of which one was made after
// the settle time, or one that was created, and renamed before its ID was known, or a service that does nothing.
func (p *play) beyondRepair(err error) bool {
	switch {
	case p.personality == aicontenttest.SaysNo:
		return aicontent.OutcomeOf(err) == aicontent.OutcomeNotExecuted && len(p.srv.Records()) == 0
	case p.personality == aicontenttest.Rewritten && aicontent.OutcomeOf(err) == aicontent.OutcomeExecuted:
		p.excused = append(p.excused, renamedExcuse)
		return true
	}
	return slices.Contains(p.met, tooLateAct) && errors.As(err, new(*aicontent.ConflictError))
}

// errCut is the panic of an interrupted call, and its error.
var errCut = errors.New("the call ended in a panic")

type callKey struct{}

func (p *play) store(c *call) {
	defer func() {
		if failure := recover(); failure != nil {
			c.err = errCut
			p.check(failure == any(errCut), "panic: %v", failure)
		}
	}()
	ctx := c.ctx
	if ctx == nil {
		ctx = p.Context()
	}
	if c.patience > 0 {
		hurried, cancel := context.WithTimeout(ctx, c.patience)
		defer cancel()
		ctx = hurried
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	j := job{name: "job-1", description: "d"}
	if p.collection == "transcriptions" {
		j.file = audio
	}
	if c.process != nil {
		c.stored, c.err = j.store(ctx, nil, c.process.names)
	} else {
		c.stored, c.err = j.store(ctx, c.client, nil, aicontent.WithResponse(&c.response))
	}
}

// note is the first hook: it notes each attempt and what became of it.
func (p *play) note(ctx context.Context, told aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	c, ours := ctx.Value(callKey{}).(*call)
	if !ours {
		return func(r aicontent.AttemptResult) { p.budgets = append(p.budgets, r.Budget) }, nil
	}
	a := &attempt{Attempt: told, began: time.Now(), search: once.IsSearch(ctx)}
	c.attempts = append(c.attempts, a)
	return func(r aicontent.AttemptResult) {
		a.result, a.ended = r, time.Now()
		a.dones++
		p.interrupt(c, "done")
	}, nil
}

// arm is the second hook: it tells the service what goes wrong with the request that comes next.
func (p *play) arm(ctx context.Context, _ aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	c, ours := ctx.Value(callKey{}).(*call)
	if !ours {
		return nil, nil
	}
	p.interrupt(c, "hook")
	if p.isCut(c, "veto") {
		c.wasCut = true
		return nil, errCut
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := c.attempts[len(c.attempts)-1]
	a.sent = true
	p.srv.ClearFaults()
	name, fault := p.next(a)
	cut := p.mode != "panic" && (p.isCut(c, "sent") || p.isCut(c, p.moment) && p.leaves())
	if fault.Name == aicontenttest.RefuseConnection().Name && !cut {
		p.met = append(p.met, name)
		p.srv.Fault(fault) // refuses to be dialed
		return nil, nil
	}
	p.srv.FaultWhen(func(r *aicontenttest.Request) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.met = append(p.met, name)
		a.request = r.Number
		if cut {
			c.wasCut = true
			if p.leaves() {
				time.AfterFunc(latency/3, c.cut)
			} else {
				c.cut()
			}
		}
		return true
	}, 1, fault)
	return nil, nil
}

// middleware panics when a response is there.
func (p *play) middleware(next http.RoundTripper) http.RoundTripper {
	return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		c, ours := r.Context().Value(callKey{}).(*call)
		if ours && p.isCut(c, "sent") && err == nil {
			_ = resp.Body.Close()
		}
		if ours {
			p.interrupt(c, "sent")
		}
		return resp, err
	})
}

// isCut reports whether this is the attempt and the moment at which the sequence interrupts the call.
func (p *play) isCut(c *call, moment string) bool {
	attempts := len(c.attempts)
	if p.leaves() {
		attempts = len(c.stores())
	}
	return c.cut != nil && !c.wasCut && attempts == p.at && moment == p.moment
}

func (p *play) interrupt(c *call, moment string) {
	if p.isCut(c, moment) {
		c.wasCut = true
		c.cut()
	}
}

// next is what goes wrong with the request of an attempt, and its name.
func (p *play) next(a *attempt) (string, aicontenttest.Fault) {
	a.strike = strikes[0]
	verb := a.verb()
	switch {
	case p.calm:
	case verb == "store":
		if p.stores < len(p.strikes) {
			a.strike = p.strikes[p.stores]
		}
		p.stores++
	default:
		p.sought[verb]++
		for _, o := range p.obstacles {
			if o.verb == verb && o.meets(p.sought[verb], time.Since(p.start)) {
				return o.name, o.fault
			}
		}
	}
	return a.strike.name, a.strike.fault
}
