package aicontenttest

import (
	"math/rand/v2"
	"sync"
)

// A plan is a fault that waits for its requests.
type plan struct {
	match func(*Request) bool // nil for any
	left  int
	fault Fault
}

// faults decides what goes wrong with which request.
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

// Fault lets the next request meet f.
func (s *Server) Fault(f Fault) { s.FaultN(1, f) }

// FaultN lets the next n requests of the API meet f, after those that were queued before.
func (s *Server) FaultN(n int, f Fault) { s.FaultWhen(nil, n, f) }

// FaultWhen lets the next n requests meet f that match picks; nil picks all. It is asked when
// the header has come, so form, file and all that follows are not known to it yet. It must
// not queue faults itself.
func (s *Server) FaultWhen(match func(*Request) bool, n int, f Fault) {
	if n < 1 {
		return
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans = append(s.faults.plans, &plan{match, n, f})
}

// RefuseConnections refuses the next n connections: over loopback each is reset before a byte
// was read from it, in memory dialing fails.
func (s *Server) RefuseConnections(n int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.refusals += n
}

// Chaos lets each request that no queued fault claims meet, with the probability rate, one of
// the faults given, or of [Faults]. The same seed and the same order of requests give the same
// faults. A test that fails logs the seed.
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

// ClearFaults forgets the faults that have not struck yet, and ends Chaos.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans, s.faults.refusals, s.faults.random = nil, 0, nil
}

// draw returns the fault that the request meets; acting and nothing else when there is none.
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
	return Fault{Acts: true, Place: BeforeAnswer}
}

// take wants the lock held.
func (f *faults) take(i int) Fault {
	p := f.plans[i]
	if p.left--; p.left <= 0 {
		f.plans = append(f.plans[:i:i], f.plans[i+1:]...)
	}
	return p.fault
}

// refuses decides about a new connection.
func (f *faults) refuses() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusals > 0 {
		f.refusals--
		return true
	}
	if len(f.plans) > 0 && f.plans[0].match == nil && f.plans[0].fault.kind == refusing {
		f.take(0)
		return true
	}
	return false
}

// refuseConnection decides about a new connection. A refused one stands in the book with all
// that is known of its request, which is the number of the connection.
func (s *Server) refuseConnection(number func() int) bool {
	if !s.faults.refuses() {
		return false
	}
	s.book.open(&Request{Connection: number(), Fault: RefuseConnection().Name})
	return true
}
