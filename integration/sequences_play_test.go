package integration

import (
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

// A play is a sequence that is carried out: Store calls for one name against a server of their own, to which it is the
// test.
type play struct {
	*testing.T // of the bubble
	sequence
	srv        *aicontenttest.Server
	start      time.Time
	complaints []string

	mu      sync.Mutex
	calm    bool           // nothing goes wrong any more
	met     []string       // strikes and obstacles
	sought  map[string]int // requests of searches by verb
	calls   []*call        // in the order in which they ended
	budgets []int          // of requests that belong to no call
	stores  int            // create requests
	twice   bool           // a call of WithOnce succeeded, and there are two records
	took    time.Duration
}

// A call is one Store call.
type call struct {
	client   *aicontent.Client
	ctx      context.Context
	once     bool
	since    time.Time // for WithOnceSince
	hurried  bool      // it has a deadline
	cut      func()    // interrupts it; nil where that is not planned
	wasCut   bool
	attempts []*attempt
	id       aicontent.ID
	err      error
	ended    time.Time
}

// An attempt is what the hook is told of it, and what the service was told to do.
type attempt struct {
	aicontent.Attempt
	result       aicontent.AttemptResult
	dones        int
	refused      bool   // by the hook, which has panicked
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
		client := modes[s.mode](p)
		p.took = time.Since(p.start)
		time.Sleep(allLate)
		p.judge()
		p.judgeHooks()
		p.judgeBudget(client)
	})
	return p
}

// Errorf is for the server, which finds requests that the API does not allow.
func (p *play) Errorf(format string, args ...any) { p.check(false, format, args...) }

func (p *play) check(holds bool, format string, args ...any) {
	if !holds {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.complaints = append(p.complaints, fmt.Sprintf(format, args...))
	}
}

// modes are the ways in which programs call Store. They return the client whose retry budget is looked at.
var modes = map[string]func(*play) *aicontent.Client{
	// A caller that tries once more.
	"plain": func(p *play) *aicontent.Client {
		c := call{client: p.client()}
		p.try(2, c)
		return c.client
	},
	// A job queue, which calls again.
	"once": func(p *play) *aicontent.Client {
		c := call{client: p.client(), once: true}
		p.try(2, c)
		return p.repair(c)
	},
	// A job queue with less patience than the settle time.
	"hurried": func(p *play) *aicontent.Client {
		c := call{client: p.client(), once: true}
		hurried := c
		hurried.hurried = true
		p.try(6, hurried)
		return p.repair(c)
	},
	// Two goroutines at once.
	"both": func(p *play) *aicontent.Client {
		c := call{client: p.client(), once: true}
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { p.try(1, c) })
			time.Sleep(time.Millisecond)
		}
		both.Wait()
		return p.repair(c)
	},
	// A process that dies, and the next one.
	"since": func(p *play) *aicontent.Client {
		ctx, die := context.WithCancel(p.Context())
		p.try(1, call{client: p.client(), once: true, ctx: ctx, cut: die})
		c := call{client: p.client(), once: true, since: time.Now()}
		p.try(2, c)
		return p.repair(c)
	},
	// A hook or a middleware that panics, and a program that survives it.
	"panic": func(p *play) *aicontent.Client {
		c := call{client: p.client(), once: true}
		panicking := c
		panicking.cut = func() { panic(errPanicked) }
		p.try(1, panicking)
		p.try(2, c)
		return p.repair(c)
	},
}

var errPanicked = errors.New("the call has ended in a panic")

// interrupting are the modes in which the first call is interrupted, at each of its attempts, and at what moments.
var interrupting = map[string][]string{
	"since": {"sent", "done"},
	"panic": {"hook", "sent", "done"},
}

func (p *play) client() *aicontent.Client {
	opts := []aicontent.Option{
		aicontent.WithSettleTime(settleTime), aicontent.WithMaxResponseSize(mostBytes), aicontent.WithAttemptHook(p.hook),
	}
	if p.mode == "panic" {
		opts = append(opts, aicontent.WithMiddleware(p.middleware))
	}
	return p.srv.Client(opts...)
}

