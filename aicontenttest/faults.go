package aicontenttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
)

// A plan is a queued fault.
type plan struct {
	fault       Fault
	match       func(*Request) bool // nil for any
	connections bool                // for connections, not requests
	left        int
	struck      bool
}

// faults assigns faults to requests.
type faults struct {
	mu     sync.Mutex
	plans  []*plan
	random *rand.Rand
	rate   float64
	drawn  []Fault
}

// Fault queues f for the next request.
func (s *Server) Fault(f Fault) { s.FaultN(1, f) }

// FaultN queues f for the next n requests, after the faults already queued. The minimum of n is 1.
func (s *Server) FaultN(n int, f Fault) { s.queue(plan{fault: f, left: n}) }

// FaultWhen queues f for the next n requests for which match returns true; a nil match accepts all. match gets the
// request before Form and the fields after it are set. It must not queue faults.
func (s *Server) FaultWhen(match func(*Request) bool, n int, f Fault) {
	s.queue(plan{fault: f, match: match, left: n})
}

// FaultOn queues f for the next n requests of the operation.
func (s *Server) FaultOn(op aicontent.Operation, n int, f Fault) {
	if !slices.Contains(contract.Operations, string(op)) {
		s.fatalf("FaultOn: unknown operation %q", op)
	}
	s.FaultWhen(func(r *Request) bool { return r.Operation == op }, n, f)
}

// RefuseConnections refuses the next n connections. Over loopback it resets them; in memory, dialing fails.
func (s *Server) RefuseConnections(n int) {
	s.queue(plan{fault: RefuseConnection(), connections: true, left: n})
}

func (s *Server) queue(p plan) {
	if p.left < 1 {
		s.fatalf("the fault %q: n must be at least 1, not %d", p.fault.Name, p.left)
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans = append(s.faults.plans, &p)
}

// Chaos draws a fault for each request without a queued one, with the probability rate from 0 to 1. The default for
// faults is [Faults]. The same seed and order of requests draw the same faults. A failed test logs the seed.
func (s *Server) Chaos(seed uint64, rate float64, faults ...Fault) {
	if !(rate >= 0 && rate <= 1) { // NaN is neither
		s.fatalf("Chaos: the rate must be from 0 to 1, not %v", rate)
	}
	if len(faults) == 0 {
		faults = Faults()
	}
	f := s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.random, f.rate, f.drawn = rand.New(rand.NewPCG(seed, seed)), rate, faults
	if s.t != nil {
		s.t.Cleanup(func() {
			if s.failed(true) {
				s.t.Logf("aicontenttest: replay %s with Chaos(%d, %v, …)", s.t.Name(), seed, rate)
			}
		})
	}
}

// ClearFaults removes queued faults, ends Chaos and accepts connections again.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans, s.faults.random = nil, nil
}

// reportUnused fails the test for each queued fault that has never struck: the test has not tested it. A test that has
// failed already may have ended before.
func (s *Server) reportUnused() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.config.unusedFaults || s.failed(false) {
		return
	}
	for _, p := range s.faults.plans {
		if !p.struck {
			s.t.Errorf("aicontenttest: the fault %q has struck no request; UnusedFaults permits that", p.fault.Name)
		}
	}
}

// failed reports whether the test has failed, or otherwise if the test cannot tell.
func (s *Server) failed(otherwise bool) bool {
	if t, ok := s.t.(interface{ Failed() bool }); ok {
		return t.Failed()
	}
	return otherwise
}

// draw returns the fault for the request. Without a fault it returns a Fault that acts.
func (f *faults) draw(r Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.plans {
		if !p.connections && (p.match == nil || p.match(&r)) {
			return f.strike(p)
		}
	}
	if f.random != nil && f.random.Float64() < f.rate {
		return f.drawn[f.random.IntN(len(f.drawn))]
	}
	return Fault{Acts: true, Place: BeforeResponse}
}

// strike requires the lock.
func (f *faults) strike(p *plan) Fault {
	p.struck = true
	if p.left--; p.left == 0 {
		f.plans = slices.DeleteFunc(f.plans, func(other *plan) bool { return other == p })
	}
	return p.fault
}

// refuses reports whether to refuse a new connection.
func (f *faults) refuses() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.plans {
		if p.connections || i == 0 && p.match == nil && p.fault.kind == network.Refuses {
			f.strike(p)
			return true
		}
	}
	return false
}

// refuseConnection reports whether to refuse a new connection. It records a refused one as a request without details.
func (s *Server) refuseConnection() bool {
	if !s.faults.refuses() {
		return false
	}
	s.book.open(&Request{Fault: RefuseConnection().Name})
	return true
}

// fatalf ends the test, or panics after [Start].
func (s *Server) fatalf(format string, args ...any) {
	text := fmt.Sprintf("aicontenttest: "+format, args...)
	if s.t == nil {
		panic(text)
	}
	s.t.Helper()
	s.t.Fatalf("%s", text)
}
