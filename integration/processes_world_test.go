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
	"strconv"
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

const (
	settled  = 2 * time.Minute  // the settle time of the processes
	margin   = 2 * time.Minute  // added to it in an announcement
	inFlight = 20 * time.Second // how long an operation of a dead process takes to arrive
	holdUp   = 10 * time.Second // how long a process pauses while another one overtakes it
	clock    = 55 * time.Second // the allowed difference of two clocks
	endless  = 2 * time.Hour    // no call takes so long
	allOver  = 30 * time.Minute // after it, no request and no write is under way
)

// A service creates a record in some time. Lists and Show may lag: they show a record shortly before the settle time is
// over.
type service struct {
	works       time.Duration
	lags        bool
	flickers    bool // only every second response lags
	empty       bool // no list ever shows a record
	personality aicontenttest.Personality
}

var services = map[string]service{
	"prompt":  {works: 2 * time.Second},
	"beats":   {works: 75 * time.Second},              // for two renewals
	"slow":    {works: 210 * time.Second, lags: true}, // a request that is not announced is cut off before
	"replica": {works: 2 * time.Second, lags: true},
	"flicker": {works: 8 * time.Second, lags: true, flickers: true},

	// Package once does not cover these.
	"slower":   {works: 5 * time.Minute},
	"unlisted": {works: 75 * time.Second, empty: true},
	"renaming": {works: 2 * time.Second, personality: aicontenttest.Rewritten},
}

// A stage has a service, a ledger, and the processes that use them to store one name.
type stage struct {
	*course
	scene
	service service
	ledger  once.Ledger
	playing sync.WaitGroup

	// under the lock
	moment   int // orders events that happen at the same time
	fired    []bool
	deals    []*deal
	sends    []*send
	lives    []*life
	progress []time.Time
	gets     int // of the service
}

// A deal is a call of a process that lived to see its end.
type deal struct {
	*actor
	verb         string // store, find, delete or plain
	id           aicontent.ID
	found        bool
	err          error
	began, ended int // moments
}

// A send is a create request.
type send struct {
	*deal
	strike strike
	began  int       // moment
	ended  time.Time // zero while it is under way
}

// A life is that of a record.
type life struct {
	*send
	id   aicontent.ID
	born time.Time
	died int // the first moment without it; 0 if it is there
}

// perform plays a scene in a bubble of its own.
func perform(t *testing.T, s scene) (g *stage) {
	inBubble(t, s, func(c *course) {
		g = &stage{course: c, scene: s, service: services[s.service], ledger: once.InMemory()}
		g.fired = make([]bool, len(s.events))
		opts := []aicontenttest.Option{
			aicontenttest.InMemoryNetwork(), aicontenttest.UnusedFaults(), aicontenttest.OnResponse(g.responds),
			aicontenttest.LatencyOn(aicontent.ImagesStore, g.service.works),
		}
		if g.service.personality != "" {
			opts = append(opts, g.service.personality)
		}
		g.srv = aicontenttest.NewServer(g, opts...)
		for _, s := range g.strikes {
			g.srv.FaultWhen(func(r *aicontenttest.Request) bool { return r.Header.Get("X-Strike") == s.name },
				math.MaxInt, s.fault)
		}
		casts[s.cast].play(g)
		g.playing.Wait()
		g.end()
		time.Sleep(allOver)
		synctest.Wait()
		g.judge()
	})
	return g
}

// tick returns the next moment. It notes what the service has done since the last one.
func (g *stage) tick() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moment++
	g.observe()
	return g.moment
}

// observe notes the records that the service has created and deleted. The caller holds the lock.
func (g *stage) observe() {
	for i, r := range g.srv.Records() {
		if i == len(g.lives) {
			n, err := strconv.Atoi(g.srv.Requests()[r.Request-1].Header.Get("X-Send"))
			if err != nil {
				panic(err)
			}
			g.lives = append(g.lives, &life{send: g.sends[n], id: r.ID, born: time.Now()})
		}
		if r.DeletedBy != 0 && g.lives[i].died == 0 {
			g.lives[i].died = g.moment
		}
	}
}

