package aicontenttest

import (
	"math/rand/v2"
	"sync"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
)

// A plan is a queued fault.
type plan struct {
	match func(*Request) bool // nil for any
	left  int
	fault Fault
}

// faults assigns faults to requests.
type faults struct {
	mu       sync.Mutex
	plans    []*plan
	refusals int

	random *rand.Rand
	rate   float64
	drawn  []Fault

	t TB
}

func newFaults(t TB) *faults { return &faults{t: t} }

// Fault queues f for the next request.
func (s *Server) Fault(f Fault) { s.FaultN(1, f) }

// FaultN queues f for the next n requests, after the faults already queued.
func (s *Server) FaultN(n int, f Fault) { s.FaultWhen(nil, n, f) }

// FaultWhen queues f for the next n requests for which match returns true; a nil match accepts all. match gets the
// request before Form and the fields after it are set. It must not queue faults.
func (s *Server) FaultWhen(match func(*Request) bool, n int, f Fault) {
	if n < 1 {
		return
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans = append(s.faults.plans, &plan{match, n, f})
}

// FaultOn queues f for the next n requests of the operation.
func (s *Server) FaultOn(op Operation, n int, f Fault) {
	s.FaultWhen(func(r *Request) bool { return r.Operation == op }, n, f)
}

// RefuseConnections refuses the next n connections. Over loopback it resets them; in memory, dialing fails.
func (s *Server) RefuseConnections(n int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.refusals += n
}

// Chaos draws a fault for each request without a queued one, with the probability rate from 0 to 1. The default for
// faults is [Faults]. The same seed and order of requests draw the same faults. A failed test logs the seed.
func (s *Server) Chaos(seed uint64, rate float64, faults ...Fault) {
	if len(faults) == 0 {
		faults = Faults()
	}
	f := s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.random, f.rate, f.drawn = rand.New(rand.NewPCG(seed, seed)), rate, faults
	if f.t != nil {
		f.t.Cleanup(func() {
			if failed, ok := f.t.(interface{ Failed() bool }); !ok || failed.Failed() {
				f.t.Logf("aicontenttest: replay %s with Chaos(%d, %v, …)", f.t.Name(), seed, rate)
			}
		})
	}
}

// ClearFaults removes queued faults, ends Chaos and accepts connections again.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans, s.faults.refusals, s.faults.random = nil, 0, nil
}

// draw returns the fault for the request. Without a fault it returns a Fault that acts.
func (f *faults) draw(r Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.plans {
		if p.match == nil || p.match(&r) {
			return f.take(i)
		}
	}
	if f.random != nil && f.random.Float64() < f.rate {
		return f.drawn[f.random.IntN(len(f.drawn))]
	}
	return Fault{Acts: true, Place: BeforeResponse}
}

// take requires the lock.
func (f *faults) take(i int) Fault {
	p := f.plans[i]
	if p.left--; p.left <= 0 {
		f.plans = append(f.plans[:i:i], f.plans[i+1:]...)
	}
	return p.fault
}

// refuses reports whether to refuse a new connection.
func (f *faults) refuses() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusals > 0 {
		f.refusals--
		return true
	}
	if len(f.plans) > 0 && f.plans[0].match == nil && f.plans[0].fault.kind == network.Refuses {
		f.take(0)
		return true
	}
	return false
}

// refuseConnection reports whether to refuse a new connection. It records a refused one as a request without details.
func (s *Server) refuseConnection(number int) bool {
	if !s.faults.refuses() {
		return false
	}
	s.book.open(&Request{Connection: number, Fault: RefuseConnection().Name})
	return true
}
