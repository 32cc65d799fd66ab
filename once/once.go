package once

import (
	"crypto/rand"
	"log/slog"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// Client stores, finds and deletes records by name. It is safe for concurrent use. Create one with [New] and keep it:
// its calls for the same name wait for each other in memory, without polling the ledger.
type Client struct {
	Images         *Images
	Transcriptions *Transcriptions
}

// Option configures a [Client].
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// WithSettleTime sets how long after a create request ended its record may still appear in lists. The default is 15
// minutes, which is more than a Store call waits for a response. With a longer [aicontent.WithStoreTimeout], set it to
// more than that. All processes that share a ledger need the same settle time. With 0, a call searches once: for a
// single process, and a service that creates a record before it responds, or not at all, and lists it at once. Anything
// else below a millisecond is an error.
func WithSettleTime(d time.Duration) Option { return option(func(c *config) { c.settle = d }) }

// WithScope keeps apart what must not meet in one ledger, such as the accounts of one base URL. The default is none.
// Under another scope, nothing that was stored before is known.
func WithScope(scope string) Option { return option(func(c *config) { c.scope = scope }) }

// WithLogger logs what a call waits for and until when, at info level, and what could not be written to the ledger, as
// a warning. The default, and nil, is no log.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) {
		if l != nil {
			c.logger = l
		}
	})
}

// config is what the calls of a client share.
type config struct {
	ledger  Ledger
	base    string // URL
	scope   string
	settle  time.Duration
	logger  *slog.Logger
	process string // a random name, as a Client is a process to the others
	names   names
}

// New returns a client that keeps what it stores in the ledger. All processes that store the same names must share one.
// A client or ledger that is nil, and a settle time that is negative or below a millisecond, are an
// [*aicontent.ValidationError].
func New(client *aicontent.Client, ledger Ledger, opts ...Option) (*Client, error) {
	c := &config{
		ledger: ledger, base: client.BaseURL(), settle: 15 * time.Minute, logger: slog.New(slog.DiscardHandler),
		process: rand.Text(), names: names{busy: map[string]chan struct{}{}, seen: map[string]sight{}},
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
	check(c.settle == 0 || c.settle >= time.Millisecond, "settle_time", c.settle, "must be 0 or at least 1ms")
	if problems != nil {
		return nil, &aicontent.ValidationError{Problems: problems}
	}
	return &Client{newImages(c, client.Images), newTranscriptions(c, client.Transcriptions)}, nil
}
