package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

const (
	settled  = 2 * time.Minute  // the settle time of processes, more than all that delays a record
	working  = 2 * time.Second  // how long their service takes for a create request
	inFlight = 20 * time.Second // how long what was sent may be under way when its sender is gone
	allOver  = 30 * time.Minute // by when everything has happened
	holdUp   = 10 * time.Second // how long a process is held up while another one comes in between

	most = 5_000 // processes

	// The lease while a request is under way, and by how much clocks may differ.
	leaseTime, clockTime = 5 * time.Minute, time.Minute
)

// A stage is where processes store one name: a service, a ledger, and the processes.
type stage struct {
	*testing.T // of the bubble
	scene
	srv   *aicontenttest.Server
	disk  *disk
	start time.Time

	mu         sync.Mutex
	moment     int // counts what happens, as many things happen at the same time
	actors     []*actor
	playing    int     // actors
	deals      []*deal // in the order in which they ended
	sends      []*send
	fired      []bool // events
	disturbed  time.Time
	created    time.Time // the latest record
	calm       bool      // nothing goes wrong any more
	complaints []string
	excused    []string
	took       time.Duration // until the name was finished
	all        time.Duration
}

// Errorf is what the server calls where a request is not allowed.
func (g *stage) Errorf(format string, args ...any) { g.check(false, format, args...) }

func (g *stage) check(holds bool, format string, args ...any) bool {
	if !holds {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.complaints = append(g.complaints, fmt.Sprintf(format, args...))
	}
	return holds
}

func (g *stage) tick() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moment++
	return g.moment
}

// A deal is one call of a process that lived to see its end.
type deal struct {
	actor        *actor
	verb         string // store, find or delete
	id           aicontent.ID
	found        bool
	cut          bool // its context ended
	err          error
	began, ended int // moments
	at           time.Time
}

// A send is one create request.
type send struct {
	deal   *deal
	strike strike
	began  int // moment
	at     time.Time
	ended  time.Time // zero while it is under way

	created bool // the service has said so
}

// An actor is a process. All that it does to the world goes through its ports, which are its ledger and its network.
type actor struct {
	*stage
	name     string
	patience time.Duration // of a call; 0 for no limit
	skew     time.Duration // how far its clock is ahead
	names    *once.Client
	life     context.Context
	kill     context.CancelFunc

	// under the lock of the stage
	counts map[string]int // of operations
	paused time.Time      // until when it stands still
	down   time.Time      // until when its ledger is out of order
	deal   *deal
	cut    context.CancelFunc // ends the context of the call
	left   bool               // it has done what it came for
}

func (g *stage) actor(name string, disk *disk) *actor {
	a := &actor{stage: g, name: name, counts: map[string]int{}}
	a.life, a.kill = context.WithCancel(g.Context())
	client := g.srv.Client(aicontent.WithMaxResponseSize(mostBytes), aicontent.WithMiddleware(a.network))
	names, err := once.New(client, &port{a, disk}, once.WithSettleTime(settled))
	if err != nil {
		panic(err)
	}
	a.names = names
	g.mu.Lock()
	defer g.mu.Unlock()
	g.actors = append(g.actors, a)
	return a
}

func (a *actor) dead() bool { return a.life.Err() != nil }

// die ends the process. Its successor begins at once, unless it has done what it came for.
func (a *actor) die() {
	a.mu.Lock()
	n, follows := len(a.actors), !a.left && !a.dead() && len(a.actors) < most
	if follows {
		a.playing++
	}
	a.kill()
	a.mu.Unlock()
	if follows {
		next := a.actor(fmt.Sprint("s", n), a.disk)
		next.patience, next.skew = a.patience, a.skew
		go next.perform("store")
	}
	a.check(n < most, "it takes %d processes", most)
}

// plays has the process call until it succeeds, or an error is not temporary.
func (a *actor) plays(verb string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.playing++
	go a.perform(verb)
}

func (a *actor) perform(verb string) {
	a.play(verb)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = true
	a.playing--
}

// wait waits until nobody plays any more.
func (g *stage) wait() {
	for playing := 1; playing > 0; {
		time.Sleep(time.Second)
		g.mu.Lock()
		playing = g.playing
		g.mu.Unlock()
	}
}

