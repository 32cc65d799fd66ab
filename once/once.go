package once

import (
	"fmt"
	"log/slog"
	"reflect"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// Client stores, finds and deletes records by name. It is safe for concurrent use. Create one with [New]. The calls of
// a process for one name, on one ledger, wait for each other in memory.
type Client struct {
	Images         *Images
	Transcriptions *Transcriptions
}

// Option configures a [Client].
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// WithSettleTime sets how long after a create request ended its record may still be missing from lists. The default is
// 15 minutes, which is more than a Store call waits for a response, and has room for the difference of the machines'
// clocks. With a longer [aicontent.WithStoreTimeout], set it to more than that. All processes that share a ledger need
// the same settle time. With 0, a call searches once: for a single process, and a service that creates a record before
// it responds, or not at all, and lists it at once. Anything else below a millisecond is an error.
func WithSettleTime(d time.Duration) Option { return option(func(c *config) { c.settle = d }) }

// WithMaxWait ends a call whose pauses would come to more than d, the wait for another call of this process included.
// The error is retryable, does not match [context.DeadlineExceeded], and tells in [Error].Until when to call again. A
// create request under way is never ended by it, as a context does: it is for handlers and queue workers. With 0, a
// call never waits; a negative d is an error. The default is no limit but the context.
func WithMaxWait(d time.Duration) Option {
	return option(func(c *config) { c.maxWait = d })
}

// WithScope names what the names are unique in, in place of the base URL: for one deployment under two URLs, such as
// 127.0.0.1 and localhost, or two accounts under one. Under another scope, nothing that was stored before is known. The
// default, and "", is the base URL.
func WithScope(scope string) Option { return option(func(c *config) { c.scope = scope }) }

// WithLogger logs what a call waits for and until when, at info level; and as warnings, what could not be written to
// the ledger, and a record that came back under another name. The default, and nil, is no log.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) {
		if l != nil {
			c.logger = l
		}
	})
}

// noLimit is longer than any wait.
const noLimit time.Duration = 1 << 62

// config is what the calls of a client share.
type config struct {
	ledger   Ledger
	ledgerID any    // the ledger; if it cannot be compared, something of this client's own
	base     string // URL
	scope    string
	settle   time.Duration
	maxWait  time.Duration
	logger   *slog.Logger
}

// New returns a client that keeps what it stores in the ledger. All processes that store the same names must share one.
// The error matches [*aicontent.ValidationError] for a client or ledger that is nil, [Dir] of an empty path, a settle
// time that is negative or below a millisecond, and a negative MaxWait.
func New(client *aicontent.Client, ledger Ledger, opts ...Option) (*Client, error) {
	c := &config{
		ledger: ledger, base: client.BaseURL(), settle: 15 * time.Minute, maxWait: noLimit,
		logger: slog.New(slog.DiscardHandler),
	}
	var problems []aicontent.FieldProblem
	check := func(ok bool, field string, value any, reason string) {
		if !ok {
			problems = append(problems, aicontent.FieldProblem{Field: field, Value: value, Reason: reason})
		}
	}
	for _, opt := range opts {
		check(opt != nil, "option", nil, "must not be nil")
		if opt != nil {
			opt.apply(c)
		}
	}
	check(c.base != "", "client", nil, "must be one that NewClient created")
	check(ledger != nil, "ledger", nil, "must not be nil: InMemory or Dir returns one")
	check(ledger != dir(""), "ledger", nil, "must be a folder: the path given to Dir is empty")
	check(c.settle == 0 || c.settle >= time.Millisecond, "settle_time", c.settle, "must be 0 or at least 1ms")
	check(c.maxWait >= 0, "max_wait", c.maxWait, "must not be negative")
	if l, ok := ledger.(interface{ check() error }); ok && problems == nil {
		if err := l.check(); err != nil {
			check(false, "ledger", ledger, "must be usable: "+err.Error())
		}
	}
	if problems != nil {
		return nil, fmt.Errorf("once.New: %w", &aicontent.ValidationError{Problems: problems})
	}
	if c.ledgerID = ledger; !reflect.ValueOf(ledger).Comparable() {
		c.ledgerID = c
	}
	images, transcriptions := client.Images, client.Transcriptions
	return &Client{
		Images:         &Images{images, service[aicontent.Image]{c, "images", images}},
		Transcriptions: &Transcriptions{transcriptions, service[aicontent.Transcription]{c, "transcriptions", transcriptions}},
	}, nil
}
