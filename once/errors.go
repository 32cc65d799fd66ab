package once

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// Error is the error of Store, Find and Delete, except for the [*aicontent.ValidationError] of arguments that are
// refused before anything else.
type Error struct {
	Collection string       // images or transcriptions
	Name       string       // as given
	ID         aicontent.ID // of the record; empty if it is not known
	// Until is when what was sent can no longer become a record, or be missing from lists. It is zero if nothing is
	// open. A queue calls again then, or earlier to look.
	Until time.Time
	Err   error // why the call failed

	outcome   aicontent.Outcome
	retryable bool
	retryAt   time.Time
}

// Error is one line: the collection, the name, the cause, and what is known of the record.
func (e *Error) Error() string {
	known := "outcome " + e.outcome.String()
	if !e.Until.IsZero() {
		known += ", open until " + e.Until.Format(time.RFC3339)
	}
	if e.ID != "" {
		known += ", id " + string(e.ID)
	}
	return lineBreaks.Replace(fmt.Sprintf("once: %s %.80q: %v (%s)", e.Collection, e.Name, e.Err, known))
}

var lineBreaks = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Outcome returns what is known of the record: Done if it was created, Unknown while anybody's request may still create
// it, otherwise otherwise NotExecuted. [aicontent.OutcomeOf] calls it.
func (e *Error) Outcome() aicontent.Outcome {
	if e == nil {
		return aicontent.OutcomeUnknown
	}
	return e.outcome
}

// Retryable reports whether the same call may be made again: it is always safe, and here it may help.
// [aicontent.Retryable] calls it.
func (e *Error) Retryable() bool { return e != nil && e.retryable }

// RetryAt returns the time at which the same call is worth making again: an open request is looked for 1, 3, 7, 15 and
// 31 seconds after the entry's last write and then every 30 seconds, at Until at the latest. A Retry-After that is
// longer counts. It is zero if a retry cannot help, or if the error has no such time. [aicontent.RetryAt] calls it.
func (e *Error) RetryAt() time.Time {
	if e == nil || !e.retryable {
		return time.Time{}
	}
	return e.retryAt
}

// Reason returns the cause for the people who use a program. [aicontent.Reason] calls it.
func (e *Error) Reason() string {
	switch {
	case e == nil:
		return ""
	case !e.Until.IsZero() && e.outcome == aicontent.OutcomeUnknown:
		return "an earlier request may still create the record"
	case errors.Is(e.Err, ErrMaxWait):
		return "another call for the name is under way"
	}
	return aicontent.Reason(e.Err)
}

// ErrMaxWait is in the error of a call that [WithMaxWait] ended.
var ErrMaxWait = errors.New("it would wait for too long (WithMaxWait)")

type searchKey struct{}

// asSearch marks the requests with which this package looks for a record.
func asSearch(ctx context.Context) context.Context { return context.WithValue(ctx, searchKey{}, true) }

// IsSearch reports whether a request with this context is a List or Show with which this package looks for a record. A
// circuit breaker should let it pass: otherwise nobody learns what became of a create request that was billed. A hook
// asks for [aicontent.Attempt].Operation too, and a middleware for the method: calls that a hook makes itself have the
// same context, unless it gives them another.
func IsSearch(ctx context.Context) bool { return ctx.Value(searchKey{}) != nil }

var (
	errGone = errors.New("the record was created, and no list shows it; nothing is sent again: " +
		"Delete frees the name")
	errNotShown = errors.New("it was there lately, and is not shown")
	errNothing  = errors.New("no record came of the create request")
	errLate     = errors.New("the ledger did not answer in time")
	errCut      = errors.New("the create request was cut off, as the ledger could not be written in time")
)

// outcome is Done if a record was made, and Unknown otherwise.
func (c *call[T]) outcome() aicontent.Outcome {
	if c.made || !c.entry.Made.IsZero() {
		return aicontent.OutcomeExecuted
	}
	return aicontent.OutcomeUnknown
}

// fail makes the error of the call, unless it is known that there is no record: see none.
func (c *call[T]) fail(retryable bool, err error) *Error {
	if c.cause != nil && c.cause != err && err != aicontent.ErrNotFound {
		err = fmt.Errorf("%w; before: %w", err, c.cause)
	}
	var until time.Time
	if open := c.until(); open.After(time.Now()) {
		until = open.UTC()
	}
	at := aicontent.RetryAt(err)
	if !until.IsZero() {
		at = later(c.nextLook(), at, until)
	}
	return &Error{c.collection, c.name, c.entry.ID, until, err, c.outcome(), retryable, at}
}

// later returns the later one of two times, or the limit if that is earlier.
func later(a, b, limit time.Time) time.Time {
	if a.Before(b) {
		a = b
	}
	if limit.Before(a) {
		return limit
	}
	return a
}

// nextLook returns the next time of the schedule that begins with the entry's last write.
func (c *call[T]) nextLook() time.Time {
	wrote := c.entry.Wrote
	if wrote.IsZero() || c.since.Before(wrote) {
		wrote = c.since
	}
	now := time.Now()
	return now.Add(untilNextLook(now.Sub(wrote)))
}

// untilNextLook returns how long after its age an entry is looked at again: it is when it is 1, 3, 7, 15 and 31 seconds
// old, and then every 30 seconds.
func untilNextLook(age time.Duration) time.Duration {
	look := firstPause
	for step := 2 * firstPause; look <= age && step < lastPause; step *= 2 {
		look += step
	}
	if look <= age {
		look += ((age-look)/lastPause + 1) * lastPause
	}
	return look - age
}

// conflict is the error of a name whose record may not be the one that the caller means.
func (c *call[T]) conflict(retryable bool, reason string) error {
	err := &aicontent.ConflictError{Name: c.name, Reason: reason}
	if c.entry.ID != "" {
		err.IDs = []aicontent.ID{c.entry.ID}
	}
	return c.fail(retryable, err)
}

// ledgerError is an error of the ledger. It only matches those of contexts if the caller's has ended.
func ledgerError(ctx context.Context, what string, err error) error {
	own := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if own && ctx.Err() == nil {
		err = errors.New(err.Error())
	}
	return fmt.Errorf("the ledger could not be %s: %w", what, err)
}

// whyEnded returns why a context ended, or nil if it has not.
func whyEnded(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