// responds hides the records that a service does not show yet.
func (g *stage) responds(r *aicontenttest.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.observe()
	if r.Request.Method != http.MethodGet || !g.service.lags && !g.service.empty {
		return
	}
	if g.gets++; g.service.flickers && g.gets%2 == 0 {
		return
	}
	list, _ := r.JSON().(map[string]any)
	if records, ok := list["data"].([]any); ok {
		list["data"] = slices.DeleteFunc(records, func(record any) bool {
			return g.hides(aicontent.ID(fmt.Sprint(record.(map[string]any)["id"])))
		})
		r.SetJSON(list)
	} else if g.hides(r.Request.RecordID) && !g.service.empty {
		r.Status = http.StatusNotFound
		r.SetJSON(map[string]any{"message": "Not Found"})
	}
}

// hides reports whether a record is not shown yet. The caller holds the lock.
func (g *stage) hides(id aicontent.ID) bool {
	lag := settled - time.Second
	if casts[g.cast].skewed {
		lag -= clock
	}
	return slices.ContainsFunc(g.lives, func(l *life) bool {
		late := l.ended.IsZero() || time.Since(l.ended) < lag
		return l.id == id && (late || g.service.empty)
	})
}

// habits are those of a process, and of its successors.
type habits struct {
	maxWait time.Duration // of WithMaxWait; 0 for no limit
	life    time.Duration // after it, the process is killed; 0 for never
	skew    time.Duration // how far its clock is ahead
	form    string        // the description of its image
	ledger  once.Ledger   // nil for that of the stage
}

// An actor is a process. Nothing of it reaches the ledger or the service after it was killed.
type actor struct {
	*stage
	habits
	name  string
	names *once.Client
	life  context.Context
	kill  context.CancelFunc

	// under the lock of the stage
	counts map[string]int // of operations
	paused time.Time      // until then the process is suspended
	down   time.Time      // until then its ledger fails
	deal   *deal
	cut    context.CancelFunc // ends the context of the call
}

// actor starts a process.
func (g *stage) actor(name string, h habits) *actor {
	a := &actor{stage: g, habits: h, name: name, counts: map[string]int{}}
	if a.habits.ledger == nil {
		a.habits.ledger = g.ledger
	}
	a.life, a.kill = context.WithCancel(g.Context())
	opts := []once.Option{once.WithSettleTime(settled)}
	if h.maxWait > 0 {
		opts = append(opts, once.WithMaxWait(h.maxWait))
	}
	names, err := once.New(g.srv.Client(aicontent.WithMiddleware(a.network)), a, opts...)
	if err != nil {
		panic(err)
	}
	a.names = names
	return a
}

// plays has a process make calls. A process that is killed has a successor: a2 follows a, and a3 follows a2.
func (g *stage) plays(name string, h habits, verb string) {
	g.goesOn(time.Now())
	g.playing.Go(func() {
		successor := name
		for n := 2; n < 300; n++ {
			a := g.actor(successor, h)
			a.play(verb)
			if a.life.Err() == nil {
				return
			}
			successor = fmt.Sprint(name, n)
		}
		g.check(false, "%s and its successors have no end", name)
	})
}

// play makes calls until one succeeds or is not retryable.
func (a *actor) play(verb string) *deal {
	if a.habits.life > 0 && !a.calm {
		timer := time.AfterFunc(a.habits.life, a.kill)
		defer timer.Stop()
	}
	for range 300 {
		d := a.call(verb)
		if d.err == nil || a.life.Err() != nil || !aicontent.Retryable(d.err) || verb == "plain" {
			return d
		}
		select {
		case <-time.After(max(3*time.Second, time.Until(aicontent.RetryAt(d.err)))):
		case <-a.life.Done():
		}
	}
	a.check(false, "%s: retryable for ever: %v", a.name, a.deal.err)
	return a.deal
}

