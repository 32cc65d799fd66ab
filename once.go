package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	firstPause   = time.Second // between two looks for a record that may be in the making
	lastPause    = 30 * time.Second
	longestLook  = 5 * time.Second // the last look begins no longer than this before the context's deadline
	maxLookPages = 10              // of 100 records, in one look
)

// WithOnce makes a Store call safe to repeat, in this call and in later ones. The caller promises a name that no other record
// has, such as a job's ID or a hash of the file: never a title that a person typed.
//
// Before each create request the SDK looks for a record with exactly that name. If there is one, Store returns it, and
// [Response].Found is set; if it differs in a parameter that was sent and that the service sends back, the error is a
// [*ConflictError]. Text is compared without white space at its ends, and with any line break as \n. A file cannot be compared, so
// the name must stand for its content. After an unknown outcome the SDK looks for [RetryPolicy].SettleTime, five minutes by
// default, before it sends the request again, and once more right before the context's deadline. It says so in the log. Within a
// client one such call at a time runs for a collection and name.
//
// A second record is still possible where the service takes longer than SettleTime, where another process stores the same name
// at the same moment, and where the deployment's search does not find what it just stored: the API has no request that creates a
// record only if there is none. For a call that an earlier process may have started see [WithOnceSince].
//
// For other methods it does nothing; given to [NewClient] it is an error.
func WithOnce() CallOption {
	return storeOption{callOption{set: func(s *settings) { s.once = true }}, "WithOnce"}
}

// WithOnceSince is [WithOnce] for a job that an earlier run may have sent. LastTry is the last moment at which that run may
// have been sending or waiting: its last sign of life, never its start. Before the first create request the SDK looks
// until lastTry plus [RetryPolicy].SettleTime, for SettleTime at most. A zero lastTry is one look, as with WithOnce.
func WithOnceSince(lastTry time.Time) CallOption {
	return storeOption{callOption{set: func(s *settings) { s.once, s.since = true, lastTry }}, "WithOnceSince"}
}

// nameLocks hold one store with WithOnce at a time for a collection and name: a channel each, closed when the name is free.
type nameLocks struct{ held sync.Map }

// lock waits until the name is free, or the context ends.
func (l *nameLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		other, held := l.held.LoadOrStore(name, mine)
		if !held {
			return func() {
				l.held.Delete(name)
				close(mine)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, contextError(ctx)
		}
	}
}

// lookFor looks for the record after a number of attempts, with growing pauses, until it is there or SettleTime has passed since
// the last request that may still be executed, and once more right before the context's deadline. A zero time is one look. A
// look that fails says nothing: the record may be there, and billed. The last one is retried like any request.
func (c *Client) lookFor(ctx context.Context, r *request, since time.Time, attempts int) (bool, error) {
	until := time.Now().Add(min(r.retry.SettleTime, time.Until(since.Add(r.retry.SettleTime))))
	if c.logger != nil && time.Until(until) > 0 {
		c.logger.LogAttrs(ctx, slog.LevelInfo, "aicontent looks for the record of a create request that may still be executed",
			slog.String("op", r.op), slog.String("collection", r.collection), slog.Time("until", until), slog.Bool("earlier_run", attempts == 0))
	}
	retries := 0
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		start := time.Now()
		found, err := c.look(ctx, r, attempts)
		if found || err != nil && !passing(err) {
			return found, err
		}
		now := time.Now()
		wait := min(pause, until.Sub(now))
		if deadline, ok := ctx.Deadline(); ok && wait > 0 {
			// The last look needs the time that this one took, and some more, but one that hung is no measure.
			last := deadline.Sub(now) - min(2*now.Sub(start), longestLook) - 100*time.Millisecond
			if last <= 0 {
				return false, context.DeadlineExceeded
			}
			wait = min(wait, last)
		}
		retry := wait <= 0 // it was the last look, and only one that failed is repeated
		if retry {
			if retries++; err == nil || retries >= r.retry.MaxAttempts || !c.budget.take() {
				return false, err
			}
			wait = r.retry.backoff(retries, rand.Float64())
		}
		if err := sleep(ctx, wait); err != nil {
			if retry {
				c.budget.give(1)
			}
			return false, err
		}
	}
}

