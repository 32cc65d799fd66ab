package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// What no ledger can do, in the words of the package documentation.
const (
	apartExcuse     = "clocks differ by more than the settle time has room for"
	blindExcuse     = "lists never show the record"
	namelessExcuse  = "lists have no names"
	renamingExcuse  = "the service changes names"
	idlessExcuse    = "a Done without an ID whose Put failed"
	entryExcuse     = "somebody deletes or restores an entry"
	elsewhereExcuse = "a program stores the name with another ledger"
	plainExcuse     = "a program stores the name without the ledger"
	renameExcuse    = "somebody renames the record before its ID is known"
	removeExcuse    = "somebody deletes the record without package once"
	lateExcuse      = "the service is slower than the settle time"
	suspendedExcuse = "a process is suspended between its note and the end of its request"
)

var excuses = []string{
	apartExcuse, blindExcuse, namelessExcuse, renamingExcuse, idlessExcuse, entryExcuse, elsewhereExcuse, plainExcuse,
	renameExcuse, removeExcuse, lateExcuse, suspendedExcuse,
}

// excuse is why there may be two records, or a call may say what is wrong. It is empty for the scenes that must end
// well.
func (s scene) excuse() string {
	service := services[s.service]
	switch excuse := cmp.Or(traits[s.cast].excuse, service.excuse); {
	case excuse != "":
		return excuse
	case service.blind && s.told() && slices.ContainsFunc(s.events, event.silences):
		return idlessExcuse
	case service.blind && (!s.told() || slices.ContainsFunc(s.events, event.elsewhere)):
		return blindExcuse
	}
	for _, e := range s.events {
		switch e.what {
		case "forget", "restored":
			return entryExcuse
		case "elsewhere":
			return elsewhereExcuse
		case "plain":
			return plainExcuse
		case "rename":
			return renameExcuse
		}
	}
	return ""
}

// silences reports whether no Put succeeds for a while.
func (e event) silences() bool { return strings.HasPrefix(e.what, "outage") }

// elsewhere reports whether it happens to another operation than a Put.
func (e event) elsewhere() bool { return e.op != "put" }

// told reports whether the service says of each request that it created a record.
func (s scene) told() bool {
	return !slices.ContainsFunc(s.strikes, func(s strike) bool { return s.name != "ok" && s.name != "act-201-empty" })
}

// pauses reports whether a process stands still.
func (s scene) pauses() bool {
	return slices.ContainsFunc(s.events, func(e event) bool { return e.pause() > 0 })
}

// excuse is that of the scene, or what has become of a request.
func (g *stage) excuse() string {
	if excuse := g.scene.excuse(); excuse != "" {
		return excuse
	}
	for _, l := range g.lives {
		switch s, seen := l.send, g.seen(l); {
		case s.suspended && seen.After(s.noted.Add(g.reach())):
			return suspendedExcuse
		case !s.suspended && !s.ended.IsZero() && seen.Sub(s.ended) > g.lateness()+time.Second:
			return lateExcuse
		}
	}
	return ""
}

// reach is how long after a note its record may come.
func (s scene) reach() time.Duration { return margin + s.lateness() + time.Second }

// undisturbed reports whether nothing keeps the process that sends from its ledger, or ends its call.
func (g *stage) undisturbed(s *send) bool {
	return !s.deal.cut && s.deal.actor.patience == 0 && !s.deal.actor.dead() && !g.interfered() && g.calmEvents()
}

// patient reports whether a call had the time that it wanted, and nothing kept its process from the ledger or the
// service.
func (g *stage) patient(d *deal) bool {
	return !d.cut && d.actor.patience == 0 && d.actor.maxWait == unlimited && g.scene.excuse() == "" && g.calmEvents()
}

// calmEvents reports whether all events are calls of others.
func (g *stage) calmEvents() bool {
	free := func(e event) bool { return e.what == "rival" || e.what == "find" || e.what == "other" }
	return !slices.ContainsFunc(g.events, func(e event) bool { return !free(e) })
}

// holds is check for what an excuse may break.
func (g *stage) holds(holds bool, format string, args ...any) {
	switch excuse := g.excuse(); {
	case holds:
	case excuse != "":
		g.excused = append(g.excused, excuse)
	default:
		g.check(false, format, args...)
	}
}

// judgeSend checks that no other request is under way. It wants the lock held.
func (g *stage) judgeSend(s *send) {
	for _, other := range g.sends {
		if !other.ended.IsZero() || other.deal.actor.dead() || g.scene.excuse() != "" || s.deal.verb == "plain" {
			continue
		}
		if other.suspended && s.at.After(other.noted.Add(g.reach())) {
			g.excused = append(g.excused, suspendedExcuse)
			continue
		}
		g.complaints = append(g.complaints,
			fmt.Sprintf("%s sends (%d) while %s does", s.deal.actor.name, s.began, other.deal.actor.name))
	}
}

