package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// judge holds what each call has said against the records that the service has made, now that nothing is late any more.
// A plain call answers for its own requests, one of package once for all that were sent for the name before it ended.
func (p *play) judge() {
	for n, c := range p.calls {
		if c.process == nil {
			p.judgePlain(n, c)
		} else {
			p.judgeOnce(n, c)
		}
		p.check(!p.gaveUp(n, c), "call %d gave up: %v", n+1, c.err)
		p.check(!p.wentOn(c), "call %d sent another request after one that ends it: %v", n+1, c.err)
	}
	if p.calls[0].process == nil {
		return
	}
	made, excused := len(p.srv.Records()), 0
	for _, record := range p.srv.Records() {
		if excuse := p.excuse(record); excuse != "" && made > 1 {
			p.excused = append(p.excused, excuse)
			excused++
		}
	}
	p.check(made <= 1+excused, "%d records, of which %d are excused", made, excused)
}

func (p *play) judgePlain(n int, c *call) {
	made, outcome := p.madeBefore(c, n), aicontent.OutcomeOf(c.err)
	fits := made.own == 1
	switch outcome {
	case aicontent.OutcomeUnknown:
		fits = made.own <= 1
	case aicontent.OutcomeNotExecuted:
		fits = made.own == 0
	}
	p.check(fits, "call %d ended %v, and made %d records: %v", n+1, outcome, made.own, c.err)
	p.check(c.err != nil || slices.Contains(made.ids, c.id), "call %d returned %s of %v", n+1, c.id, made.ids)
}

func (p *play) judgeOnce(n int, c *call) {
	made, outcome := p.madeBefore(c, n), aicontent.OutcomeOf(c.err)
	switch outcome {
	case aicontent.OutcomeExecuted: // or success
		p.check(made.all > 0, "call %d ended %v, and there is no record: %v", n+1, outcome, c.err)
	case aicontent.OutcomeNotExecuted:
		p.check(made.all == made.excused, "call %d ended %v, with %d records: %v", n+1, outcome, made.all, c.err)
	}
	told := c.err == nil || c.err == errCut || errors.As(c.err, new(*once.Error))
	p.check(told, "call %d: an error that is no *once.Error: %v", n+1, c.err)
	took := c.ended.Sub(c.began)
	p.check(took < tooLong, "call %d took %v: %v", n+1, took, c.err)
	if c.err != nil {
		return
	}
	p.check(slices.Contains(made.ids, c.id), "call %d returned %s of %v", n+1, c.id, made.ids)
	p.check(!c.found || made.own == 0, "call %d says that it found the record, and made one", n+1)
	p.check(c.found || made.own+made.excused > 0, "call %d says that it made the record, and did not", n+1)
	ended := c.wasCut || c.patience > 0 || made.excused > 0
	p.check(c.complete || ended || !p.searchedLast(c), "call %d returned a record that was not complete", n+1)
}

// madeBefore are the records of requests that were sent before the call ended.
func (p *play) madeBefore(c *call, n int) (m madeBefore) {
	for _, record := range p.srv.Records() {
		by, a := p.sender(record.Request)
		if by > n && !a.began.Before(c.ended) { // calls are in the order in which they ended
			continue
		}
		if by == n {
			m.own++
		}
		if by == n || c.process != nil {
			m.all++
			m.ids = append(m.ids, aicontent.ID(record.ID))
		}
		if p.excuse(record) != "" {
			m.excused++
		}
	}
	return m
}

type madeBefore struct {
	own, all int
	excused  int
	ids      []aicontent.ID
}

// The excuses for a second record that the documentation has.
const (
	tooLateExcuse = "the service acted after the settle time"
	renamedExcuse = "the service renamed a record before its ID was known"
)

