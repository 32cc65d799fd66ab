package integration

import (
	"bytes"
	"context"
	"encoding/json"
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
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

var (
	errDisk = errors.New("the ledger is out of order")
	errLine = errors.New("the line is dead")
)

// port is the ledger of a process.
type port struct{ *actor }

func (p *port) Get(ctx context.Context, key string) ([]byte, string, error) {
	s, err := p.step("get")
	if err != nil {
		return nil, "", err
	}
	switch {
	case p.out() || s.has("fail"):
		return nil, "", errDisk
	case s.takes() > 0:
		err = pass(ctx, s.takes())
	case !s.was:
		err = ctx.Err()
	}
	if err != nil {
		return nil, "", err
	}
	entry, version := p.disk.get(key, s.has("restored"))
	if err := s.done(); err != nil {
		return nil, "", err
	}
	return shifted(entry, -p.skew), version, nil
}

func (p *port) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	began := time.Now()
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
		return "", errors.Join(errDisk, pass(ctx, hung))
	case s.has("crash-late"):
		later()
		p.die()
		return "", errKilled
	case s.takes() > 0:
		err = pass(ctx, s.takes())
	case !s.was:
		err = ctx.Err()
	}
	if err != nil {
		return "", err
	}
	next, err := put()
	if err == nil && s.has("answer-1m30s") {
		time.Sleep(90 * time.Second)
	}
	if s.has("changed") && err == nil {
		return "", fmt.Errorf("disk: %w", once.ErrChanged)
	}
	if err := s.done(); err != nil {
		return "", err
	}
	if err == nil {
		p.notes(began)
	}
	return next, err
}

// hung is how long a Put hangs whose context does not end.
const hung = 10 * time.Minute

// out reports whether the process cannot reach its ledger.
func (p *port) out() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.down)
}

// notes remembers when the last Put began of which the process knows that it was written.
func (p *port) notes(began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noted = began
	if p.sending != nil {
		p.sending.noted = began
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
	at      time.Time
	Until   time.Time // what the entry says
}

// get returns the latest entry, or the one before it.
func (d *disk) get(key string, restored bool) ([]byte, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.entries[key]
	if restored && len(all) > 0 {
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
	next := written{entry: bytes.Clone(entry), version: fmt.Sprint("v", d.last), at: time.Now()}
	if err := json.Unmarshal(entry, &next); err != nil {
		return "", err
	}
	d.entries[key] = append(all, next)
	return next.version, nil
}

func (d *disk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = nil
}

// until is the latest time of which an entry that was written by then has said that a record may come until then, and
// how far ahead of the Put an entry has set it.
func (d *disk) until(by time.Time) (latest time.Time, ahead time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, all := range d.entries {
		for _, w := range all {
			if w.at.After(by) {
				break
			}
			if w.Until.After(latest) {
				latest = w.Until
			}
			ahead = max(ahead, w.Until.Sub(w.at))
		}
	}
	return latest, ahead
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

const (
	strikeHeader = "X-Strike"
	sendHeader   = "X-Send"
	actorHeader  = "X-Actor" // of the requests of processes
)

// A send is one create request.
type send struct {
	deal      *deal
	strike    strike
	began     int // moment
	at        time.Time
	ended     time.Time // zero while it is under way
	noted     time.Time // when the last Put of the process began that has succeeded before the end
	suspended bool      // the process stood still meanwhile

	created bool // the service has said so
}

// network is the middleware of a process.
func (a *actor) network(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		op := map[string]string{http.MethodPost: "store", http.MethodDelete: "remove", http.MethodGet: "list"}[r.Method]
		if op == "list" && !strings.HasSuffix(r.URL.Path, a.collection) {
			op = "show"
		}
		r.Header.Set(actorHeader, a.name)
		var sent *send
		if op == "store" {
			sent = a.send(r)
		}
		resp, err := a.roundTrip(op, r, next)
		if sent != nil {
			a.mu.Lock()
			a.sending, sent.ended = nil, time.Now()
			sent.created = err == nil && resp.StatusCode == http.StatusCreated && sent.strike.name == "ok"
			if err == nil {
				resp.Body = &watched{resp.Body, r.Context(), sent}
			}
			a.mu.Unlock()
		}
		return resp, err
	})
}

// A watched body tells if a response is cut off that nothing is wrong with.
type watched struct {
	io.ReadCloser
	ctx  context.Context
	send *send
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if g := w.send.deal.actor.stage; err != nil && w.ctx.Err() != nil {
		g.check(!g.undisturbed(w.send), "%s's request was cut off: %v", w.send.deal.actor.name, context.Cause(w.ctx))
	}
	return n, err
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
	case s.has("fail") || op != "store" && a.cutOff():
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
		time.AfterFunc(a.works()/2, a.die)
	case s.has("cancel-during"):
		time.AfterFunc(a.works()/2, a.leave)
	}
	resp, err := next.RoundTrip(r)
	if err == nil && s.takes() > 0 {
		resp, err = delayed(r.Context(), resp, s.takes())
	}
	if err := s.done(); err != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, err
	}
	return resp, err
}