func (a *actor) play(verb string) {
	if life, found := strings.CutPrefix(a.cast, "relay-"); found && !a.calm {
		timer := time.AfterFunc(parsed(life), a.die)
		defer timer.Stop()
	}
	if verb == "try" {
		a.call("store")
		return
	}
	for range 300 {
		d := a.call(verb)
		absent := verb == "find" && errors.Is(d.err, aicontent.ErrNotFound)
		if a.dead() || d.err == nil || absent || !aicontent.Temporary(d.err) {
			return
		}
		time.Sleep(3 * time.Second)
	}
	a.check(false, "%s: temporary for ever: %v", a.name, a.deal.err)
}

// call makes a call, and notes it if the process lives to see its end.
func (a *actor) call(verb string) *deal {
	ctx, cut := context.WithCancel(a.life)
	defer cut()
	if a.patience > 0 && !a.calm {
		ctx, cut = context.WithTimeout(ctx, a.patience)
		defer cut()
	}
	d := &deal{actor: a, verb: verb, began: a.tick()}
	a.mu.Lock()
	a.deal, a.cut = d, cut
	a.mu.Unlock()
	if a.collection == "images" {
		a.image(ctx, d)
	} else {
		a.text(ctx, d)
	}
	if !a.dead() {
		d.ended, d.at = a.tick(), time.Now()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deals = append(a.deals, d)
	}
	return d
}

func (a *actor) image(ctx context.Context, d *deal) {
	var image *aicontent.Image
	switch d.verb {
	case "store":
		params := aicontent.ImageStoreParams{Name: "job-1", Description: "d", Resolution: aicontent.Resolution256x256}
		image, d.found, d.err = a.names.Images.Store(ctx, params)
	case "find":
		image, d.err = a.names.Images.Find(ctx, "job-1")
	case "delete":
		d.err = a.names.Images.Delete(ctx, "job-1")
	}
	if image != nil {
		d.id = image.ID
	}
}

func (a *actor) text(ctx context.Context, d *deal) {
	var text *aicontent.Transcription
	switch d.verb {
	case "store":
		params := aicontent.TranscriptionStoreParams{Name: "job-1", File: sound}
		text, d.found, d.err = a.names.Transcriptions.Store(ctx, params)
	case "find":
		text, d.err = a.names.Transcriptions.Find(ctx, "job-1")
	case "delete":
		d.err = a.names.Transcriptions.Delete(ctx, "job-1")
	}
	if text != nil {
		d.id = text.ID
	}
}

var sound = aicontent.FileFromBytes("a.wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt "))

var (
	errDisk = errors.New("the ledger is out of order")
	errLine = errors.New("the line is dead")
)

// step is an operation of a process that is about to happen, with what the scene has for it.
type step struct {
	*actor
	op     string
	events []string
	was    bool // the process stood still before it
}

func (s *step) has(what string) bool { return slices.Contains(s.events, what) }

// step waits until the process may act, and returns an error if it is dead.
func (a *actor) step(op string) (*step, error) {
	s := &step{actor: a, op: op}
	if a.dead() {
		return nil, errKilled
	}
	for _, e := range a.meets(op) {
		s.events = append(s.events, e.what)
		a.before(e)
	}
	time.Sleep(time.Duration(1+len(a.name)+int(a.name[0]-'a')) * time.Millisecond) // no two act at the same moment
	for {
		a.mu.Lock()
		wait := time.Until(a.paused)
		a.mu.Unlock()
		if wait <= 0 {
			break
		}
		s.was = true
		time.Sleep(wait)
	}
	if a.dead() {
		return nil, errKilled
	}
	return s, nil
}

// done is the moment after the operation.
func (s *step) done() error {
	switch {
	case s.has("crash-after"):
		s.die()
	case s.has("cancel-after"):
		s.leave()
	}
	if s.dead() {
		return errKilled
	}
	return nil
}

// leave ends the context of the call.
func (a *actor) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deal.cut = true
	a.cut()
}

// meets are the events that the scene has for the next operation of this kind.
func (a *actor) meets(op string) (events []event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calm {
		return nil
	}
	a.counts[op]++
	for i, e := range a.scene.events {
		if e.who == a.name && e.op == op && e.n == a.counts[op] && !a.fired[i] {
			a.fired[i] = true
			a.disturbed = time.Now().Add(e.lasts())
			events = append(events, e)
		}
	}
	return events
}

