package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// WithOnce makes a Store call safe to repeat, within a client by any number of calls. It needs a name that no other
// record has, such as a job's ID or a hash of the file: never a title that a person typed. Other methods ignore it;
// given to [NewClient] it is an error.
//
// Before each create request the SDK searches for a record with exactly that name. If there is one, Store returns it,
// and [Response].Found is set. If it differs in a parameter that was sent and that the service sends back, the error
// is a [*ConflictError]. White space at the ends of a text, forms of line breaks, and forms of numbers and booleans
// make no difference. A file cannot be compared, so the name must stand for its content.
//
// After a create request with an unknown outcome the SDK searches for the settle time, five minutes unless
// [WithSettleTime] changes it, before it sends another, and once more right before the context's deadline. Without a
// deadline a call may take MaxAttempts times the settle time. If a call ends with an unknown outcome all the same,
// the client remembers the name for the settle time, and the next call for it searches first. Calls for the same name
// wait for each other.
//
// A second record is still possible if the service takes longer than the settle time, if another client or process
// stores the same name at the same time, or if a search does not find what was just stored. For a call that another
// client or process may have made see [WithOnceSince].
func WithOnce() CallOption { return onceOption("WithOnce", time.Time{}) }

// WithOnceSince is [WithOnce] for a job that another client or process may have sent, such as an earlier run of the
// program. LastTry is the last moment at which that run may have been sending or waiting: its last sign of life,
// never its start. Before the first create request the SDK searches until lastTry plus the settle time. A
// zero lastTry is one search, as with WithOnce; one in the future is an error.
func WithOnceSince(lastTry time.Time) CallOption { return onceOption("WithOnceSince", lastTry) }

func onceOption(name string, lastTry time.Time) CallOption {
	return singleOption{name, callOption{
		check(!lastTry.After(time.Now()), "last_try", lastTry, "must not be in the future"),
		func(s *settings) { s.once, s.lastTry = true, lastTry },
	}}
}

// once is a Store call with WithOnce.
type once struct {
	client   *Client
	request  *request
	history  *history
	settings *settings
	name     string
	take     func(*exchange) error // reads the record that is found
}

// store creates a record unless there is one with the name. It searches before each create request, and for
// the settle time after one that may have been executed.
func (o *once) store(ctx context.Context, attempt func() (result, error)) (err error) {
	r, h, names := o.request, o.history, o.client.names
	key := r.op.in.name + "/" + o.name
	unlock, err := names.lock(ctx, key)
	if err != nil {
		return h.fail(r, err)
	}
	defer unlock()
	defer func() { names.remember(key, err, o.client.settleTime) }()
	since := names.lastTry(key, o.settings.lastTry)
	for {
		if err := o.settle(ctx, since); err != nil || h.found != nil {
			return o.fail(err)
		}
		if h.count > 0 && !o.another() {
			return h.fail(r, nil)
		}
		sent := h.count
		err := o.client.send(ctx, r, h, func() (result, error) {
			if h.count > sent {
				if err := o.search(ctx, o.settings.policy, o.settings.budget); err != nil || h.found != nil {
					return result{}, cmp.Or(err, errFound)
				}
			}
			return attempt()
		})
		if h.found != nil {
			return nil
		}
		if conflict, ok := errors.AsType[*ConflictError](err); ok {
			return o.fail(conflict)
		}
		executed := h.count > sent && (h.last.outcome == OutcomeUnknown || h.last.outcome == OutcomeDone)
		if err == nil || !executed || ctx.Err() != nil {
			return err
		}
		since = time.Now()
	}
}

// errFound ends the attempts where a search has found the record.
var errFound = errors.New("the record was found")

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

// fail makes the error of a call that a search has ended; err is nil for one that found the record. What failed
// before anything was sent keeps its type.
func (o *once) fail(err error) error {
	if err == nil {
		return nil
	}
	s := o.history.summary(o.request)
	if e, ok := err.(*ConflictError); ok {
		return &ConflictError{e.Name, e.IDs, e.Reason, s}
	}
	if e, ok := errors.AsType[callError](err); ok && s.attempts == 0 {
		s.passing, s.stopped = e.facts().passing, e.facts().stopped
		s.details = append([]string{"WithOnce: the search for the name failed"}, e.facts().details...)
		s.details = append(s.details, "nothing was created")
		return e.with(s)
	}
	return o.history.fail(o.request, err)
}

