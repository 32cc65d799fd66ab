package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

const (
	settled  = 2 * time.Minute  // the settle time of processes
	margin   = 2 * time.Minute  // what a process that sends has in advance of it
	inFlight = 20 * time.Second // how long what was sent may be under way when its sender is gone
	allOver  = 30 * time.Minute // by when everything has happened
	holdUp   = 10 * time.Second // how long a process is held up while another one comes in between
	clock    = 55 * time.Second // how far apart clocks are that the settle time has room for
	apart    = 2 * time.Hour    // how far apart they are otherwise
	lifetime = 7 * time.Second  // of the processes that are killed one after the other once all others are dead

	most      = 5_000 // processes
	unlimited = -1    // for WithMaxWait
)

// A stage is where processes store one name: a service, a ledger, and the processes.
type stage struct {
	*course
	scene
	disk    *disk
	playing sync.WaitGroup // actors

	// under the lock
	moment    int // counts what happens, as many things happen at the same time
	actors    []*actor
	deals     []*deal // in the order in which they ended
	sends     []*send
	lives     []*life
	requests  int    // of the service
	fired     []bool // events
	disturbed time.Time
	killed    time.Time // when all were killed
}

// tick is the next moment. What the service has done since the last one has happened by then.
func (g *stage) tick() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moment++
	g.observe()
	return g.moment
}

// A deal is one call of a process that lived to see its end.
type deal struct {
	actor *actor
	verb  string // store, find, delete or plain
	stored
	cut          bool // its context ended
	err          error
	began, ended int // moments
	since, at    time.Time
}

// until is what the error says of it.
func (d *deal) until() (until time.Time) {
	if told := new(*once.Error); errors.As(d.err, told) {
		until = (*told).Until
	}
	return until
}

// An actor is a process. All that it does to the world goes through its ports, which are its ledger and its network.
type actor struct {
	*stage
	name     string
	disk     *disk
	patience time.Duration // of a call; 0 for no limit
	maxWait  time.Duration // of WithMaxWait
	punctual bool          // it calls again when the error says, and not before
	skew     time.Duration // how far its clock is ahead
	form     string        // of what it stores; empty for the first one
	client   *aicontent.Client
	names    *once.Client
	life     context.Context
	kill     context.CancelFunc

	// under the lock of the stage
	counts  map[string]int // of operations
	paused  time.Time      // until when it stands still
	down    time.Time      // until when its ledger is out of order
	offline time.Time      // until when it does not reach the service
	deal    *deal
	cut     context.CancelFunc // ends the context of the call
	sending *send              // nil where none is under way
	noted   time.Time          // when the last Put began that succeeded
	left    bool               // it has done what it came for
}

// actor returns a process like the given one, ready to play.
func (g *stage) actor(name string, like actor) *actor {
	a := &actor{
		stage: g, name: name, disk: like.disk, patience: like.patience, maxWait: like.maxWait, punctual: like.punctual,
		skew: like.skew, form: like.form, counts: map[string]int{},
	}
	if a.disk == nil {
		a.disk = g.disk
	}
	a.life, a.kill = context.WithCancel(g.Context())
	a.client = g.srv.Client(aicontent.WithMaxResponseSize(mostBytes), aicontent.WithMiddleware(a.network), drips)
	opts := []once.Option{once.WithSettleTime(settled)}
	if a.maxWait != unlimited {
		opts = append(opts, once.WithMaxWait(a.maxWait))
	}
	names, err := once.New(a.client, &port{a}, opts...)
	if err != nil {
		panic(err)
	}
	a.names = names
	g.mu.Lock()
	defer g.mu.Unlock()
	g.actors = append(g.actors, a)
	return a
}

// patient is a process whose calls wait for as long as they have to.
var patient = actor{maxWait: unlimited}

func (a *actor) dead() bool { return a.life.Err() != nil }

// die ends the process. Its successor begins at once, unless it has done what it came for.
func (a *actor) die() {
	a.mu.Lock()
	n, follows := len(a.actors), !a.left && !a.dead() && a.killed.IsZero() && len(a.actors) < most
	if follows {
		a.playing.Add(1) // until the successor plays
		defer a.playing.Done()
	}
	a.kill()
	like := *a
	a.mu.Unlock()
	if follows {
		a.actor(fmt.Sprint("s", n), like).plays("store")
	}
	a.check(n < most, "it takes %d processes", most)
}

// massacre kills all processes. Then one follows another, each of which is killed before the next one begins, until one
// has sent a request or returned the record. The last one is not killed.
func (a *actor) massacre() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.killed.IsZero() || a.calm {
		return
	}
	a.killed, a.disturbed = time.Now(), time.Now()
	for _, b := range a.actors {
		b.kill()
	}
	a.playing.Go(func() {
		for n := 0; !a.moved() && n < 300; n++ {
			b := a.actor(fmt.Sprint("m", n), patient)
			time.AfterFunc(lifetime, b.kill)
			b.play("store")
			<-b.life.Done()
		}
		a.check(a.moved(), "no process has sent, or found the record, after all were killed")
		a.actor("last", patient).play("store")
	})
}

// moved reports whether a request was sent, or a Store call has succeeded, since all were killed.
func (g *stage) moved() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.progress(), func(at time.Time) bool { return at.After(g.killed) })
}