// judge holds what the calls have said against the records that the service has made, now that nothing is late any
// more.
func (g *stage) judge() {
	g.tick()
	g.judgeLives()
	for _, d := range g.deals {
		g.judgeDeal(d)
	}
	g.judgeTime()
}

// judgeLives checks that no request was sent where there was a record, or one might still come.
func (g *stage) judgeLives() {
	for _, l := range g.lives {
		for _, other := range g.lives {
			if other.send.began >= l.send.began {
				continue
			}
			gone := other.died > 0 && other.died <= l.send.began
			g.holds(gone, "%s (%s at %d) is there beside %s (%s at %d)",
				l.id, l.send.deal.actor.name, l.send.began, other.id, other.send.deal.actor.name, other.send.began)
			if gone && other.outside {
				g.excused = append(g.excused, removeExcuse)
			}
		}
	}
}

// open are the records of which there was one at this moment, or that might still come.
func (g *stage) open(moment int) (open []aicontent.ID) {
	for _, l := range g.lives {
		if l.send.began <= moment && (l.died == 0 || l.died > moment) {
			open = append(open, l.id)
		}
	}
	return open
}

// free reports whether there was a moment at which there was no record, and none was to come.
func (g *stage) free(from, to int) bool {
	for moment := from; moment <= to; moment++ {
		if len(g.open(moment)) == 0 {
			return true
		}
	}
	return false
}

func (g *stage) judgeDeal(d *deal) {
	say := func(holds bool, text string, args ...any) {
		if !holds {
			text = fmt.Sprintf(text, args...)
			g.holds(false, "%s's %s (%d-%d) %s: %v", d.actor.name, d.verb, d.began, d.ended, text, d.err)
		}
	}
	if d.verb == "plain" {
		return
	}
	g.judgeLength(d, say)
	switch {
	case d.err != nil:
		say(errors.As(d.err, new(*once.Error)), "failed with another error")
		g.judgeError(d, say)
	case d.verb == "delete":
		say(g.free(d.began, d.ended), "says that it is gone, and there was always one of %v", g.open(d.ended))
	default:
		g.judgeRecord(d, say)
	}
}

type say = func(holds bool, text string, args ...any)

// judgeRecord checks that the record that a call has returned is what it says.
func (g *stage) judgeRecord(d *deal, say say) {
	i := slices.IndexFunc(g.lives, func(l *life) bool { return l.id == d.id && l.send.began < d.ended })
	if i < 0 {
		say(false, "returned %q", d.id)
		return
	}
	l := g.lives[i]
	say(l.died == 0 || l.died > d.began, "returned %s, which was deleted at %d", d.id, l.died)
	say(!d.found || l.send.deal != d, "found a record, and made one")
	say(d.found || d.verb == "find" || len(g.sendsOf(d)) > 0, "made a record without a request")
	say(d.verb == "find" || l.send.deal.actor.form == d.actor.form, "returned a record of another form")
}

// judgeError checks that an error says nothing that is wrong.
func (g *stage) judgeError(d *deal, say say) {
	outcome := aicontent.OutcomeOf(d.err)
	sends := g.sendsOf(d)
	before := slices.ContainsFunc(g.lives, func(l *life) bool { return l.send.began < d.ended })
	switch {
	case outcome == aicontent.OutcomeExecuted:
		say(before, "is done, and there is no record")
	case outcome == aicontent.OutcomeNotExecuted, errors.Is(d.err, aicontent.ErrNotFound):
		say(len(g.open(d.ended)) == 0, "is %v, and there is, or will be, %v", outcome, g.open(d.ended))
	}
	if len(sends) > 0 && sends[len(sends)-1].created && !d.cut && d.actor.patience == 0 {
		say(sends[len(sends)-1].suspended, "failed, and the service has said that it created the record")
	}
	if !aicontent.Retryable(d.err) && !(d.verb == "find" && errors.Is(d.err, aicontent.ErrNotFound)) {
		final := func(s *send) bool { return s.strike.survivors(g.collection) <= unclear }
		refused := slices.ContainsFunc(sends, final)
		say(refused || g.interfered() || g.conflicts(d) || services[g.service].blind, "gave up")
	}
	if g.patient(d) && outcome == aicontent.OutcomeNotExecuted && d.verb == "store" {
		say(len(sends) > 0, "lost a race, and has not gone on")
	}
	slowPut := slices.ContainsFunc(g.events, func(e event) bool { return e.op == "put" }) // as others call meanwhile
	hidden := outcome == aicontent.OutcomeExecuted && aicontent.Retryable(d.err) && d.until().After(d.at)
	say(!g.patient(d) || slowPut || !hidden, "has not waited for a replica")
	ended := errors.Is(d.err, context.Canceled) || errors.Is(d.err, context.DeadlineExceeded)
	say(!ended || d.cut || d.actor.patience > 0, "blames a context that has not ended")
	if until := d.until(); !until.IsZero() {
		for _, l := range g.lives {
			if s := l.send; s.began < d.ended && !s.ended.IsZero() && !s.ended.After(d.at) {
				say(!g.seen(l).After(until), "says until %v of what came at %v", until, g.seen(l))
			}
		}
	}
}