// stores are the attempts that create.
func (c *call) stores() []*attempt {
	return slices.DeleteFunc(slices.Clone(c.attempts), func(a *attempt) bool { return a.Search || a.refused })
}

// try calls until a call succeeds, at most so many times.
func (p *play) try(times int, like call) {
	for range times {
		c := like
		p.store(&c)
		c.ended = time.Now()
		p.mu.Lock()
		p.calls = append(p.calls, &c)
		p.mu.Unlock()
		if c.err == nil {
			return
		}
	}
}

// repair makes a call after everything has gone wrong that may, which is what somebody does in the end.
func (p *play) repair(like call) *aicontent.Client {
	p.calm = true
	p.try(1, like)
	last := p.calls[len(p.calls)-1]
	late := slices.Contains(p.met, tooLateAct)
	p.check(last.err == nil || late && errors.Is(last.err, aicontent.ErrConflict), "cannot be repaired: %v", last.err)
	return like.client
}

type callKey struct{}

func (p *play) store(c *call) {
	defer func() {
		if failure := recover(); failure != nil {
			c.err = errPanicked
			p.check(failure == any(errPanicked), "panic: %v", failure)
		}
	}()
	ctx := c.ctx
	if ctx == nil {
		ctx = p.Context()
	}
	if c.hurried {
		hurried, cancel := context.WithTimeout(ctx, 7*time.Second)
		defer cancel()
		ctx = hurried
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	var opts []aicontent.CallOption
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

// hook notes each attempt, and tells the service what goes wrong with it.
func (p *play) hook(ctx context.Context, told aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	c, ours := ctx.Value(callKey{}).(*call)
	if !ours {
		return func(r aicontent.AttemptResult) { p.budgets = append(p.budgets, r.Budget) }, nil
	}
	a := &attempt{Attempt: told, began: time.Now(), refused: true}
	c.attempts = append(c.attempts, a)
	p.interrupt(c, "hook")
	a.refused = false
	p.arm(c, a)
	return func(r aicontent.AttemptResult) {
		a.result, a.ended = r, time.Now()
		a.dones++
		p.interrupt(c, "done")
	}, nil
}

func (p *play) middleware(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if c, ours := r.Context().Value(callKey{}).(*call); ours {
			defer func() {
				if failure := recover(); failure != nil {
					if err == nil {
						_ = resp.Body.Close()
					}
					panic(failure)
				}
			}()
			p.interrupt(c, "sent")
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// interrupt interrupts the call if it is at the attempt and the moment at which it is to be.
func (p *play) interrupt(c *call, moment string) {
	if c.cut != nil && !c.wasCut && len(c.attempts) == p.at && moment == p.moment {
		c.wasCut = true
		c.cut()
	}
}

// arm has the service do what the sequence says of the next request.
func (p *play) arm(c *call, a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.srv.ClearFaults()
	fault := p.next(a)
	if fault.Name == aicontenttest.RefuseConnection().Name && p.moment != "sent" {
		p.srv.Fault(fault) // refuses to be dialed
		return
	}
	p.srv.FaultWhen(func(r *aicontenttest.Request) bool {
		a.request = r.Number
		if p.mode == "since" {
			p.interrupt(c, "sent")
		}
		return true
	}, 1, fault)
}

func (p *play) next(a *attempt) aicontenttest.Fault {
	a.strike = strikes[0]
	_, verb, _ := strings.Cut(string(a.Operation), ".")
	switch {
	case p.calm:
	case verb == "store":
		if p.stores < len(p.strikes) {
			a.strike = p.strikes[p.stores]
		}
		p.stores++
		p.met = append(p.met, a.strike.name)
	default:
		p.sought[verb]++
		for _, o := range p.obstacles {
			if o.verb == verb && o.meets(p.sought[verb], time.Since(p.start)) {
				p.met = append(p.met, o.name)
				return o.fault
			}
		}
	}
	return a.strike.fault
}