// before is the moment before an operation.
func (a *actor) before(e event) {
	pause := e.pause()
	switch e.what {
	case "crash-before":
		a.die()
	case "cancel-before":
		a.leave()
	case "rival", "delete", "find":
		b := a.actor("b", a.disk)
		b.plays(map[string]string{"rival": "store", "delete": "delete", "find": "find"}[e.what])
	case "outage-20s", "outage-6m":
		a.mu.Lock()
		a.down = time.Now().Add(e.lasts())
		a.mu.Unlock()
	case "forget":
		a.disk.forget()
	case "elsewhere":
		other := a.actor("other", &disk{})
		other.plays("store")
	case "rename":
		for _, image := range a.srv.Images() {
			params := aicontent.ImageUpdateParams{Name: new("renamed")}
			_, err := a.srv.Client().Images.Update(a.life, aicontent.ID(image.ID), params)
			a.check(err == nil, "somebody else: %v", err)
		}
	}
	if pause > 0 {
		a.mu.Lock()
		a.paused = time.Now().Add(pause)
		a.mu.Unlock()
	}
}

// port is the ledger of a process.
type port struct {
	*actor
	disk *disk
}

func (p *port) Get(ctx context.Context, key string) ([]byte, string, error) {
	s, err := p.step("get")
	if err != nil {
		return nil, "", err
	}
	switch {
	case p.out() || s.has("fail"):
		return nil, "", errDisk
	case s.has("slow"):
		err = pass(ctx, inFlight)
	case !s.was:
		err = ctx.Err()
	}
	if err != nil {
		return nil, "", err
	}
	entry, version := p.disk.get(key, s.has("stale"))
	if err := s.done(); err != nil {
		return nil, "", err
	}
	return shifted(entry, -p.skew), version, nil
}

func (p *port) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	s, err := p.step("put")
	if err != nil {
		return "", err
	}
	entry = shifted(entry, p.skew)
	put := func() (string, error) { return p.disk.put(key, entry, version) }
	later := func() { time.AfterFunc(inFlight, func() { _, _ = put() }) }
	switch {
	case p.out() || s.has("fail"):
		return "", errDisk
	case s.has("fail-written"):
		_, _ = put()
		return "", errDisk
	case s.has("fail-late"):
		later()
		return "", errDisk
	case s.has("hang"):
		later()
		<-ctx.Done()
		return "", ctx.Err()
	case s.has("crash-late"):
		later()
		p.die()
		return "", errKilled
	case s.has("slow"):
		err = pass(ctx, 3*time.Second)
	case !s.was:
		err = ctx.Err()
	}
	if err != nil {
		return "", err
	}
	next, err := put()
	if s.has("changed") && err == nil {
		next, err = "", fmt.Errorf("disk: %w", once.ErrChanged)
	}
	if err := s.done(); err != nil {
		return "", err
	}
	return next, err
}

// out reports whether the process cannot reach its ledger.
func (p *port) out() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.down)
}

// pass waits, unless the context ends first.
func pass(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	strikeHeader = "X-Strike"
	sendHeader   = "X-Send"
)

// network is the middleware of a process.
func (a *actor) network(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		op := map[string]string{http.MethodPost: "store", http.MethodDelete: "remove", http.MethodGet: "list"}[r.Method]
		if op == "list" && !strings.HasSuffix(r.URL.Path, a.collection) {
			op = "show"
		}
		var sent *send
		if op == "store" {
			sent = a.send(r)
		}
		resp, err := a.roundTrip(op, r, next)
		if sent != nil {
			a.mu.Lock()
			sent.ended = time.Now()
			sent.created = err == nil && resp.StatusCode == http.StatusCreated && sent.strike.name == "ok"
			a.mu.Unlock()
		}
		return resp, err
	})
}

