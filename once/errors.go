package once

import (
	"context"
	"errors"
	"fmt"
	"strings"

	aicontent "github.com/aicontent/aicontent-go"
)

var (
	errEntry = errors.New("the ledger's entry cannot be read")
	errLost  = errors.New("another process took the name over, as this one did not renew its claim in time")
	errLate  = errors.New("the ledger could not be written for too long, so another process may take the name over")
)

// Error is the error of Store, Find and Delete, except for a [*aicontent.ValidationError], which is returned as it is.
type Error struct {
	Collection string       // images or transcriptions
	Name       string       // as given
	ID         aicontent.ID // of the record, if it is known and could not be shown or deleted
	Err        error        // why the call failed

	outcome   aicontent.Outcome
	temporary bool
}

// Error is one line: the collection, the name, the cause, and what is known of the record.
func (e *Error) Error() string {
	known := "outcome " + e.outcome.String()
	if e.ID != "" {
		known += ", id " + string(e.ID)
	}
	return oneLine.Replace(fmt.Sprintf("once: %s %.80q: %v (%s)", e.Collection, e.Name, e.Err, known))
}

var oneLine = strings.NewReplacer("\r\n", "; ", "\n", "; ", "\r", "; ")

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Outcome returns what is known of the record: Done if it was created, Unknown while anybody's request may still create
// it, otherwise NotSent, or Rejected if the service said so. [aicontent.OutcomeOf] calls it.
func (e *Error) Outcome() aicontent.Outcome {
	if e == nil {
		return aicontent.OutcomeUnknown
	}
	return e.outcome
}

// Temporary reports whether the same call may succeed later: true if a wait was cut short, the ledger failed, or a
// request failed for a reason that may pass. [aicontent.Temporary] calls it.
func (e *Error) Temporary() bool { return e != nil && e.temporary }

type searchKey struct{}

func searching(ctx context.Context) context.Context { return context.WithValue(ctx, searchKey{}, true) }

// IsSearch reports whether a request with this context is a List or Show with which this package looks for a record. A
// hook or middleware that refuses requests, such as a circuit breaker, should let it pass: otherwise nobody learns what
// became of a create request that was billed.
func IsSearch(ctx context.Context) bool { return ctx.Value(searchKey{}) != nil }
