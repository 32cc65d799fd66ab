package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	firstPause    = time.Second // between two searches for a record that may be in the making
	lastPause     = 30 * time.Second
	longestSearch = 5 * time.Second // the last search begins no longer than this before the context's deadline
)

// WithOnce makes a Store call safe to repeat, any number of times within a client. The name must be unique, such as a
// job's ID or a hash of the file, and never a title that a person typed; known services accept up to 128 characters.
// Other methods ignore the option.
//
// Before the first create request, the SDK searches for a record with exactly that name. If there is one, Store returns
// it with [Response].Found set. If it differs in a parameter that was sent and that the service returns, the error is a
// [*ConflictError]; surrounding white space and the form of line breaks, numbers and booleans make no difference. A
// file cannot be compared, so the name must stand for its content.
//
// After a create request whose outcome is Unknown or Done, the SDK searches until [WithSettleTime] has passed, or until
// right before the context's deadline. Only after the settle time does it send another, and after Done none. Without a
// deadline, a call may take MaxAttempts times the settle time. If the call ends sooner, the client remembers the name,
// and the next call for it searches first; the oldest of more than 10,000 names is forgotten. Calls for the same name
// wait for each other. If the service rejects a request because the name is taken, the SDK searches once and returns
// the record with the name.
//
// A second record is still possible if the service takes longer than the settle time, if another client or process
// stores the same name at the same time, or if a list does not show what was just stored.
//
//	nothing else stores the record, and a failed call is not repeated    plain
//	this client may repeat the call                                      WithOnce
//	another client, process or earlier run may have made the call        WithOnceSince
func WithOnce() CallOption { return onceOption("WithOnce", time.Time{}) }

// WithOnceSince is [WithOnce] for a job that another client or process may have sent, such as an earlier run of the
// program. Give as lastTry the last moment at which that run may have been sending or waiting: its last sign of life,
// never its start. Before the first create request, the SDK searches until lastTry plus the settle time. A zero lastTry
// means one search, as with WithOnce; a time in the future, from a clock that is ahead, counts as now.
func WithOnceSince(lastTry time.Time) CallOption { return onceOption("WithOnceSince", lastTry) }

func onceOption(name string, lastTry time.Time) CallOption {
	return singleOption{name, callOption{nil, func(s *settings) { s.once, s.lastTry = true, lastTry }}}
}

// once is a Store call with WithOnce.
type once struct {
	client   *Client
	request  *request
	history  *history
	settings *settings
	name     *claim                // with store
	take     func(*exchange) error // reads the record that is found
	listed   bool                  // the latest list shows the record, and Show failed
}

// store creates a record unless there is one with the name. It searches before its first create request, and after
// one that may have been executed.
func (o *once) store(ctx context.Context, attempt func() (*exchange, error)) (err error) {
	c, r, h := o.client, o.request, o.history
	if o.name, err = c.names.claim(ctx, r.op.in.name, normalText(r.form.Get("name"))); err != nil {
		h.worst = OutcomeUnknown
		return h.fail(r, fmt.Errorf("WithOnce: another call for the name is under way: %w", err))
	}
	defer o.name.release()
	since := o.name.since
	if o.settings.lastTry.After(since) {
		since = o.settings.lastTry
	}
	for {
		err := o.settle(ctx, since)
		switch {
		case h.found, err != nil:
			return o.end(err)
		case h.count > 0 && !o.another():
			return h.fail(r, nil)
		}
		// What was sent before has been waited out.
		h.worst, o.name.since = noAttempt, time.Time{}
		err = c.send(ctx, r, h, func() (*exchange, error) { return o.name.attempt(attempt) })
		switch {
		case err == nil:
			return o.end(nil)
		case h.count > 0 && h.last.takenName():
			// Another process was faster, and its record is this one.
			found := o.search(ctx, o.settings.policy, o.settings.budget)
			if _, conflict := found.(*ConflictError); conflict || h.found {
				return o.end(found)
			}
			return err
		case o.name.since.IsZero(), h.last.follow != followSearch, ctx.Err() != nil:
			return err
		}
		since = o.name.since
	}
}

// another reports whether the create request may be sent again after the search found nothing, and takes it from the
// budget.
func (o *once) another() bool {
	h, r := o.history, o.request
	switch {
	case h.last.outcome == OutcomeDone, h.count >= r.policy.MaxAttempts:
		return false
	case !r.body.Replayable():
		h.last.note = noReplay
		return false
	}
	return h.charge(r)
}

// end ends the call with the record, or makes the error of a search. One before anything was sent keeps its type.
func (o *once) end(err error) error {
	s := o.history.summary(o.request)
	switch e := err.(type) {
	case nil:
		o.name.since = time.Time{}
		return nil
	case *ConflictError:
		s.temporary = false
		return &ConflictError{e.Name, e.IDs, e.Reason, s}
	}
	e, ok := err.(callError)
	if !ok {
		return o.history.fail(o.request, err)
	}
	detail := "WithOnce: the search for the name failed"
	if o.listed {
		detail = "WithOnce: the list has a record with the name, but Show failed"
	}
	if s.attempts > 0 {
		return o.history.fail(o.request, fmt.Errorf("%s: %w", detail, err))
	}
	of := e.facts()
	s.search, s.temporary, s.stopped = true, of.temporary || o.notShown(err), of.stopped
	s.details = slices.Concat([]string{detail}, of.details, s.details)
	if s.outcome == OutcomeNotSent {
		s.details = append(s.details, "no create request was sent")
	}
	return e.with(s)
}