func (a *actor) roundTrip(op string, r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if op == "store" && a.pauses() { // What stands still has the whole request in its hands.
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	s, err := a.step(op)
	if err != nil {
		_ = r.Body.Close()
		return nil, err
	}
	switch {
	case s.was && op == "store": // It had checked its context before it stood still.
		r, next = r.WithContext(context.WithoutCancel(r.Context())), a.srv.HTTPClient().Transport
	case s.has("fail"):
		_ = r.Body.Close()
		return nil, errLine
	case s.has("fail-late"), s.has("crash-late"):
		body, _ := io.ReadAll(r.Body)
		later := r.Clone(context.WithoutCancel(r.Context()))
		later.Body = io.NopCloser(bytes.NewReader(body))
		hc := a.srv.HTTPClient()
		time.AfterFunc(inFlight, func() {
			if resp, err := hc.Transport.RoundTrip(later); err == nil {
				_ = resp.Body.Close()
			}
		})
		if s.has("crash-late") {
			a.die()
			return nil, errKilled
		}
		return nil, errLine
	case s.has("crash-during"):
		time.AfterFunc(working/2, a.die)
	case s.has("cancel-during"):
		time.AfterFunc(working/2, a.leave)
	}
	resp, err := next.RoundTrip(r)
	if err := s.done(); err != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, err
	}
	return resp, err
}

// send notes a create request, and says what goes wrong with it.
func (a *actor) send(r *http.Request) *send {
	began := a.tick()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &send{deal: a.deal, strike: strikes[0], began: began, at: time.Now()}
	if n := len(a.sends); n < len(a.strikes) && !a.calm {
		s.strike = a.strikes[n]
	}
	a.sends = append(a.sends, s)
	r.Header.Set(strikeHeader, s.strike.name)
	r.Header.Set(sendHeader, fmt.Sprint(len(a.sends)-1))
	return s
}

// lags are how long nobody sees a record, by cast.
var lags = map[string]time.Duration{"lagging": time.Minute, "replica": replicaLag}

const replicaLag = 100 * time.Second

// acted notes when a record was created, whether or not anybody heard of it.
func (g *stage) acted(r aicontenttest.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method == http.MethodPost && r.Acted {
		g.created = time.Now()
	}
}

// lag makes a service show what it had some time ago, if the cast is for that.
func (g *stage) lag(r *aicontenttest.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case r.Request.Method != http.MethodGet || time.Since(g.created) >= lags[g.cast]:
	case strings.HasSuffix(r.Request.Path, g.collection):
		r.SetJSON(map[string]any{"data": []any{}})
	case g.cast == "replica":
		r.Status = http.StatusNotFound
		r.SetJSON(map[string]any{"message": "Not Found"})
	}
}

// arm tells the service what goes wrong with the requests that say so.
func (g *stage) arm() {
	for _, s := range g.strikes {
		g.srv.FaultWhen(func(r *aicontenttest.Request) bool { return r.Header.Get(strikeHeader) == s.name },
			math.MaxInt, s.fault)
	}
	if g.cast == "blind" {
		blind := says(200, `{"data":[]}`)
		g.srv.FaultWhen(func(r *aicontenttest.Request) bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return strings.HasSuffix(string(r.Operation), ".list")
		}, math.MaxInt, blind)
	}
}

// A disk is a ledger that remembers all that was ever put.
type disk struct {
	mu      sync.Mutex
	last    int
	entries map[string][]written
}

type written struct {
	entry   []byte
	version string
}

// get returns the latest entry, or the one before it.
func (d *disk) get(key string, stale bool) ([]byte, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.entries[key]
	if stale && len(all) > 0 {
		all = all[:len(all)-1]
	}
	if len(all) == 0 {
		return nil, ""
	}
	return bytes.Clone(all[len(all)-1].entry), all[len(all)-1].version
}

func (d *disk) put(key string, entry []byte, version string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, now := d.entries[key], ""
	if len(all) > 0 {
		now = all[len(all)-1].version
	}
	if version != now {
		return "", once.ErrChanged
	}
	if d.entries == nil {
		d.entries = map[string][]written{}
	}
	d.last++
	next := written{bytes.Clone(entry), fmt.Sprint("v", d.last)}
	d.entries[key] = append(all, next)
	return next.version, nil
}

func (d *disk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = nil
}

var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*Z"`)

// shifted is an entry as it is to a clock that is ahead.
func shifted(entry []byte, by time.Duration) []byte {
	if by == 0 {
		return entry
	}
	return times.ReplaceAllFunc(entry, func(text []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
		if err != nil {
			panic(err)
		}
		return []byte(at.Add(by).Format(`"` + time.RFC3339Nano + `"`))
	})
}
