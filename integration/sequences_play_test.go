package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
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
		c := call{client: p.client(), once: true}
		p.try(2, c)
		p.repair(c)
	},
	// A job queue that has less patience than the settle time.
	"hurried": func(p *play) {
		c := call{client: p.client(), once: true}
		hurried := c
		hurried.patience = 7 * time.Second
		ended := false
		for tries := 0; !ended && tries < 30; tries++ {
			ended = p.try(1, hurried) || p.conflicts()
			time.Sleep(3 * time.Second)
		}
		p.check(ended, "a loop of short calls does not end")
		p.repair(c)
	},
	// Two goroutines at once.
	"both": func(p *play) {
		c := call{client: p.client(), once: true}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { p.try(1, c) })
			time.Sleep(time.Millisecond)
		}
		both.Wait()
		slices.SortFunc(p.calls, func(a, b *call) int {
			return cmp.Or(a.ended.Compare(b.ended), a.began.Compare(b.began)) // the second may end in the same moment
		})
		p.repair(c)
	},
	// A process that dies, and the next one.
	"since": func(p *play) {
		p.try(1, p.cancelled(call{client: p.client(), once: true}))
		c := call{client: p.client(), once: true, since: time.Now()}
		p.try(2, c)
		p.repair(c)
	},
	// A program that survives the panics and vetoes of its hook or middleware.
	"panic": func(p *play) {
		c := call{client: p.client(), once: true}
		panics := c
		panics.cut = func() { panic(errCut) }
		if !p.try(1, panics) {
			p.try(2, c)
		}
		p.repair(c)
	},
}

// interrupted are the modes whose first call is interrupted at each of its attempts in turn, and the moments: by a hook
// that panics or vetoes before it is sent, while it is on its way, and when it has ended.
var interrupted = map[string][]string{
	"cancelled": {"sent", "done"},
	"since":     {"sent", "done"},
	"panic":     {"hook", "veto", "sent", "done"},
}

// A play is a sequence that is carried out: Store calls for one name, and a server of their own, which takes it for the
// test.
type play struct {
	*testing.T // of the bubble
	sequence
	srv        *aicontenttest.Server
	start      time.Time
	took       time.Duration
	complaints []string

	mu      sync.Mutex
	calls   []*call        // in the order in which they ended
	stores  int            // create requests so far
	sought  map[string]int // requests of searches so far, by verb
	met     []string       // strikes and obstacles
	calm    bool           // nothing goes wrong any more
	budgets []int          // that requests of no call have found
	twice   bool           // WithOnce succeeded, and there are two records
}

// A call is one Store call.
type call struct {
	client   *aicontent.Client
	ctx      context.Context
	patience time.Duration // 0 for a context without a deadline
	once     bool
	since    time.Time // for WithOnceSince
	cut      func()    // interrupts the call; nil where that is not planned
	wasCut   bool

	attempts []*attempt
	id       aicontent.ID
	response *aicontent.Response
	err      error

	began, ended time.Time
}

// An attempt is what the hooks are told of it, and what the service was told to do.
type attempt struct {
	aicontent.Attempt
	result       aicontent.AttemptResult
	dones        int
	sent         bool   // no hook was against it
	strike       strike // of a create request
	request      int    // the server's number; 0 if none arrived
	began, ended time.Time
}

// carryOut plays a sequence in a bubble of its own.
func carryOut(t *testing.T, s sequence) (p *play) {
	defer func() {
		if failure := recover(); failure != nil {
			panic(fmt.Sprintf("%s: %v", s, failure))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		p = &play{T: t, sequence: s, start: time.Now(), sought: map[string]int{}}
		p.srv = aicontenttest.NewServer(p, aicontenttest.InMemoryNetwork())
		modes[s.mode](p)
		time.Sleep(allLate)
		synctest.Wait()
		p.took = time.Since(p.start)
		p.judge()
		p.judgeHooks()
		p.judgeBudget()
	})
	return p
}

// Errorf is what the server calls where a request is not allowed.
func (p *play) Errorf(format string, args ...any) { p.check(false, format, args...) }

func (p *play) check(holds bool, format string, args ...any) {
	if !holds {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.complaints = append(p.complaints, fmt.Sprintf(format, args...))
	}
}

func (p *play) client() *aicontent.Client {
	opts := []aicontent.Option{
		aicontent.WithSettleTime(settleTime), aicontent.WithMaxResponseSize(mostBytes),
		aicontent.WithAttemptHook(p.note), aicontent.WithAttemptHook(p.arm),
	}
	if p.mode == "panic" {
		opts = append(opts, aicontent.WithMiddleware(p.middleware))
	}
	return p.srv.Client(opts...)
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

// repair makes one more call, when nothing goes wrong any more: that is how a job ends well, whatever it has met.
func (p *play) repair(like call) {
	p.calm = true
	fine := p.try(1, like) || p.conflicts()
	p.check(fine, "cannot be repaired: %v", p.calls[len(p.calls)-1].err)
}

// conflicts reports whether the last call found two records, one of which was made after the settle time.
func (p *play) conflicts() bool {
	var conflict *aicontent.ConflictError
	return slices.Contains(p.met, tooLateAct) && errors.As(p.calls[len(p.calls)-1].err, &conflict)
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
	opts := []aicontent.CallOption{aicontent.WithResponse(&c.response)}
	switch {
	case !c.since.IsZero():
		opts = append(opts, aicontent.WithOnceSince(c.since))
	case c.once:
		opts = append(opts, aicontent.WithOnce())
	}
	if p.collection == "images" {
		params := aicontent.ImageStoreParams{Name: "job-1", Description: "d", Resolution: aicontent.Resolution256x256}
		record, err := c.client.Images.Store(ctx, params, opts...)
		if c.err = err; err == nil {
			c.id = record.ID
		}
		return
	}
	params := aicontent.TranscriptionStoreParams{Name: "job-1", File: audio}
	record, err := c.client.Transcriptions.Store(ctx, params, opts...)
	if c.err = err; err == nil {
		c.id = record.ID
	}
}

// note is the first hook: it notes each attempt and what became of it.
func (p *play) note(ctx context.Context, told aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	c, ours := ctx.Value(callKey{}).(*call)
	if !ours {
		return func(r aicontent.AttemptResult) { p.budgets = append(p.budgets, r.Budget) }, nil
	}
	a := &attempt{Attempt: told, began: time.Now()}
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
	cut := p.mode != "panic" && p.isCut(c, "sent")
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
			c.cut()
		}
		return true
	}, 1, fault)
	return nil, nil
}

// middleware panics when a response is there.
func (p *play) middleware(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// isCut reports whether this is the attempt and the moment at which the sequence interrupts the call.
func (p *play) isCut(c *call, moment string) bool {
	return c.cut != nil && !c.wasCut && len(c.attempts) == p.at && moment == p.moment
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
	_, verb, _ := strings.Cut(string(a.Operation), ".")
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
