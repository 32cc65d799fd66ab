package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

// counts is the set of how many records there may be: bit n stands for n.
type counts uint

const none, one counts = 1 << 0, 1 << 1

// after is what may be there once a call has ended, given what was known before. Open says that a request of an earlier
// call may still become a record. An Unknown forks the set, any other outcome decides.
func (known counts) after(err error, open bool) counts {
	switch outcome := aicontent.OutcomeOf(err); {
	case outcome == aicontent.OutcomeDone: // or success
		return one
	case outcome == aicontent.OutcomeUnknown:
		return (known | known<<1) & (none | one)
	case open && known&none != 0:
		return none
	}
	return known
}

// judge holds what each call has said against the records that the service has made, now that nothing is late any more.
// A plain call answers for its own requests, one with WithOnce for all that were sent before it ended.
func (p *play) judge() {
	known, open := none, time.Time{}
	for n, c := range p.calls {
		if !c.once {
			known = none
		}
		known = known.after(c.err, c.ended.Before(open))
		made, outcome := p.madeBy(n), aicontent.OutcomeOf(c.err)
		fits := false
		for late := range made.late + 1 { // the documented exception: made after the settle time
			fits = fits || known>>(made.all-late)&1 == 1
		}
		p.check(fits, "call %d ended %v, with %d records: %v", n+1, outcome, made.all, c.err)
		nothing := outcome == aicontent.OutcomeNotSent || outcome == aicontent.OutcomeRejected
		p.check(!nothing || made.own <= made.late, "call %d ended %v, and made a record: %v", n+1, outcome, c.err)
		p.check(c.err != nil || slices.Contains(made.ids, c.id), "call %d returned %s of %v", n+1, c.id, made.ids)
		p.check(!p.gaveUp(c), "call %d gave up: %v", n+1, c.err)
		p.check(!p.wentOn(c), "call %d went on after a response that ends it: %v", n+1, c.err)
		if stores := c.stores(); len(stores) > 0 {
			open = stores[len(stores)-1].ended.Add(settleTime)
		}
		p.twice = p.twice || c.once && c.err == nil && made.all == 2
	}
}

// answerFor are the records for which a call answers.
type answerFor struct {
	own, all int
	late     int // with WithOnce: made after the settle time
	ids      []aicontent.ID
}

// madeBy returns the records for which the n-th call answers.
func (p *play) madeBy(n int) (m answerFor) {
	c := p.calls[n]
	for _, record := range p.srv.Records() {
		by, a := p.sender(record.Request)
		if by != n && (!c.once || by > n && !a.began.Before(c.ended)) {
			continue
		}
		m.all++
		m.ids = append(m.ids, aicontent.ID(record.ID))
		if by == n {
			m.own++
		}
		if c.once && a.strike.name == tooLateAct {
			m.late++
		}
	}
	return m
}

// sender returns the call and the attempt that sent a request.
func (p *play) sender(request int) (int, *attempt) {
	for n, c := range p.calls {
		for _, a := range c.attempts {
			if a.request == request {
				return n, a
			}
		}
	}
	p.check(false, "request %d made a record, and no hook was told of it", request)
	return 0, &attempt{}
}

// gaveUp reports whether a call failed where another attempt could have saved it without a risk.
func (p *play) gaveUp(c *call) bool {
	stores := c.stores()
	conflict := errors.As(c.err, new(*aicontent.ConflictError))
	harmed := slices.ContainsFunc(p.obstacles, func(o obstacle) bool { return o.harms })
	if c.err == nil || c.wasCut || c.patience > 0 || conflict || harmed || len(stores) >= maxAttempts {
		return false
	}
	saved := everybody
	if len(stores) > 0 {
		saved = stores[len(stores)-1].strike.survivors(p.collection)
	}
	return saved == everybody || saved == whoLooks && c.once
}

// wentOn reports whether a call sent another create request after one that no call gets over.
func (p *play) wentOn(c *call) bool {
	stores := c.stores()
	final := func(a *attempt) bool { return a.strike.survivors(p.collection) == nobody }
	return slices.ContainsFunc(stores[:max(len(stores)-1, 0)], final)
}

// stores are the attempts that send create requests.
func (c *call) stores() []*attempt {
	return slices.DeleteFunc(slices.Clone(c.attempts), func(a *attempt) bool { return a.Search || !a.sent })
}

// judgeHooks checks what the hooks, the response and the error have told.
func (p *play) judgeHooks() {
	for n, c := range p.calls {
		text := fmt.Sprintf("%v %#v", c.err, c.err)
		p.check(c.err == nil || !strings.Contains(text, p.srv.APIKey), "call %d shows the key: %v", n+1, c.err)
		p.check(c.err != nil || c.response != nil && c.response.Attempts == len(c.stores()),
			"call %d sent %d create requests, not as %+v", n+1, len(c.stores()), c.response)
		for i, a := range c.attempts {
			name := fmt.Sprintf("call %d, attempt %d (%s %d)", n+1, i+1, a.Operation, a.Number)
			p.check(a.dones == 1, "%s: done was called %d times", name, a.dones)
			last := i+1 == len(c.attempts)
			again := !last && c.attempts[i+1].Operation == a.Operation && c.attempts[i+1].Number == a.Number+1
			p.check(a.result.WillRetry == again || last && c.wasCut, "%s: WillRetry %v", name, a.result.WillRetry)
		}
	}
}

// judgeBudget checks that calls that succeed give back all that they have taken from the retry budget.
func (p *play) judgeBudget() {
	client := p.calls[len(p.calls)-1].client
	failed := func(c *call) bool { return c.client == client && c.err != nil }
	if slices.ContainsFunc(p.calls, failed) {
		return
	}
	_, err := client.Images.List(p.Context(), aicontent.ImageListParams{})
	p.check(err == nil && slices.Equal(p.budgets, []int{retryBudget}), "the budget is %d: %v", p.budgets, err)
}