// delayed is a response that was made, and comes only after some time.
func delayed(ctx context.Context, resp *http.Response, by time.Duration) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		err = pass(ctx, by)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// cutOff reports whether the process cannot reach the service.
func (a *actor) cutOff() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.offline)
}

// send notes a create request, and says what goes wrong with it.
func (a *actor) send(r *http.Request) *send {
	began := a.tick()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &send{deal: a.deal, strike: strikes[0], began: began, at: time.Now(), noted: a.noted}
	if n := len(a.sends); n < len(a.strikes) && !a.calm {
		s.strike = a.strikes[n]
	}
	a.judgeSend(s)
	a.sending = s
	a.sends = append(a.sends, s)
	r.Header.Set(strikeHeader, s.strike.name)
	r.Header.Set(sendHeader, fmt.Sprint(len(a.sends)-1))
	return s
}

// A life is what becomes of a record.
type life struct {
	id      aicontent.ID
	send    *send
	born    time.Time
	died    int  // the first moment at which it was gone; 0 if it is there
	outside bool // it was deleted without package once
}

// observe looks at what the service has done. It wants the lock held.
func (g *stage) observe() {
	for i, r := range g.srv.Records() {
		if i == len(g.lives) {
			n, err := strconv.Atoi(g.srv.Requests()[r.Request-1].Header.Get(sendHeader))
			if err != nil {
				panic(err)
			}
			g.lives = append(g.lives, &life{id: r.ID, send: g.sends[n], born: time.Now()})
		}
		if l := g.lives[i]; r.DeletedBy != 0 && l.died == 0 {
			l.died = g.moment
			l.outside = g.srv.Requests()[r.DeletedBy-1].Header.Get(actorHeader) == ""
		}
	}
}

// A service is how one behaves.
type service struct {
	works       time.Duration // how long it takes for a create request
	listsLag    bool          // lists show a record only just before the settle time is over
	showLags    bool          // so does Show
	flickers    bool          // only every second response lags
	drops       bool          // it drops a request whose client is gone
	personality aicontenttest.Personality
	lists       string // what they are, if that is always the same
	blind       bool   // lists never show a record
	excuse      string // why it need not end well
}

var services = map[string]service{
	"quick":   {works: 100 * time.Millisecond},
	"prompt":  {works: 2 * time.Second},
	"beats":   {works: 75 * time.Second}, // for two beats
	"slow":    {works: 210 * time.Second},
	"slower":  {works: 5 * time.Minute}, // than the settle time allows
	"drops":   {works: 200 * time.Second, listsLag: true, drops: true},
	"lets-go": {works: 100 * time.Second, listsLag: true, drops: true},
	"lists":   {works: 2 * time.Second, listsLag: true},
	"replica": {works: 2 * time.Second, listsLag: true, showLags: true},
	"flicker": {works: 35 * time.Second, listsLag: true, showLags: true, flickers: true},

	"blind":    {works: 75 * time.Second, lists: `{"data":[]}`, blind: true},
	"nameless": {works: 2 * time.Second, lists: `{"data":[{"id":7}]}`, excuse: namelessExcuse},
	"renaming": {works: 2 * time.Second, personality: aicontenttest.Rewritten, excuse: renamingExcuse},
}

// works is how long the service takes for a create request.
func (s scene) works() time.Duration { return services[s.service].works }

// lateness is how long after its request ended a record may be missing: less than the settle time, and the difference
// of the clocks.
func (s scene) lateness() time.Duration {
	late := settled - time.Second
	if traits[s.cast].skewed {
		late -= clock
	}
	return late
}

// seen is when the last of lists and Show has the record; a time that is far away if its request is still under way.
func (g *stage) seen(l *life) time.Time {
	s := services[g.service]
	switch seen := l.send.ended.Add(g.lateness()); {
	case !s.listsLag || !seen.After(l.born):
		return l.born
	case l.send.ended.IsZero():
		return l.born.Add(allOver)
	default:
		return seen
	}
}

// responds makes a service show what it had some time ago, if it is such a service.
func (g *stage) responds(r *aicontenttest.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.observe()
	s := services[g.service]
	if r.Request.Method != http.MethodGet || !s.listsLag {
		return
	}
	if g.requests++; s.flickers && g.requests%2 == 0 {
		return
	}
	hidden := func(id aicontent.ID) bool {
		return slices.ContainsFunc(g.lives, func(l *life) bool {
			return l.id == id && g.seen(l).After(time.Now())
		})
	}
	switch list, _ := r.JSON().(map[string]any); {
	case strings.HasSuffix(r.Request.Path, g.collection):
		records, _ := list["data"].([]any)
		list["data"] = slices.DeleteFunc(records, func(record any) bool {
			return hidden(aicontent.ID(fmt.Sprint(record.(map[string]any)["id"])))
		})
		r.SetJSON(list)
	case s.showLags && hidden(r.Request.RecordID):
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
	if lists := services[g.service].lists; lists != "" {
		g.srv.FaultWhen(func(r *aicontenttest.Request) bool {
			return strings.HasSuffix(string(r.Operation), ".list")
		}, math.MaxInt, says(200, lists))
	}
}
