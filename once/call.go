package once

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"time"
	"unicode/utf8"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/names"
)

// service holds everything that the calls for a collection share.
type service[T any] struct {
	*config
	collection string
	api        api[T]
}

// api is the service of the client for a collection.
type api[T any] interface {
	FindByName(context.Context, string, ...aicontent.CallOption) (*T, error)
	Show(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	Delete(context.Context, aicontent.ID, ...aicontent.CallOption) error
}

// facts are the fields of a record that affect the call.
type facts struct {
	id      aicontent.ID
	name    string
	partial bool // the record has no result yet
}

func factsOf(record any) facts {
	switch r := record.(type) {
	case *aicontent.Image:
		return facts{r.ID, r.Name, false}
	case *aicontent.Transcription:
		return facts{r.ID, r.Name, r.Result == ""}
	}
	return facts{}
}

// call is one call for a name. It follows the rules in PROTOCOL.md.
type call[T any] struct {
	service[T]
	name     string // as given
	place    place
	token    string // random, in the entries of this call
	form     string // hash of Store's form; empty for Find and Delete
	deleting bool   // a Delete, for which a partial record is enough
	opts     []aicontent.CallOption
	log      *slog.Logger

	entry   entry         // as last read or written
	version string        // of the entry
	seen    time.Time     // when this call first saw or began to write the version; zero before the first Get
	turn    chan struct{} // of the queue; nil without a turn

	searched  bool
	announced bool  // an announcement of this call is in the ledger
	sent      bool  // the create request of this call was executed, or may have been
	made      bool  // a record was created, even if the entry has no Made
	cause     error // of the failed Store call, else of a search or Show; nil for none

	changes int           // rounds ended by the write of another call
	hidden  time.Time     // when Show first failed to find the record; zero for never
	asked   time.Time     // end of the Retry-After of a search; zero for none
	paused  time.Time     // start of the first pause for a request; zero before it
	waited  time.Duration // sum of all waits
}

func (s service[T]) call(name, form string, opts []aicontent.CallOption) *call[T] {
	return &call[T]{
		service: s, name: name, place: place{s.ledgerID, ledgerKey(s.scope, s.base, s.collection, name)},
		token: rand.Text(), form: form, opts: slices.Clip(opts),
		log: s.logger.With("collection", s.collection, "name", name),
	}
}

// create sends the create request.
type create[T any] func(context.Context, ...aicontent.CallOption) (*T, error)

func (c *call[T]) store(ctx context.Context, create create[T]) (record *T, found bool, err error) {
	defer c.leave()
	record, _, err = c.look(ctx, func(ctx context.Context) (*T, step, error) {
		if c.announced {
			return c.none(ctx, true, errNothing)
		}
		return c.send(ctx, create)
	})
	return record, record != nil && !c.sent, err
}

func (c *call[T]) find(ctx context.Context) (*T, error) {
	defer c.leave()
	record, _, err := c.look(ctx, c.absence)
	return record, err
}

func (c *call[T]) absence(ctx context.Context) (*T, step, error) {
	return c.none(ctx, false, aicontent.ErrNotFound)
}

// delete is rule 6.
func (c *call[T]) delete(ctx context.Context) error {
	defer c.leave()
	c.deleting = true
	record, last, err := c.look(ctx, c.absence)
	switch {
	case answers(err, aicontent.ErrNotFound):
		return nil
	case last == freed:
		_ = c.write(ctx, entry{})
		return err
	case last == gone:
		if err := c.write(ctx, entry{}); err != nil {
			return c.fail(true, err)
		}
		return nil
	case err != nil && (last != hidden || c.entry.ID == ""):
		return err
	case c.entry.ID == "":
		c.entry.ID = factsOf(record).id
	}
	err = c.api.Delete(ctx, c.entry.ID, c.opts...)
	if err != nil && !answers(err, aicontent.ErrNotFound) {
		c.made, c.entry.Until = true, time.Time{}
		return c.fail(aicontent.Retryable(err), err)
	}
	_ = c.write(ctx, entry{}) // without an error, because the next call learns from Show that the record is gone
	return nil
}

// check returns the error of an invalid context or name.
func (c *call[T]) check(ctx context.Context) error {
	problem := aicontent.FieldProblem{Field: "name", Value: c.name}
	switch {
	case ctx == nil:
		problem = aicontent.FieldProblem{Field: "ctx", Reason: "must not be nil"}
	case names.Canonical(c.name) == "":
		problem.Reason = "is required"
	case !utf8.ValidString(c.name):
		problem.Reason = "must be valid UTF-8"
	default:
		return nil
	}
	return &aicontent.ValidationError{Problems: []aicontent.FieldProblem{problem}}
}
