package integration

import (
	"errors"
	"slices"
	"time"

	"github.com/aicontent/aicontent-go"
)

// judge holds a scene against five sentences:
//
//  1. A name has at most one record.
//  2. No call says that there is no record if one is there or is still to come.
//  3. A call that succeeds returns the record: the right ID, and in the form of the call.
//  4. No wait is longer than the time for which a request may be open, and a minute.
//  5. Calls that are repeated while their errors are retryable end with the record, unless the service refuses it.
func (g *stage) judge() {
	g.tick()
	for _, l := range g.lives {
		others := slices.DeleteFunc(g.open(l.send.began), func(other *life) bool { return other == l })
		g.check(len(others) == 0, "%s requests %s beside %s", l.name, l.id, ids(others))
	}
	for _, d := range g.deals {
		g.judgeDeal(d)
	}
	g.judgeWaits()
}

// open returns the records that are there at a moment, or whose requests are under way.
func (g *stage) open(moment int) (open []*life) {
	for _, l := range g.lives {
		if l.send.began <= moment && (l.died == 0 || l.died > moment) {
			open = append(open, l)
		}
	}
	return open
}

func ids(lives []*life) (list []aicontent.ID) {
	for _, l := range lives {
		list = append(list, l.id)
	}
	return list
}

// judgeDeal judges sentences 2, 3 and 5.
func (g *stage) judgeDeal(d *deal) {
	open, outcome := g.open(d.ended), aicontent.OutcomeOf(d.err)
	wrong := func(why string) { g.check(false, "%s's %s of %v %s: %v", d.name, d.verb, ids(open), why, d.err) }
	switch {
	case d.verb == "delete" && d.err == nil:
		if !g.wasFree(d) {
			wrong("says that there is none")
		}
	case d.err == nil:
		g.judgeRecord(d, wrong)
	case outcome == aicontent.OutcomeNotExecuted || errors.Is(d.err, aicontent.ErrNotFound):
		if len(open) > 0 {
			wrong("says that there is none")
		}
	case outcome == aicontent.OutcomeExecuted:
		if !slices.ContainsFunc(g.lives, func(l *life) bool { return l.send.began < d.ended }) {
			wrong("says that there is one")
		}
	}
	if d.err != nil && d.verb != "find" && !aicontent.Retryable(d.err) && !g.refused(d) {
		wrong("gave up")
	}
}

// wasFree reports whether the name had no record, and no request, at a moment of the call.
func (g *stage) wasFree(d *deal) bool {
	for moment := d.began; moment <= d.ended; moment++ {
		if len(g.open(moment)) == 0 {
			return true
		}
	}
	return false
}

// judgeRecord judges sentence 3.
func (g *stage) judgeRecord(d *deal, wrong func(string)) {
	i := slices.IndexFunc(g.lives, func(l *life) bool { return l.id == d.id })
	switch {
	case i < 0 || g.lives[i].send.began > d.ended:
		wrong("returned " + string(d.id))
	case g.lives[i].died > 0 && g.lives[i].died <= d.began:
		wrong("returned a deleted record")
	case g.lives[i].form != d.form && d.verb == "store":
		wrong("returned a record of another form")
	case d.found && g.lives[i].deal == d:
		wrong("found the record that it created")
	case !d.found && d.verb == "store" && !slices.ContainsFunc(g.sends, func(s *send) bool { return s.deal == d }):
		wrong("created a record without a request")
	}
}

// refused reports whether the service refused a request of the call, or the record has another form.
func (g *stage) refused(d *deal) bool {
	if errors.Is(d.err, aicontent.ErrConflict) {
		return slices.ContainsFunc(g.sends, func(s *send) bool { return s.form != d.form })
	}
	return slices.ContainsFunc(g.sends, func(s *send) bool { return s.deal == d && s.strike.image == nobody })
}

// judgeWaits judges sentence 4: no restart begins a wait again.
func (g *stage) judgeWaits() {
	longest := margin + settled + time.Minute
	if casts[g.cast].skewed {
		longest += clock
	}
	slices.SortFunc(g.progress, time.Time.Compare)
	for i, at := range g.progress[1:] {
		wait := at.Sub(g.progress[i])
		g.took = max(g.took, wait)
		g.check(wait <= longest, "nothing went on for %v until %v", wait, at.Sub(g.start))
	}
}

// end judges sentence 5: nothing goes wrong any more, and the last process stores the record and finds it.
func (g *stage) end() {
	g.mu.Lock()
	g.calm = true
	g.mu.Unlock()
	g.goesOn(time.Now())
	var last *deal
	for _, form := range []string{"", "other"} {
		last = g.actor("z", habits{form: form}).play("store")
		if !errors.Is(last.err, aicontent.ErrConflict) {
			break
		}
	}
	g.check(last.err == nil, "cannot be stored in the end: %v", last.err)
	found := g.actor("reader", habits{}).play("find")
	g.check(found.id == last.id, "%s cannot be found in the end: %s, %v", last.id, found.id, found.err)
}
