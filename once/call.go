package once

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	aicontent "github.com/aicontent/aicontent-go"
)

// service is what a call needs to know of a collection.
type service[T any] struct {
	*config
	collection string
	api        api[T]
	facts      func(*T) facts
	partial    func(*T) bool // reports whether something of a record is yet to come
}

// api is the client's part for a collection.
type api[T any] interface {
	FindByName(context.Context, string, ...aicontent.CallOption) (*T, error)
	Show(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	Delete(context.Context, aicontent.ID, ...aicontent.CallOption) error
}

// facts are what a call must know of a record.
type facts struct {
	id   aicontent.ID
	name string
}

// call is one call for a name.
type call[T any] struct {
	service[T]
	name  string // as given
	key   string
	token string // of the call, in the entries that it writes
	form  string // hash of the form that would be sent; empty if none would
	opts  []aicontent.CallOption
	log   *slog.Logger

	entry   entry     // as last read, or written if it could be
	version string    // of it
	since   time.Time // when this call first saw the version; zero if it has read nothing

	searched bool
	noted    bool  // a request was announced
	paid     bool  // and its outcome was not NotExecuted
	made     bool  // a record was made, though the entry may not say so
	cause    error // why the Store call failed, or else a search; nil if none did

	delay  time.Duration // the next pause
	waited time.Duration // in all
}

func (s service[T]) call(name, form string, opts []aicontent.CallOption) *call[T] {
	return &call[T]{
		service: s, name: name, key: ledgerKey(s.scope, s.base, s.collection, name), token: rand.Text(), form: form,
		opts: slices.Clip(opts), log: s.logger.With("collection", s.collection, "name", name), delay: firstPause,
	}
}

// create sends the create request.
type create[T any] func(context.Context, ...aicontent.CallOption) (*T, error)

func (c *call[T]) store(ctx context.Context, create create[T]) (record *T, found bool, err error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	record, err = c.look(ctx, func() (*T, error) {
		if c.noted {
			return nil, c.none(ctx, aicontent.OutcomeNotExecuted, true, errNothing)
		}
		return c.send(ctx, create)
	})
	return record, record != nil && !c.paid, err
}

func (c *call[T]) find(ctx context.Context) (*T, error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return c.lookOnly(ctx)
}

func (c *call[T]) lookOnly(ctx context.Context) (*T, error) {
	return c.look(ctx, func() (*T, error) {
		return nil, c.none(ctx, aicontent.OutcomeNotExecuted, false, aicontent.ErrNotFound)
	})
}

// delete is rule 6.
func (c *call[T]) delete(ctx context.Context) error {
	leave, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	c.partial = func(*T) bool { return false }
	record, err := c.lookOnly(ctx)
	switch {
	case errors.Is(err, aicontent.ErrNotFound):
		return nil
	case errors.Is(err, aicontent.ErrConflict) && c.entry.ID != "": // It was renamed.
		_ = c.write(ctx, entry{})
		return err
	case errors.Is(err, errGone):
		if err := c.write(ctx, entry{}); err != nil {
			return c.fail(true, err)
		}
		return nil
	case err != nil && !errors.Is(err, errNotShown):
		return err
	case c.entry.ID == "":
		c.entry.ID = c.facts(record).id
	}
	err = c.api.Delete(ctx, c.entry.ID, c.opts...)
	if err != nil && !errors.Is(err, aicontent.ErrNotFound) {
		c.made = true
		return c.fail(aicontent.Retryable(err), err)
	}
	_ = c.write(ctx, entry{}) // If it cannot be written, the next call is told that there is no record with the ID.
	return nil
}

// turns has the names of the calls of this process that are under way, each with a channel that is closed at its end.
var turns sync.Map

// turn is a name in a ledger.
type turn struct {
	ledger any
	key    string
}

// enter waits until no other call of this process is under way for the name.
func (c *call[T]) enter(ctx context.Context) (leave func(), err error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	t := turn{c.ledger, c.key}
	if !reflect.ValueOf(c.ledger).Comparable() {
		t.ledger = c.config
	}
	over := time.After(c.maxWait)
	start, mine := time.Now(), make(chan struct{})
	for {
		busy, waits := turns.LoadOrStore(t, mine)
		if !waits {
			break
		}
		select {
		case <-busy.(chan struct{}):
		case <-ctx.Done():
			return nil, c.leave(ctx, whyEnded(ctx))
		case <-over:
			return nil, c.leave(ctx, ErrMaxWait)
		}
	}
	c.waited = time.Since(start)
	return func() {
		turns.Delete(t)
		close(mine)
	}, nil
}

// leave is the error of a call that ends early. It says what the ledger says.
func (c *call[T]) leave(ctx context.Context, why error) error {
	if c.since.IsZero() {
		_ = c.get(context.WithoutCancel(ctx), ownTime)
	}
	return c.fail(true, why)
}

func (c *call[T]) check(ctx context.Context) error {
	problem := aicontent.FieldProblem{Field: "name", Value: c.name}
	switch {
	case ctx == nil:
		problem = aicontent.FieldProblem{Field: "ctx", Reason: "must not be nil"}
	case strings.TrimSpace(c.name) == "":
		problem.Reason = "is required"
	case !utf8.ValidString(c.name):
		problem.Reason = "must be valid UTF-8"
	default:
		return nil
	}
	return &aicontent.ValidationError{Problems: []aicontent.FieldProblem{problem}}
}