// progress are the times at which a request was sent, or a Store call has succeeded, or ended as there is a record of
// another form.
func (g *stage) progress() (all []time.Time) {
	for _, s := range g.sends {
		all = append(all, s.at)
	}
	for _, d := range g.deals {
		if d.verb == "store" && (d.err == nil || g.conflicts(d) && !aicontent.Retryable(d.err)) {
			all = append(all, d.at)
		}
	}
	return all
}

// plays has the process call until it succeeds, or an error is not temporary.
func (a *actor) plays(verb string) {
	a.playing.Go(func() {
		a.play(verb)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.left = true
	})
}

// wait waits until nobody plays any more, and for the rest of the second.
func (g *stage) wait() {
	start := time.Now()
	g.playing.Wait()
	time.Sleep(time.Second - time.Since(start)%time.Second)
}

func (a *actor) play(verb string) {
	if life := traits[a.cast].life; life > 0 && !a.calm && a.killed.IsZero() {
		timer := time.AfterFunc(life, a.die)
		defer timer.Stop()
	}
	if verb == "try" || verb == "plain" {
		a.call(strings.Replace(verb, "try", "store", 1))
		return
	}
	for range 300 {
		d := a.call(verb)
		absent := verb == "find" && errors.Is(d.err, aicontent.ErrNotFound)
		if a.dead() || d.err == nil || absent || !aicontent.Retryable(d.err) {
			return
		}
		pause := 3 * time.Second
		if a.punctual {
			pause = max(pause, time.Until(d.until()))
		}
		_ = pass(a.life, pause)
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
	d := &deal{actor: a, verb: verb, began: a.tick(), since: time.Now()}
	a.mu.Lock()
	a.deal, a.cut = d, cut
	a.mu.Unlock()
	endless := time.AfterFunc(endless, func() {
		a.check(false, "%s's %s has no end", a.name, d.verb)
		cut()
	})
	defer endless.Stop()
	a.make(ctx, d)
	if !a.dead() {
		d.ended, d.at = a.tick(), time.Now()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deals = append(a.deals, d)
	}
	return d
}

// endless is how long no call takes.
const endless = 2 * time.Hour

// make makes the call.
func (a *actor) make(ctx context.Context, d *deal) {
	images := a.collection == "images"
	j := job{name: "job-1", description: "d" + a.form}
	if !images {
		j.file = wav(0)
	}
	switch {
	case d.verb == "store":
		d.stored, d.err = j.store(ctx, nil, a.names)
	case d.verb == "plain":
		d.stored, d.err = j.store(ctx, a.client, nil)
	case d.verb == "delete" && images:
		d.err = a.names.Images.Delete(ctx, j.name)
	case d.verb == "delete":
		d.err = a.names.Transcriptions.Delete(ctx, j.name)
	case images:
		image, err := a.names.Images.Find(ctx, j.name)
		if d.err = err; err == nil {
			d.id = image.ID
		}
	default:
		text, err := a.names.Transcriptions.Find(ctx, j.name)
		if d.err = err; err == nil {
			d.id = text.ID
		}
	}
}

// step is an operation of a process that is about to happen, with what the scene has for it.
type step struct {
	*actor
	op     string
	events []string
	was    bool // the process stood still before it
}

func (s *step) has(what string) bool { return slices.Contains(s.events, what) }

// takes is how long the operation takes because of an event.
func (s *step) takes() time.Duration {
	for _, what := range s.events {
		if text, found := strings.CutPrefix(what, "slow-"); found {
			return parsed(text)
		}
	}
	return 0
}

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
		if wait > 0 && a.sending != nil {
			a.sending.suspended = true
		}
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
	a.tick()
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
			if over := time.Now().Add(e.lasts()); over.After(a.disturbed) {
				a.disturbed = over
			}
			events = append(events, e)
		}
	}
	return events
}

// before is the moment before an operation.
func (a *actor) before(e event) {
	switch e.what {
	case "crash-before":
		a.die()
	case "massacre":
		a.massacre()
	case "cancel-before":
		a.leave()
	case "rival":
		a.actor("b", patient).plays("store")
	case "delete", "find":
		a.actor("b", patient).plays(e.what)
	case "other":
		other := patient
		other.form = "other"
		a.actor("b", other).plays("store")
	case "forget":
		a.disk.forget()
	case "elsewhere":
		elsewhere := patient
		elsewhere.disk = &disk{}
		a.actor("other", elsewhere).plays("store")
	case "plain":
		a.actor("other", patient).plays("plain")
	case "rename", "remove":
		a.meddle(e.what)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	over := time.Now().Add(e.lasts())
	switch {
	case strings.HasPrefix(e.what, "outage-"):
		a.down = over
	case strings.HasPrefix(e.what, "offline-"):
		a.offline = over
	case e.pause() > 0:
		a.paused = time.Now().Add(e.pause())
	}
}

// meddle is what somebody does who knows nothing of package once.
func (a *actor) meddle(what string) {
	for _, image := range a.srv.Images() {
		var err error
		id := image.ID
		if what == "rename" {
			_, err = a.srv.Client().Images.Update(a.Context(), id, aicontent.ImageUpdateParams{Name: new("renamed")})
		} else {
			err = a.srv.Client().Images.Delete(a.Context(), id)
		}
		a.check(err == nil, "somebody else: %v", err)
	}
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
