package service

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Fault is something that goes wrong with one request.
type Fault int

// The faults, in the order in which a request meets them. Those up to ResetBeforeActing and the refusals leave nothing
// made.
const (
	ResetAtOnce       Fault = iota // the connection is reset before anything is read
	ResetInHeader                  // while the request's header is on its way
	ResetBeforeActing              // when the request is complete
	BadGatewayBefore               // a proxy's 502, and the service never saw the request
	Unavailable                    // 503 with Retry-After
	RateLimited                    // 429 with Retry-After
	Portal                         // a page with 200, as a captive portal or a login page gives
	BadGatewayAfter                // a proxy's 502, and the service made the record
	LostResponse                   // the record is made, the connection closed without a response
	ResetAfterActing               // the record is made, the connection reset
	ResetInResponse                // the record is made, the connection reset in the middle of the response
	FaultCount                     // how many there are
)

var faultNames = [FaultCount]string{
	"reset at once", "reset in header", "reset before acting", "502, not made", "503 with Retry-After",
	"429 with Retry-After", "page with 200", "502, made", "response lost", "reset after acting", "reset in response",
}

func (f Fault) String() string { return faultNames[f] }

// makes reports whether the service makes the record all the same.
func (f Fault) makes() bool { return f >= BadGatewayAfter && f < FaultCount }

// Plan is what goes wrong with one operation: a fault for each of its first attempts. What comes after them succeeds.
type Plan []Fault

// Plans draws n plans. The same seed gives the same plans to every client. Every fault comes equally often as the
// first; a third of the operations meet a second one.
func Plans(seed uint64, n int) []Plan {
	random := rand.New(rand.NewPCG(seed, 1))
	plans := make([]Plan, n)
	for i := range plans {
		plans[i] = Plan{Fault(i % int(FaultCount))}
		if random.IntN(3) == 0 {
			plans[i] = append(plans[i], Fault(random.IntN(int(FaultCount))))
		}
	}
	return plans
}

// Faulty is a service for one operation, on a separate port, that follows a plan. Each response closes its connection,
// so that every attempt dials.
type Faulty struct {
	URL  string
	wire Wire

	mu       sync.Mutex
	plan     Plan
	made     map[string]int // records by name
	requests int
	server   *http.Server
}

// NewFaulty starts the service; Close ends it.
func NewFaulty(w Wire, plan Plan) (*Faulty, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Faulty{URL: "http://" + listener.Addr().String(), wire: w, plan: plan, made: map[string]int{}}
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go func() { _ = f.server.Serve(&faultyListener{listener, f}) }()
	return f, nil
}

// Close ends the service.
func (f *Faulty) Close() error { return f.server.Close() }

// Made is how many records of the name there are.
func (f *Faulty) Made(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made[name]
}

// Requests is how many requests, connections that were reset included, came.
func (f *Faulty) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// next takes the plan's next fault, where it is one that is wanted here.
func (f *Faulty) next(wanted func(Fault) bool) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.plan) == 0 || !wanted(f.plan[0]) {
		return 0, false
	}
	fault := f.plan[0]
	f.plan = f.plan[1:]
	return fault, true
}

// faultyListener makes the faults that come before there is a request.
type faultyListener struct {
	net.Listener
	faulty *Faulty
}

func (l *faultyListener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.faulty.count()
		fault, found := l.faulty.next(func(f Fault) bool { return f <= ResetInHeader })
		if !found {
			return nc, nil
		}
		go func() {
			if fault == ResetInHeader {
				_, _ = io.ReadFull(nc, make([]byte, 16))
			}
			reset(nc)
		}()
	}
}

func (f *Faulty) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
}

// reset closes a connection so that the peer reads a reset and not an end.
func reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = nc.Close()
}

// ServeHTTP makes the faults of a request, and lists what was made: a client may look before it repeats.
func (f *Faulty) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", "application/json")
	if req.Method == http.MethodGet {
		if id, err := strconv.Atoi(path.Base(req.URL.Path)); err == nil {
			send(w, http.StatusOK, f.shown(id))
			return
		}
		send(w, http.StatusOK, f.found(req.URL.Query().Get("search")))
		return
	}
	name := nameOf(f.wire, req, body)
	fault, found := f.next(func(Fault) bool { return true })
	if !found || fault.makes() {
		f.mu.Lock()
		f.made[name]++
		f.mu.Unlock()
	}
	if !found {
		send(w, http.StatusCreated, Created(f.wire, 8, false))
		return
	}
	f.fail(w, fault)
}

func (f *Faulty) fail(w http.ResponseWriter, fault Fault) {
	switch fault {
	case BadGatewayBefore, BadGatewayAfter:
		f.refuse(w, http.StatusBadGateway)
	case Unavailable:
		f.refuse(w, http.StatusServiceUnavailable)
	case RateLimited:
		f.refuse(w, http.StatusTooManyRequests)
	case Portal:
		w.Header().Set("Content-Type", "text/html")
		send(w, http.StatusOK, []byte("<html><head><title>Log in</title></head><body>Please log in.</body></html>"))
	default:
		nc, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		switch fault {
		case LostResponse:
			_ = nc.Close()
			return
		case ResetInResponse:
			body := Created(f.wire, 8, false)
			fmt.Fprintf(buffered, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", len(body), body[:len(body)/2])
			_ = buffered.Flush()
		}
		reset(nc)
	}
}

func (f *Faulty) refuse(w http.ResponseWriter, status int) {
	if status == http.StatusBadGateway {
		w.Header().Set("Content-Type", "text/html")
	} else {
		w.Header().Set("Retry-After", "1")
	}
	send(w, status, []byte(Refusal(f.wire, status)))
}

// found is a list of the records with the name, in this project's format: no other client looks.
func (f *Faulty) found(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list bytes.Buffer
	list.WriteString(`{"data":[`)
	for i := range f.made[name] {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString(madeRecord(8+i, name))
	}
	fmt.Fprintf(&list, `],"meta":{"current_page":1,"last_page":1,"per_page":100,"total":%d}}`, f.made[name])
	return list.Bytes()
}

// shown is the record with an id, which a client that looks asks for once it has found it. A service has records of one
// name.
func (f *Faulty) shown(id int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.made {
		return []byte(`{"data":` + madeRecord(id, name) + `}`)
	}
	return []byte(`{"data":null}`)
}

// Down responds to each request as a gateway does that cannot reach the service, and counts it in requests.
func Down(requests *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "text/html")
		send(w, http.StatusBadGateway, []byte(Refusal(Native, http.StatusBadGateway)))
	})
}

func madeRecord(id int, name string) string {
	return fmt.Sprintf(`{"id":%d,"name":%q,"description":"a tower","resolution":"512x512"}`, id, name)
}