// call makes a call.
func (a *actor) call(verb string) *deal {
	ctx, cut := context.WithCancel(a.life)
	defer cut()
	d := &deal{actor: a, verb: verb, began: a.tick()}
	a.mu.Lock()
	a.deal, a.cut = d, cut
	a.mu.Unlock()
	timer := time.AfterFunc(endless, func() {
		a.check(false, "%s's %s has no end", a.name, verb)
		cut()
	})
	defer timer.Stop()
	params := aicontent.ImageStoreParams{Name: "job-1", Description: "d" + a.form, Resolution: "256x256"}
	var image *aicontent.Image
	switch verb {
	case "store":
		image, d.found, d.err = a.names.Images.Store(ctx, params)
	case "plain":
		image, d.err = a.srv.Client(aicontent.WithMiddleware(a.network)).Images.Store(ctx, params)
	case "delete":
		d.err = a.names.Images.Delete(ctx, params.Name)
	case "find":
		image, d.err = a.names.Images.Find(ctx, params.Name)
	}
	if image != nil {
		d.id = image.ID
	}
	if a.life.Err() == nil {
		d.ended = a.tick()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deals = append(a.deals, d)
		if d.err == nil || !aicontent.Retryable(d.err) {
			a.progress = append(a.progress, time.Now())
		}
	}
	return d
}

var errFails = errors.New("out of order")

// act carries out an operation of the process, with the event that the scene has for it. The operation gets free if
// the end of the context can no longer stop it.
func (a *actor) act(ctx context.Context, op string, operation func(free bool)) error {
	if a.life.Err() != nil {
		return errKilled
	}
	what, when := a.meet(op)
	if when == "before" {
		if err := a.befall(what); err != nil {
			return err
		}
	}
	free := a.stand()
	a.mu.Lock()
	fails := time.Now().Before(a.down) && (op == "get" || op == "put")
	a.mu.Unlock()
	switch {
	case a.life.Err() != nil:
		return errKilled
	case fails:
		return errFails
	case !free && ctx.Err() != nil:
		return ctx.Err()
	}
	switch when {
	case "late":
		time.AfterFunc(inFlight, func() { operation(true) })
		return a.befall(what)
	case "during":
		time.AfterFunc(a.service.works/2, func() { _ = a.befall(what) })
	}
	a.tick()
	operation(free)
	if when == "after" {
		return a.befall(what)
	}
	if a.life.Err() != nil {
		return errKilled
	}
	return nil
}

// befall kills the process, ends its call, or returns the error of its operation.
func (a *actor) befall(what string) error {
	switch what {
	case "kill":
		a.kill()
		return errKilled
	case "fail":
		return errFails
	}
	a.cut()
	return nil
}

// meet begins the event that the scene has for an operation. It returns the parts of the event's name.
func (a *actor) meet(op string) (what, when string) {
	a.mu.Lock()
	a.counts[op]++
	i := slices.IndexFunc(a.scene.events, func(e event) bool {
		return e.who == a.name && e.op == op && e.n == a.counts[op]
	})
	if i < 0 || a.fired[i] || a.calm {
		a.mu.Unlock()
		return "", ""
	}
	a.fired[i] = true
	what, when, _ = strings.Cut(a.scene.events[i].what, "-")
	lasts, err := time.ParseDuration(when)
	if err != nil { // because the event has a moment, and no duration
		lasts = inFlight
	}
	switch what {
	case "pause":
		a.paused = time.Now().Add(lasts)
	case "outage":
		a.down = time.Now().Add(lasts)
	case "rival", "delete":
		a.paused = time.Now().Add(holdUp)
	}
	a.mu.Unlock()
	for lasting := time.Duration(0); lasting <= lasts; lasting += inFlight {
		a.goesOn(time.Now().Add(lasting))
	}
	switch what {
	case "rival":
		a.plays("b", habits{}, "store")
	case "delete":
		a.plays("b", habits{}, "delete")
	default:
		a.strays(what)
	}
	return what, when
}