// settle searches with growing pauses until the record is there or the settle time has passed since the last request
// that may still be executed, and once more right before the context's deadline. A zero time is one search. A search
// that fails says nothing: the record may be there, and billed. The last one is retried like any list.
func (o *once) settle(ctx context.Context, since time.Time) error {
	settle := o.client.settleTime
	until := time.Now().Add(min(settle, time.Until(since.Add(settle))))
	o.log(ctx, until)
	patient := o.settings.policy
	patient.MaxAttempts = max(o.request.policy.MaxAttempts, 2)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		start := time.Now()
		if !start.Before(until) {
			return o.search(ctx, o.settings.policy, o.settings.budget)
		}
		err := o.search(ctx, patient, noBudget)
		if o.history.found != nil || err != nil && !passing(err) {
			return err
		}
		now := time.Now()
		wait := min(pause, until.Sub(now))
		if deadline, ok := ctx.Deadline(); ok && wait > 0 {
			// The last search needs the time that this one took, and some more, but one that hung is no measure.
			last := deadline.Sub(now) - min(2*now.Sub(start), longestSearch) - 100*time.Millisecond
			if last <= 0 {
				return context.DeadlineExceeded
			}
			wait = min(wait, last)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// noBudget is that of searches which are repeated anyway: they wait where the service asks for it, and are not
// retried otherwise.
var noBudget = &budget{cap: 1}

func (o *once) log(ctx context.Context, until time.Time) {
	if l := o.client.logger; l != nil && time.Until(until) > 0 {
		l.InfoContext(ctx, "aicontent looks for the record of a create request that may still be executed",
			"op", string(o.request.op.name), "until", until, "earlier_call", o.history.count == 0)
	}
}

// search looks for the record with exactly the name. If there is one, it is taken, and the history's found is its
// response.
func (o *once) search(ctx context.Context, policy RetryPolicy, budget *budget) error {
	opts := []CallOption{callOption{set: func(s *settings) {
		s.policy, s.budget, s.search = policy, budget, true
		s.header, s.query = o.settings.header, o.settings.query
	}}, unfiltered}
	in := o.request.op.in
	id, err := o.client.find(ctx, in, o.name, opts)
	if err != nil || id == "" {
		return searchError(err)
	}
	// A list may leave members out, so the record itself is asked for.
	var found *Response
	read := func(x *exchange) (*Image, error) {
		record, err := readRecord[Image](x)
		if err == nil {
			err = o.compare(lenient.Value(record.raw), id, x.key)
		}
		if err == nil {
			err = o.take(x)
		}
		return record, err
	}
	_, err = do(ctx, o.client, call{op: in.show, id: id}, append(opts, WithResponse(&found)), read)
	if differs, ok := errors.AsType[*ConflictError](err); ok {
		return differs
	}
	if errors.Is(err, ErrNotFound) {
		return nil // it was deleted since the list was made
	}
	if err == nil {
		o.history.found = found
	}
	return searchError(err)
}

// searchError says of an error that it is one of a search. A conflict is what the search was for.
func searchError(err error) error {
	if _, ok := err.(*ConflictError); ok || err == nil {
		return err
	}
	return fmt.Errorf("WithOnce: the search for the name failed: %w", err)
}

// compare reports what a record that was found says otherwise than the form, as a ConflictError.
func (o *once) compare(record lenient.Value, id ID, key redact.Key) error {
	for member, value := range record.Members() {
		name := member.Text()
		stored, sent := normalText(value.Text()), normalText(o.request.form.Get(name))
		if stored == "" || sent == "" || equalValues(stored, sent) {
			continue
		}
		reason := fmt.Sprintf("the record with the name has another %s: %s, not %s",
			name, redact.Quote(key.Line(stored)), redact.Quote(sent))
		return &ConflictError{Name: o.name, IDs: []ID{id}, Reason: reason}
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

// passing reports whether a search that failed may succeed later.
func passing(err error) bool {
	e, ok := errors.AsType[callError](err)
	return ok && e.facts().passing
}