// conflicts reports whether the error is that the name is of another form.
func (g *stage) conflicts(d *deal) bool {
	return errors.Is(d.err, aicontent.ErrConflict) && slices.ContainsFunc(g.sends, func(s *send) bool {
		return s.deal.actor.form != d.actor.form
	})
}

func (g *stage) sendsOf(d *deal) (sends []*send) {
	for _, s := range g.sends {
		if s.deal == d {
			sends = append(sends, s)
		}
	}
	return sends
}

// interfered reports whether somebody deletes the record.
func (g *stage) interfered() bool {
	return traits[g.cast].deletes ||
		slices.ContainsFunc(g.events, func(e event) bool { return e.what == "delete" })
}

// judgeLength checks that a call lasts no longer than until what was sent may come, a search and a Store; with a
// maximum wait, no longer than that, a search and a Store; and no longer than what has befallen the process.
func (g *stage) judgeLength(d *deal, say say) {
	last := d.since
	until, ahead := d.actor.disk.until(d.at)
	if until.After(last) {
		last = until
	}
	trait := traits[g.cast]
	say(ahead <= margin+settled+clock || trait.ahead, "an entry was %v ahead", ahead)
	if trait.apart { // A reader does not wait for a clock that is ahead.
		last = d.since.Add(margin + settled)
	}
	if d.actor.maxWait != unlimited {
		last = d.since.Add(d.actor.maxWait)
	}
	for _, s := range g.sendsOf(d) {
		if s.ended.After(last) {
			last = s.ended
		}
	}
	if slices.ContainsFunc(g.events, func(e event) bool { return e.lasts() > inFlight }) && g.disturbed.After(last) {
		last = g.disturbed
	}
	store := g.works()
	if slices.ContainsFunc(g.strikes, strike.lasts) {
		store += tooLong / 5
	}
	late := d.at.Sub(last.Add(store))
	g.check(late <= time.Minute+inFlight, "%s's %s took %v too long: %v", d.actor.name, d.verb, late, d.err)
}

// judgeTime checks that nobody waits longer than the settle time after the last request, and the margin if its sender
// is gone: no restart begins a wait anew.
func (g *stage) judgeTime() {
	longest := settled + time.Minute // searches, and pauses between calls
	if traits[g.cast].skewed {
		longest += clock
	}
	if traits[g.cast].life > 0 || slices.ContainsFunc(g.events, event.leaves) {
		longest += margin
	}
	if slices.ContainsFunc(g.strikes, strike.lasts) {
		longest += tooLong / 5
	}
	progress := g.progress()
	slices.SortFunc(progress, time.Time.Compare)
	i := slices.IndexFunc(progress, g.disturbed.Before)
	if i < 0 || g.excuse() != "" {
		return
	}
	// Each request comes, and the name is finished, so long after whatever was before it.
	last := g.start
	if g.disturbed.After(last) {
		last = g.disturbed
	}
	for _, s := range g.sends {
		if s.ended.After(last) && !s.ended.After(progress[i]) {
			last = s.ended
		}
	}
	g.took = max(g.took, progress[i].Sub(last))
	g.check(g.took <= longest, "it took %v after the last disturbance", g.took)
	if !g.killed.IsZero() {
		i := slices.IndexFunc(progress, g.killed.Before)
		took := progress[max(i, 0)].Sub(g.killed)
		g.check(i >= 0 && took <= margin+settled+clock+lifetime+inFlight, "it took %v after all were killed", took)
	}
}

// lasts reports whether the response takes minutes.
func (s strike) lasts() bool { return s.name == "minutes" }

// leaves reports whether what was sent may be open for longer than the settle time: a process that only ends its call
// says when its request has ended.
func (e event) leaves() bool {
	return !strings.HasPrefix(e.what, "cancel") && !strings.HasPrefix(e.what, "slow") && e.what != "find"
}