// strays does to the name what package once does not cover.
func (a *actor) strays(what string) {
	switch what {
	case "plain":
		a.plays("other", habits{}, "plain")
	case "elsewhere":
		a.plays("other", habits{ledger: once.InMemory()}, "store")
	case "forget":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stage.ledger = once.InMemory()
		a.habits.ledger = a.stage.ledger
	case "rename":
		for _, image := range a.srv.Images() {
			update := aicontent.ImageUpdateParams{Name: new("other")}
			_, err := a.srv.Client().Images.Update(a.Context(), image.ID, update)
			a.check(err == nil, "rename: %v", err)
		}
	}
}

// stand waits until the process may act, and reports whether the process was suspended. No two processes act at the
// same time.
func (a *actor) stand() (suspended bool) {
	time.Sleep(time.Duration(1+len(a.name)+int(a.name[0]-'a')) * time.Millisecond)
	for {
		a.mu.Lock()
		wait := time.Until(a.paused)
		a.mu.Unlock()
		if wait <= 0 {
			return suspended
		}
		suspended = true
		time.Sleep(wait)
	}
}

// goesOn notes that a request begins or ends, that a call has a result, or that an event begins or ends.
func (g *stage) goesOn(at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress = append(g.progress, at)
}

// Get is that of the process's ledger.
func (a *actor) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	failed := a.act(ctx, "get", func(bool) {
		entry, version, err = a.habits.ledger.Get(context.WithoutCancel(ctx), key)
	})
	if failed != nil {
		return nil, "", failed
	}
	return shifted(entry, -a.skew), version, err
}

// Put is that of the process's ledger.
func (a *actor) Put(ctx context.Context, key string, entry []byte, version string) (next string, err error) {
	entry = shifted(entry, a.skew)
	failed := a.act(ctx, "put", func(bool) {
		next, err = a.habits.ledger.Put(context.WithoutCancel(ctx), key, entry, version)
	})
	if failed != nil {
		return "", failed
	}
	return next, err
}

var times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*Z"`)

// shifted returns an entry as a clock that is ahead writes it.
func shifted(entry []byte, by time.Duration) []byte {
	return times.ReplaceAllFunc(entry, func(text []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
		if err != nil {
			panic(err)
		}
		return []byte(at.Add(by).Format(`"` + time.RFC3339Nano + `"`))
	})
}

// network is the middleware of the process.
func (a *actor) network(next http.RoundTripper) http.RoundTripper {
	return fakes.RoundTripper(func(r *http.Request) (resp *http.Response, err error) {
		op := map[string]string{http.MethodPost: "store", http.MethodDelete: "remove", http.MethodGet: "list"}[r.Method]
		if op == "list" && !strings.HasSuffix(r.URL.Path, "/images") {
			op = "show"
		}
		var form []byte
		if op == "store" {
			form, _ = io.ReadAll(r.Body)
			_ = r.Body.Close()
			sent := a.sends(r)
			defer func() {
				a.mu.Lock()
				defer a.mu.Unlock()
				sent.ended = time.Now()
				a.progress = append(a.progress, sent.ended)
			}()
		}
		failed := a.act(r.Context(), op, func(free bool) {
			request, transport := r.Clone(r.Context()), next
			if free { // because the request has left the process
				request, transport = r.Clone(context.WithoutCancel(r.Context())), a.srv.HTTPClient().Transport
			}
			if form != nil {
				request.Body = io.NopCloser(bytes.NewReader(form))
			}
			resp, err = transport.RoundTrip(request)
			if err == nil {
				var body []byte
				body, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				resp.Body = io.NopCloser(bytes.NewReader(body))
			}
		})
		if failed != nil {
			return nil, failed
		}
		return resp, err
	})
}

// sends notes a create request, and tells the service what goes wrong with it.
func (a *actor) sends(r *http.Request) *send {
	began := a.tick()
	a.goesOn(time.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.stage.sends)
	s := &send{deal: a.deal, strike: strikes[0], began: began}
	if n < len(a.strikes) && !a.calm {
		s.strike = a.strikes[n]
	}
	a.stage.sends = append(a.stage.sends, s)
	r.Header.Set("X-Strike", s.strike.name)
	r.Header.Set("X-Send", strconv.Itoa(n))
	return s
}