// settle looks for the record with growing pauses, until nothing that was sent up to since can become a record any
// more, and once more right before the context's deadline. A zero time is one look. The first look waits as the
// service asked, and so does each one after a search that failed.
func (o *once) settle(ctx context.Context, since time.Time) error {
	h, now := o.history, time.Now()
	until, wait, took := now, time.Duration(0), time.Duration(0)
	if !since.IsZero() {
		if h.count == 0 {
			h.worst = OutcomeUnknown // of an earlier call
		}
		until = now.Add(min(o.client.names.settle, time.Until(since.Add(o.client.names.settle))))
	}
	if h.last != nil {
		wait = h.last.retryAfter
	}
	o.log(ctx, until)
	var err error // of the latest search
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		wait = min(wait, time.Until(until))
		if deadline, ok := ctx.Deadline(); ok && wait > 0 {
			// The last look needs the time that this one took, and some more, but one that hung is no measure.
			wait = min(wait, time.Until(deadline)-min(2*took, longestSearch)-100*time.Millisecond)
			if wait <= 0 {
				return unsettled(cmp.Or(contextError(ctx), context.DeadlineExceeded), err)
			}
		}
		if ended := sleep(ctx, wait); ended != nil {
			return unsettled(ended, err)
		}
		start := time.Now()
		policy, budget := patient, noBudget
		if !start.Before(until) {
			policy, budget = o.settings.policy, o.settings.budget
		}
		err = o.search(ctx, policy, budget)
		if o.listed && h.worst == OutcomeNotSent {
			// What a list shows is there: it is looked for as if it had been sent just now.
			h.worst, until = OutcomeUnknown, start.Add(o.client.names.settle)
		}
		if h.found || !start.Before(until) || err != nil && !o.notShown(err) && !passing(err) {
			return err
		}
		took, wait = time.Since(start), max(pause, retryAfterOf(err))
	}
}

// unsettled is the error of a wait that the context ended, with that of the latest search, if any.
func unsettled(ended, search error) error {
	if search == nil {
		return ended
	}
	return fmt.Errorf("%w; the latest search: %w", ended, search)
}

// patient is the policy of looks that are repeated anyway, and noBudget their budget: they are sent again only with
// another key.
var (
	patient  = RetryPolicy{MaxAttempts: 2, MaxRetryAfter: -1}
	noBudget = &budget{cap: 1}
)

func (o *once) log(ctx context.Context, until time.Time) {
	if l := o.client.logger; l != nil && time.Until(until) > 0 {
		l.InfoContext(ctx, "aicontent looks for the record of a create request that may still be executed",
			"op", string(o.request.op.name), "until", until, "earlier_call", o.history.count == 0)
	}
}

// search looks for the record with exactly the name. If it is there, it is taken, and its response is the call's.
func (o *once) search(ctx context.Context, policy RetryPolicy, budget *budget) error {
	opts := []CallOption{callOption{set: func(s *settings) {
		s.policy, s.budget, s.search = policy, budget, true
		s.header, s.query, s.hooks = o.settings.header, o.settings.query, o.settings.hooks
	}}, searching}
	in := o.request.op.in
	id, _, err := o.client.find(ctx, in, o.name.text, opts)
	o.listed = false
	if err != nil || id == "" {
		return err
	}
	// A list may leave members out, so the record itself is asked for.
	read := func(x *exchange) (*Image, error) {
		record, err := readRecord[Image](x)
		if err == nil {
			err = o.compare(lenient.Value(record.raw), id, x.key)
		}
		if err == nil {
			err = o.take(x)
		}
		if err == nil {
			o.history.latest, o.history.found = x, true
		}
		return record, err
	}
	_, err = do(ctx, o.client, call{op: in.show, id: id}, opts, read)
	if differs, ok := errors.AsType[*ConflictError](err); ok {
		return differs
	}
	o.listed = err != nil
	return err
}

// notShown reports whether Show does not know a record that the list has, which may change.
func (o *once) notShown(err error) bool { return o.listed && errors.Is(err, ErrNotFound) }

// compare reports what a record that was found says otherwise than the form, as a ConflictError.
func (o *once) compare(record lenient.Value, id ID, key redact.Key) error {
	for member, value := range record.Members() {
		name := member.Text()
		stored, sent := normalText(value.Text()), normalText(o.request.form.Get(name))
		if stored == "" || sent == "" || equalValues(stored, sent) {
			continue
		}
		reason := fmt.Sprintf("the record with the name has a different %s: %s, not %s",
			name, redact.Quote(key.Line(stored)), redact.Quote(sent))
		return &ConflictError{Name: o.name.text, IDs: []ID{id}, Reason: reason}
	}
	return nil
}

// equalValues compares texts, booleans in either spelling, and numbers.
func equalValues(a, b string) bool {
	booleans := map[string]string{"true": "1", "false": "0"}
	a, b = cmp.Or(booleans[a], a), cmp.Or(booleans[b], b)
	x, isNumber := number(a)
	y, areNumbers := number(b)
	return a == b || isNumber && areNumbers && x == y
}

// number reads a decimal number of at most 15 digits, which a float64 tells from any other.
func number(text string) (float64, bool) {
	digits := strings.ReplaceAll(strings.TrimPrefix(text, "-"), ".", "")
	if len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// passing reports whether a search that was made and failed may succeed later.
func passing(err error) bool {
	e, ok := err.(callError)
	return ok && e.facts().temporary && e.facts().attempts > 0 && e.facts().stopped == nil
}
