package integration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// excuse is why there may be two records, or a call may say what is wrong: what no ledger can do, in the words of the
// package documentation. It is empty for the scenes that must end well.
func (s scene) excuse() string {
	switch s.cast {
	case "apart":
		return "the clocks of two processes differ by more than a minute"
	case "blind":
		return "a list never shows the record"
	}
	for _, e := range s.events {
		switch {
		case e.what == "forget":
			return "an entry is deleted"
		case e.what == "elsewhere":
			return "a program stores the name with another ledger"
		case e.what == "rename":
			return "somebody renames the record before its ID is known"
		case e.op == "store" && e.pause() > leaseTime:
			return "a process is suspended between noting a request and its end"
		}
	}
	return ""
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

// sent returns the create request that made a record.
func (g *stage) sent(r aicontenttest.Record) *send {
	n, err := strconv.Atoi(g.srv.Requests()[r.Request-1].Header.Get(sendHeader))
	if err != nil {
		panic(err)
	}
	return g.sends[n]
}

// judge holds what the calls have said against the records that the service has made, now that nothing is late any
// more.
func (g *stage) judge() {
	var made []aRecord
	left := 0
	for _, r := range g.srv.Records() {
		made = append(made, aRecord{r, g.sent(r)})
		if !r.Deleted {
			left++
		}
	}
	g.holds(left <= 1, "%d records", left)
	for _, d := range g.deals {
		g.judgeDeal(d, made)
	}
	g.judgeTime()
}

type aRecord struct {
	aicontenttest.Record
	send *send
}

func (g *stage) judgeDeal(d *deal, made []aRecord) {
	var before, own, open int // records of requests that were sent before the call ended, and those that nobody deleted
	var ids []aicontent.ID
	for _, r := range made {
		if r.send.began > d.ended {
			continue
		}
		before++
		ids = append(ids, aicontent.ID(r.ID))
		if r.send.deal == d {
			own++
		}
		if !r.Deleted {
			open++
		}
	}
	say := func(holds bool, text string, args ...any) {
		text = fmt.Sprintf(text, args...)
		g.holds(holds, "%s's %s (%d-%d) %s: %v", d.actor.name, d.verb, d.began, d.ended, text, d.err)
	}
	outcome := aicontent.OutcomeOf(d.err)
	switch {
	case d.err != nil:
		say(errors.As(d.err, new(*once.Error)), "failed with another error")
	case d.verb == "delete":
		say(open == 0, "left %d records", open)
		return
	default:
		say(slices.Contains(ids, d.id), "returned %s of %v", d.id, ids)
		say(!d.found || own == 0, "found a record, and made one")
		say(d.found || d.verb == "find" || len(g.sendsOf(d)) > 0, "made a record without a request")
		return
	}
	switch outcome {
	case aicontent.OutcomeDone:
		say(before > 0, "is done, and there is no record")
	case aicontent.OutcomeNotSent, aicontent.OutcomeRejected:
		say(open == 0, "is %v, and there are %d records", outcome, open)
	}
	sends := g.sendsOf(d)
	if len(sends) > 0 && sends[len(sends)-1].created && !d.cut && d.actor.patience == 0 {
		say(g.pauses(), "failed, and the service has said that it created the record")
	}
	if !aicontent.Temporary(d.err) {
		final := func(s *send) bool { return s.strike.survivors(g.collection) <= unclear }
		say(slices.ContainsFunc(sends, final) || g.interfered(), "gave up")
	}
}

func (g *stage) sendsOf(d *deal) (sends []*send) {
	for _, s := range g.sends {
		if s.deal == d {
			sends = append(sends, s)
		}
	}
	return sends
}

// pauses reports whether a process stood still, and so may have lost the name.
func (g *stage) pauses() bool {
	return slices.ContainsFunc(g.events, func(e event) bool { return e.pause() > 0 })
}

// interfered reports whether somebody deletes the record.
func (g *stage) interfered() bool {
	return g.cast == "delete" || slices.ContainsFunc(g.events, func(e event) bool { return e.what == "delete" })
}

// judgeTime checks that nobody waits longer than the settle time after the last request, and the lease of whoever sent
// it: no restart begins a wait anew.
func (g *stage) judgeTime() {
	success := func(d *deal) bool { return d.err == nil && d.verb == "store" }
	i := slices.IndexFunc(g.deals, success)
	if i < 0 || g.excuse() != "" || g.disturbed.After(g.deals[i].at) {
		return
	}
	// Each request comes, and the name is finished, so long after whatever was before it.
	for _, next := range append(g.begins(), g.deals[i].at) {
		last := g.start
		for _, at := range append([]time.Time{g.disturbed}, g.ends()...) {
			if at.After(last) && !at.After(next) {
				last = at
			}
		}
		if !next.After(g.deals[i].at) {
			g.took = max(g.took, next.Sub(last))
		}
	}
	longest := settled + clockTime + time.Minute                  // polls, and pauses between calls
	minutes := func(s strike) bool { return s.name == "minutes" } // whose responses take that long
	if strings.HasPrefix(g.cast, "relay") || slices.ContainsFunc(g.events, event.leaves) ||
		slices.ContainsFunc(g.strikes, minutes) {
		longest += leaseTime + clockTime
	}
	if strings.HasPrefix(g.cast, "relay") {
		longest += 2 * time.Minute // who took the name over was killed, too
	}
	g.check(g.took <= longest, "it took %v after the last disturbance", g.took)
}

// leaves reports whether the name may stay taken: a process that only gives its call up frees it.
func (e event) leaves() bool {
	return !strings.HasPrefix(e.what, "cancel") && e.what != "slow" && e.what != "find"
}

func (g *stage) begins() (begins []time.Time) {
	for _, s := range g.sends {
		begins = append(begins, s.at)
	}
	return begins
}

func (g *stage) ends() (ends []time.Time) {
	for _, s := range g.sends {
		ends = append(ends, s.ended)
	}
	return ends
}
