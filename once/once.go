package once

import (
	"fmt"
	"log/slog"
	"reflect"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// Client stores, finds and deletes records by name. It is safe for concurrent use. Create one with [New]. Calls of one
// process for the same name and ledger take turns, unless the ledger knows the record.
type Client struct {
	Images         *Images
	Transcriptions *Transcriptions
}

// Option configures a [Client].
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// WithSettleTime sets the settle time: the longest time, after the end of a create request, until lists show its
// record. The package documentation tells how to choose it. The default is 15 minutes. It must exceed the time that a
// Store call waits for a response ([aicontent.WithStoreTimeout]), and be the same in all processes that store names of
// a collection in one ledger.
//
// With 0, a call does not wait after its request has ended: use it for a single process and a service that lists a
// record before it responds. Any other value below a millisecond is an error.
func WithSettleTime(d time.Duration) Option {
	return option(func(c *config) { c.settle = min(d, noLimit) }) // to which the margin can be added
}

// WithMaxWait limits the pauses of a call, including the wait for another call of this process, to d in all. The error
// matches [ErrMaxWait] and is retryable. Unlike a context, the limit never ends a create request: use it in handlers
// and queue workers. With 0, a call makes no pause and takes as long as its requests and their retries. A negative d is
// an error. By default only the context limits the pauses.
func WithMaxWait(d time.Duration) Option {
	return option(func(c *config) { c.maxWait = d })
}

// WithScope sets the scope in which names are unique. The default, and "", is the base URL. Set a scope for one
// deployment with two URLs, such as 127.0.0.1 and localhost, or for two accounts with one URL. A new scope starts
// empty: it does not see names stored under another scope.
func WithScope(scope string) Option { return option(func(c *config) { c.scope = scope }) }

// WithLogger logs waits at info level. It logs a warning if the ledger cannot be written, the service changes a name,
// or the clock of another process is fast. The default, and nil, is no log.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) {
		if l != nil {
			c.logger = l
		}
	})
}

// noLimit is longer than any wait.
const noLimit time.Duration = 1 << 62

// config holds everything that the calls of a client share.
type config struct {
	ledger   Ledger
	ledgerID any    // the ledger, or this config if the ledger is not comparable
	base     string // URL
	scope    string
	settle   time.Duration
	maxWait  time.Duration
	logger   *slog.Logger
}

// New returns a client that keeps its names in the ledger. All processes that store the same names must share one
// ledger. The error is an [*aicontent.ValidationError]: for a nil client or ledger, an unusable folder of [Dir], or an
// invalid option.
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
			check(false, "ledger", ledger, "must be a usable folder: "+err.Error())
		}
	}
	if problems != nil {
		return nil, fmt.Errorf("once.New: %w", &aicontent.ValidationError{Problems: problems})
	}
	if c.ledgerID = ledger; !reflect.ValueOf(ledger).Comparable() {
		c.ledgerID = c
	}
	images, texts := client.Images, client.Transcriptions
	return &Client{
		Images:         &Images{images, service[aicontent.Image]{c, "images", images}},
		Transcriptions: &Transcriptions{texts, service[aicontent.Transcription]{c, "transcriptions", texts}},
	}, nil
}
