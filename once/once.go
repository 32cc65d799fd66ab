package once

import (
	"fmt"
	"log/slog"
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
type Option func(*config)

// WithSettleTime sets the settle time: the longest time, after the end of a create request, until lists show its
// record. The default is 15 minutes. It must exceed the longest Store, even behind a 504, or a record may be billed
// twice: the package documentation tells how to choose it. It must also exceed the time that a Store call waits for a
// response ([aicontent.WithStoreTimeout]), and be the same in all processes that store names of a collection in one
// ledger.
//
// With 0, a call does not wait after its request has ended: use it for a single process and a service that lists a
// record before it responds. Any other value below a millisecond is an error.
func WithSettleTime(d time.Duration) Option {
	return func(c *config) { c.settle = min(d, noLimit) } // to which the margin can be added
}

// WithMaxWait limits the pauses of a call, including the wait for another call of this process, to d in all. The error
// matches [ErrMaxWait] and is retryable. Unlike a context, the limit never ends a create request: use it in handlers
// and queue workers. With 0, a call makes no pause and takes as long as its requests and their retries. A negative d is
// an error. By default only the context limits the pauses.
func WithMaxWait(d time.Duration) Option {
	return func(c *config) { c.maxWait = d }
}

// WithScope sets the scope in which names are unique. The default, and "", is the base URL. Set a scope for one
// deployment with two URLs, such as 127.0.0.1 and localhost, or for two accounts with one URL. A new scope starts
// empty: it does not see names stored under another scope.
func WithScope(scope string) Option { return func(c *config) { c.scope = scope } }

// WithLogger logs, at info level, that a call begins to wait for an earlier request, and until when at most. The line
// has the name as the caller gave it. The default, and nil, is no log.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// noLimit is longer than any wait.
const noLimit time.Duration = 1 << 62

// config holds everything that the calls of a client share.
type config struct {
	ledger  Ledger
	base    string // URL
	scope   string
	settle  time.Duration
	maxWait time.Duration
	logger  *slog.Logger // nil for none
}

// New returns a client that keeps its names in the ledger. All processes that store the same names must share one
// ledger. The error is an [*aicontent.ValidationError]: for a nil ledger, an unusable folder of [Dir], or an invalid
// option.
func New(client *aicontent.Client, ledger Ledger, opts ...Option) (*Client, error) {
	c := &config{ledger: ledger, base: client.BaseURL(), settle: 15 * time.Minute, maxWait: noLimit}
	for _, opt := range opts {
		opt(c)
	}
	var problems []aicontent.FieldProblem
	check := func(ok bool, field string, value any, reason string) {
		if !ok {
			problems = append(problems, aicontent.FieldProblem{Field: field, Value: value, Reason: reason})
		}
	}
	check(ledger != nil, "ledger", nil, "must not be nil: InMemory or Dir returns one")
	check(c.settle == 0 || c.settle >= time.Millisecond, "settle_time", c.settle, "must be 0 or at least 1ms")
	check(c.maxWait >= 0, "max_wait", c.maxWait, "must not be negative")
	if l, ok := ledger.(dir); ok {
		if err := l.check(); err != nil {
			check(false, "ledger", ledger, "must be a usable folder: "+err.Error())
		}
	}
	if problems != nil {
		return nil, fmt.Errorf("once.New: %w", &aicontent.ValidationError{Problems: problems})
	}
	return &Client{
		&Images{records[aicontent.Image, aicontent.ImageStoreParams]{
			c, "images", client.Images,
			func(i *aicontent.Image) (aicontent.ID, string, bool) { return i.ID, i.Name, false },
		}},
		&Transcriptions{records[aicontent.Transcription, aicontent.TranscriptionStoreParams]{
			c, "transcriptions", client.Transcriptions,
			func(t *aicontent.Transcription) (aicontent.ID, string, bool) { return t.ID, t.Name, t.Result == "" },
		}},
	}, nil
}

// Key returns the key of a name in the ledger: the name of a file of [Dir], or the key of a row in a database. It
// depends on the base URL or the scope. The collection is images or transcriptions.
func (c *Client) Key(collection, name string) string {
	return c.Images.config.key(collection, name)
}
