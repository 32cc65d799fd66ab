package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/names"
	"github.com/aicontent/aicontent-go/internal/response"
)

// Error is the error of Store, Find and Delete, except for the [*aicontent.ValidationError] of invalid arguments.
type Error struct {
	Collection string       // images or transcriptions
	Name       string       // as given
	ID         aicontent.ID // of the record; empty if unknown
	// Until is the time after which the requests for the name have either become a listed record or never will. It is
	// zero if no request is open. RetryAt returns an earlier time to call again.
	Until time.Time
	Err   error // the cause

	outcome   aicontent.Outcome
	retryable bool
	retryAt   time.Time
}

// Error returns one line with the collection, the name, the cause and the state of the record.
func (e *Error) Error() string {
	known := "outcome " + e.outcome.String()
	if !e.Until.IsZero() {
		known += ", open until " + e.Until.Format(time.RFC3339)
	}
	if e.ID != "" {
		known += ", id " + string(e.ID)
	}
	text := fmt.Sprintf("once: %s %.80q: %v", e.Collection, e.Name, e.Err)
	if !e.retryAt.IsZero() {
		text += e.retryAt.UTC().Format("; call again at 15:04:05Z")
	}
	return adopted.Replace(text + " (" + known + ")")
}

// adopted puts the cause on one line, without the next step of a plain Store call: this package looks by itself.
var adopted = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ", response.LookFirst, "")

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Outcome returns the outcome for [aicontent.OutcomeOf]: Executed if the record was created, Unknown while a request of
// any process may still create it, else NotExecuted.
func (e *Error) Outcome() aicontent.Outcome {
	if e == nil {
		return aicontent.OutcomeUnknown
	}
	return e.outcome
}

// Retryable answers [aicontent.Retryable]: whether the same call may succeed. It is always safe.
func (e *Error) Retryable() bool { return e != nil && e.retryable }

// RetryAt answers [aicontent.RetryAt] with the next useful time for the same call. While a request is open, these are
// 1, 3, 7, 15 and 31 seconds after the last write of the entry, then every 30 seconds, at the latest Until; a longer
// Retry-After counts instead. It is zero if no such time is known: use a backoff of your own.
func (e *Error) RetryAt() time.Time {
	if e == nil {
		return time.Time{}
	}
	return e.retryAt
}

// Reason answers [aicontent.Reason].
func (e *Error) Reason() string {
	if e == nil {
		return ""
	}
	conflict, ok := errors.AsType[*aicontent.ConflictError](e.Err)
	switch {
	case ok:
		return conflict.Problem
	case !e.Until.IsZero() && e.outcome == aicontent.OutcomeUnknown:
		return "an earlier request may still create the record"
	case !e.Until.IsZero(), errors.Is(e.Err, errHidden):
		return "the record was created, and is not shown yet"
	case errors.Is(e.Err, ErrMaxWait):
		return "another call for the name is under way"
	case errors.Is(e.Err, errLedger):
		return errLedger.Error()
	}
	return aicontent.Reason(e.Err)
}

type searchKey struct{}

// asSearch marks the requests that search for a record.
func asSearch(ctx context.Context) context.Context { return context.WithValue(ctx, searchKey{}, true) }

// IsSearch reports whether the context is from a List or Show by which this package searches for a record. A circuit
// breaker should let it pass: otherwise no call learns whether a billed request created its record. A hook must also
// check [aicontent.Attempt].Operation, and a middleware the method, because a hook may use the context for its own
// calls.
func IsSearch(ctx context.Context) bool { return ctx.Value(searchKey{}) != nil }

// ErrMaxWait matches the error of a call that [WithMaxWait] ended.
var ErrMaxWait = errors.New("an earlier request may still create it")

var (
	errGone = errors.New("the record was created, and no list shows it; nothing is sent again: " +
		"Delete frees the name")
	errHidden  = errors.New("it was there lately, and is not shown")
	errNothing = errors.New("no record came of the create request")
	errChanged = errors.New("another call has written the ledger's entry")
	errLedger  = errors.New("the ledger failed")
	errCut     = errors.New("the create request was cut off, as the ledger could not be written in time")
)

// outcome returns Executed if a record was created, else Unknown. Only none makes errors with the outcome NotExecuted.
func (c *call[T]) outcome() aicontent.Outcome {
	if c.made || !c.entry.Made.IsZero() {
		return aicontent.OutcomeExecuted
	}
	return aicontent.OutcomeUnknown
}

