package once

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// Error is the error of Store, Find and Delete, except for the [*aicontent.ValidationError] of a Store with invalid
// arguments.
type Error struct {
	Collection string       // images or transcriptions
	Name       string       // as given
	ID         aicontent.ID // of the record; empty if unknown
	// Until is the time after which the requests for the name have either become a listed record or never will. It is
	// zero if no request is open. RetryAt returns an earlier time to call again.
	Until time.Time
	Err   error // the cause; an error of the ledger, or the cause of a context, is only in its text

	outcome   aicontent.Outcome
	retryable bool
	retryAt   time.Time
}

var oneLine = strings.NewReplacer("\r", "", "\n", "; ")

// Error returns one line with the collection, the name, the cause and the state of the record.
func (e *Error) Error() string {
	text := fmt.Sprintf("once: %s %.80q: %v (outcome %v)", e.Collection, e.Name, e.Err, e.outcome)
	if e.ID != "" {
		text += "; id " + string(e.ID)
	}
	if !e.Until.IsZero() {
		text += e.Until.Format("; open until " + time.RFC3339)
	}
	return oneLine.Replace(text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Outcome returns the outcome for [aicontent.OutcomeOf]: Executed if the record was created, Unknown while a request of
// any process may still create it, else NotExecuted.
func (e *Error) Outcome() aicontent.Outcome { return e.outcome }

// Retryable answers [aicontent.Retryable]: whether the same call may succeed. It is always safe.
func (e *Error) Retryable() bool { return e.retryable }

// RetryAt answers [aicontent.RetryAt] with the next useful time for the same call. While a request is open, these are
// 1, 3, 7, 15 and 31 seconds after it was announced or ended, then every 30 seconds, at the latest Until; a longer
// Retry-After counts instead. It is zero if no such time is known: use a backoff of your own.
func (e *Error) RetryAt() time.Time { return e.retryAt }

// Reason answers [aicontent.Reason].
func (e *Error) Reason() string {
	switch {
	case !e.Until.IsZero() && e.outcome == aicontent.OutcomeUnknown:
		return ErrMaxWait.Error()
	case !e.Until.IsZero():
		return "the record was created, and is not shown yet"
	case errors.Is(e.Err, errLedger):
		return errLedger.Error()
	}
	return aicontent.Reason(e.Err)
}

// ErrMaxWait matches the error of a call that [WithMaxWait] ended.
var ErrMaxWait = errors.New("an earlier request may still create the record")

var (
	errGone    = errors.New("the record was created, and no list shows it: nothing is sent until Delete frees the name")
	errHidden  = errors.New("the record was created, and Show lacks it: Delete frees the name at once if it is gone")
	errNothing = errors.New("no record came of the create request")
	errLedger  = errors.New("the ledger failed")
	errCut     = errors.New("cut off, because the ledger could not be written in time")
)

// brief is an error of the client without the outcome and the next step in its text, because those of this package
// differ.
type brief struct{ error }

func (b brief) Error() string { return aicontent.Reason(b.error) }

func (b brief) Unwrap() error { return b.error }

type searchKey struct{}

// IsSearch reports whether the context is from a List or Show by which this package searches for a record. A circuit
// breaker should let it pass: otherwise no call learns whether a billed request created its record. A hook must also
// check [aicontent.Attempt].Operation, and a middleware the method, because a hook may use the context for its own
// calls.
func IsSearch(ctx context.Context) bool { return ctx.Value(searchKey{}) != nil }

// notFound reports whether an error is the service's response that there is no record. An error that another call
// caused is retryable.
func notFound(err error) bool {
	return errors.Is(err, aicontent.ErrNotFound) && !aicontent.Retryable(err)
}

// whyEnded returns the error of an ended context, with its cause in the text. It returns nil if the context lives.
func whyEnded(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %v", err, cause)
}

// ledgerError returns the error of a Get or Put. If the context of the call has ended, it is the context's.
func ledgerError(ctx context.Context, err error) error {
	if ended := whyEnded(ctx); ended != nil {
		return ended
	}
	return fmt.Errorf("%w: %v", errLedger, err)
}