// excuse is why package once may not know of a record; empty if it must.
func (p *play) excuse(record aicontenttest.Record) string {
	by, a := p.sender(record.Request)
	switch {
	case a.strike.name == tooLateAct:
		return tooLateExcuse
	case p.personality == aicontenttest.Rewritten && (a.result.Err != nil || a.dones == 0 || p.calls[by].wasCut):
		return renamedExcuse
	}
	return ""
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

// gaveUp reports whether a call failed where another attempt could have saved it without a risk, or said that calling
// again does not help where it does.
func (p *play) gaveUp(n int, c *call) bool {
	stores := c.stores()
	conflict := errors.As(c.err, new(*aicontent.ConflictError))
	final := slices.ContainsFunc(p.obstacles, func(o obstacle) bool { return o.final })
	if c.err == nil || c.wasCut || c.patience > 0 || conflict || p.personality != "" {
		return false
	}
	saved := everybody
	if len(stores) > 0 {
		saved = stores[len(stores)-1].strike.survivors(p.collection)
	}
	if c.process == nil {
		return len(stores) < maxAttempts && saved == everybody
	}
	made := p.madeBefore(c, n)
	switch {
	case saved <= unclear:
		return false
	case !aicontent.Retryable(c.err):
		return !final
	case aicontent.OutcomeOf(c.err) == aicontent.OutcomeExecuted: // It is there, and another call will get it.
		return false
	case slices.ContainsFunc(p.obstacles, obstacle.outlasts): // So is a call that cannot look any more.
		return false
	case saved == whoLooks: // The search must have found it.
		return made.own > made.excused
	}
	waits := n > 0 && len(p.calls[n-1].stores()) > 0 &&
		aicontent.OutcomeOf(p.calls[n-1].err) == aicontent.OutcomeUnknown
	return len(stores) > 0 && len(stores) < maxAttempts || len(stores) == 0 && waits
}

// wentOn reports whether a call sent another create request after one that may have been executed, or was refused.
func (p *play) wentOn(c *call) bool {
	stores := c.stores()
	final := func(a *attempt) bool { return a.strike.survivors(p.collection) != everybody }
	return slices.ContainsFunc(stores[:max(len(stores)-1, 0)], final)
}

// stores are the attempts that send create requests.
func (c *call) stores() []*attempt {
	search := func(a *attempt) bool { return a.verb() != "store" || !a.sent }
	return slices.DeleteFunc(slices.Clone(c.attempts), search)
}

// searchedLast reports whether the call has its record from a search.
func (p *play) searchedLast(c *call) bool {
	for _, a := range slices.Backward(c.attempts) {
		switch a.verb() {
		case "store":
			return false
		case "list":
			return true
		}
	}
	return false
}

// judgeHooks checks what the hooks, the response and the error have told.
func (p *play) judgeHooks() {
	for n, c := range p.calls {
		if c.err != nil {
			text := fmt.Sprintf("%v %#v", c.err, c.err)
			p.check(!strings.Contains(text, p.srv.APIKey), "call %d shows the key: %v", n+1, c.err)
		}
		p.check(c.process != nil || c.err != nil || c.response != nil && c.response.Attempts == len(c.stores()),
			"call %d sent %d create requests, not as %+v", n+1, len(c.stores()), c.response)
		for i, a := range c.attempts {
			last := i+1 == len(c.attempts)
			again := !last && c.attempts[i+1].Operation == a.Operation && c.attempts[i+1].Number == a.Number+1
			willRetry := a.result.WillRetry == again || last && c.wasCut
			p.check(a.dones == 1 && willRetry && a.search == (a.verb() != "store"),
				"call %d, attempt %d (%s %d): done was called %d times, WillRetry %v, IsSearch %v",
				n+1, i+1, a.Operation, a.Number, a.dones, a.result.WillRetry, a.search)
		}
	}
}

// judgeBudget checks that plain calls that succeed give back all that they have taken from the retry budget.
func (p *play) judgeBudget() {
	if slices.ContainsFunc(p.calls, func(c *call) bool { return c.process != nil || c.err != nil }) {
		return
	}
	_, err := p.calls[0].client.Images.List(p.Context(), aicontent.ImageListParams{})
	p.check(err == nil && slices.Equal(p.budgets, []int{retryBudget}), "the budget is %d: %v", p.budgets, err)
}