// fail returns the error of the call.
func (c *call[T]) fail(retryable bool, err error) *Error {
	if e, ok := err.(*aicontent.ConflictError); ok {
		err = conflict{e}
	}
	switch {
	case c.cause == nil, c.cause == err, err == aicontent.ErrNotFound:
	case sameEnd(err, c.cause):
		err = c.cause
	default:
		err = fmt.Errorf("%w; before: %w", err, c.cause)
	}
	var until, at time.Time
	now, asked := time.Now(), aicontent.RetryAt(err)
	if open := c.until(); open.After(now) {
		until = open.UTC()
		asked = now.Add(min(max(c.nextLook(), asked.Sub(now), c.asked.Sub(now)), open.Sub(now)))
	}
	if retryable && !asked.IsZero() {
		at = asked.UTC()
	}
	return &Error{c.collection, c.name, c.entry.ID, until, err, c.outcome(), retryable, at}
}

// sameEnd reports whether the end of the context explains both errors.
func sameEnd(a, b error) bool {
	return slices.ContainsFunc([]error{context.Canceled, context.DeadlineExceeded}, func(ended error) bool {
		return errors.Is(a, ended) && errors.Is(b, ended)
	})
}

// end returns the error of a call that ends early, with the ledger's present state of the record.
func (c *call[T]) end(ctx context.Context, why error) error {
	_ = c.get(context.WithoutCancel(ctx), ownTime)
	return c.fail(true, why)
}

// conflict is a conflict whose text lacks the name and a single ID, because those are in the text of Error.
type conflict struct{ *aicontent.ConflictError }

func (c conflict) Error() string {
	if len(c.IDs) < 2 {
		return c.Problem
	}
	return fmt.Sprintf("%s (id %s, %s)", c.Problem, c.IDs[0], c.IDs[1])
}

func (c conflict) Unwrap() error { return c.ConflictError }

// conflict returns the error of a name whose record may be another than the caller's.
func (c *call[T]) conflict(retryable bool, reason string) error {
	err := &aicontent.ConflictError{Name: c.name, Problem: reason}
	if c.entry.ID != "" {
		err.IDs = []aicontent.ID{c.entry.ID}
	}
	return c.fail(retryable, err)
}

// answers reports whether an error of the client matches the target. It ignores causes, which may be of other calls.
func answers(err, target error) bool {
	if e, ok := err.(interface{ Is(error) bool }); ok {
		return e.Is(target)
	}
	return errors.Unwrap(err) == target
}

// final reports whether a search or Show will fail in the same way next time.
func final(err error) bool {
	switch e := err.(type) {
	case *aicontent.APIError:
		return e.StatusCode == 403 && !e.Retryable() // with JSON
	case *aicontent.ValidationError, *aicontent.ConflictError:
		return true
	}
	return lacksNames(err)
}

// lacksNames reports whether a search failed because lists have no names.
func lacksNames(err error) bool {
	e, ok := err.(*aicontent.DecodeError)
	return ok && errors.Is(e.Err, names.ErrMissing)
}

// whyEnded returns the error and cause of an ended context, else nil. Its text is the cause's if that wraps the error.
func whyEnded(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case err == cause:
		return err
	case errors.Is(cause, err):
		return foreign{cause, err}
	}
	return fmt.Errorf("%w: %w", err, foreign{cause, nil})
}

// ledgerError returns the error of a Get or Put with the context own, derived from ctx.
func ledgerError(ctx, own context.Context, what string, err error) error {
	switch ended := whyEnded(ctx); {
	case ended != nil:
		return fmt.Errorf("%w before the ledger could be %s", ended, what)
	case own.Err() != nil:
		return fmt.Errorf("%w: it could not be %s in time", errLedger, what)
	}
	return fmt.Errorf("%w: it could not be %s: %w", errLedger, what, foreign{err, nil})
}

// foreign is the error of a ledger, the cause of a context, or the error of a request that was cut off. It matches no
// error that would describe this call, except for own.
type foreign struct{ err, own error }

func (f foreign) Error() string { return f.err.Error() }

// Is matches own, and as err does, except for the errors of contexts and the sentinels of this module.
func (f foreign) Is(target error) bool {
	return target == f.own || !slices.Contains(sentinels, target) && errors.Is(f.err, target)
}

// As matches as err does, except for the types of this module.
func (f foreign) As(target any) bool {
	switch target.(type) {
	case **Error, **aicontent.APIError, **aicontent.CallError, **aicontent.ConflictError, **aicontent.DecodeError,
		**aicontent.ValidationError:
		return false
	}
	return errors.As(f.err, target)
}

var sentinels = []error{
	context.Canceled, context.DeadlineExceeded, ErrMaxWait, ErrChanged, aicontent.ErrBadRequest,
	aicontent.ErrUnauthorized, aicontent.ErrForbidden, aicontent.ErrNotFound, aicontent.ErrConflict,
	aicontent.ErrTooLarge, aicontent.ErrInvalid, aicontent.ErrRateLimited, aicontent.ErrServer,
	aicontent.ErrPagination, aicontent.ErrFile,
}