// look looks once for the record with exactly the name, and reads it as the response to the store.
func (c *Client) look(ctx context.Context, r *request, attempts int) (bool, error) {
	ids, err := c.named(ctx, r)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	// What the service says may go into an error.
	text, _ := c.key(ctx)
	key := redact.Key(text)
	if len(ids) > 1 {
		for i, id := range ids {
			ids[i] = ID(redact.Shorten(key.Line(string(id)), 80))
		}
		return false, &ConflictError{Name: r.name, IDs: ids, Reason: "more than one record has the name"}
	}
	// A list may leave members out, so the record itself is asked for.
	var found *Response
	show := call{op: r.collection + ".show", id: ids[0]}
	_, err = do(ctx, c, show, []CallOption{r.forLook(), WithResponse(&found)}, func(re reply) (*Image, error) {
		record, err := readRecord[Image](re)
		if err == nil {
			err = r.compare(lenient.Value(record.raw), ids[0], key)
		}
		if err == nil {
			err = r.read(re)
		}
		return record, err
	})
	var differs *ConflictError
	switch {
	case errors.As(err, &differs):
		return false, differs
	case errors.Is(err, ErrNotFound):
		return false, nil // it was deleted since the list was made
	case err != nil:
		return false, fmt.Errorf("WithOnce: reading the record with the name: %w", err)
	}
	if r.response != nil {
		found.Found, found.Attempts = true, attempts
		*r.response = found
	}
	return true, nil
}

// named returns the IDs of the records with exactly the name, two at most. Of either kind an Image holds the ID and the name.
func (c *Client) named(ctx context.Context, r *request) ([]ID, error) {
	search := TranscriptionListParams{Search: searchable(r.name), SearchBy: TranscriptionSearchByName, PerPage: PerPage100}
	var ids []ID
	page, err := list[Image](ctx, c, call{op: r.collection + ".list", query: valuesOf(search)}, []CallOption{r.forLook()})
	for n := 1; page != nil && err == nil; n++ {
		for _, e := range page.Items {
			if normalText(e.Name) == r.name && len(ids) < 2 {
				ids = append(ids, e.ID)
			}
		}
		if n == maxLookPages && page.HasNext() {
			return nil, fmt.Errorf("WithOnce: a search for the name finds more than %d pages of records; use a name that few others contain", n)
		}
		page, err = page.Next(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("WithOnce: looking for the name: %w", err)
	}
	return ids, nil
}

// compare reports what a record that was found says otherwise than the form, as a ConflictError.
func (r *request) compare(record lenient.Value, id ID, key redact.Key) error {
	boolean := map[string]string{"true": "1", "false": "0"}
	for member, value := range record.Members() {
		name := member.Text()
		stored, sent := normalText(value.Text()), normalText(r.call.form.Get(name))
		stored, sent = cmp.Or(boolean[stored], stored), cmp.Or(boolean[sent], sent)
		if sent != "" && stored != "" && sent != stored {
			return &ConflictError{Name: r.name, IDs: []ID{id}, Reason: fmt.Sprintf("the record with the name has another %s: %s, not %s",
				name, redact.Quote(key.Line(stored)), redact.Quote(sent))}
		}
	}
	return nil
}

// normalText is a text as two of them are compared: services trim it, and browsers and databases change line breaks.
func normalText(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}

// listParams are the parameters that would keep a look from finding the name.
var listParams = strings.Fields("search search_by resolution style medium filter favorite sort_by sort per_page page cursor")

// forLook sets a look's options: the client's, the store's headers and queries, and one attempt.
func (r *request) forLook() CallOption {
	return callOption{set: func(s *settings) {
		s.looking, s.retry.MaxAttempts, s.response = true, 1, nil
		s.header = r.header
		s.query = slices.DeleteFunc(slices.Clone(r.settings.query), func(p pair) bool { return slices.Contains(listParams, p.key) })
	}}
}

// passing reports whether a look that failed may succeed later.
func passing(err error) bool {
	var e callError
	return errors.As(err, &e) && e.facts().passing
}

// searchable returns the longest part of a name without a backslash, which databases take for an escape in a search, or a line break.
// What it finds besides the name is told apart afterwards.
func searchable(name string) string {
	return slices.MaxFunc(strings.Split(strings.ReplaceAll(name, `\`, "\n"), "\n"), func(a, b string) int { return len(a) - len(b) })
}
