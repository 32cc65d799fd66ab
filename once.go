package aicontent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/redact"
)

const (
	// The pauses between two looks for a record that may be in the making.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// longestLook is how long before the context's deadline the last look begins at the earliest.
	longestLook = 5 * time.Second
	// maxLookPages limits one look, in pages of 100.
	maxLookPages = 10
)

// WithOnce makes a Store call safe to repeat, in this call and in later ones. The caller promises a name that no other
// record has, such as a job's ID or a hash of the file: never a title that a person typed.
//
// Before each create request the SDK looks for a record with exactly that name. If there is one, Store returns it, and
// [Response].Found is set; if it differs in a parameter that was sent and that the service sends back, the error is a [*ConflictError].
// Text is compared without white space at its ends, and with any line break as \n. A file cannot be compared, so the name must
// stand for its content. After an unknown outcome the SDK looks for [RetryPolicy].SettleTime, five minutes by default, before
// it sends the request again, and once more right before the context's deadline. It says so in the log. Within a client
// one such call at a time runs for a collection and name.
//
// A second record is still possible where the service takes longer than SettleTime, where another process stores the same
// name at the same moment, and where the deployment's search does not find what it just stored: the API has no request
// that creates a record only if there is none. For a call that an earlier process may have started see [WithOnceSince].
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

// uniqueName is what a store with WithOnce looks for.
type uniqueName struct {
	collection string
	name       string
	form       url.Values // as sent
	settled    bool       // what an earlier run may have sent has been waited for
}

// nameLocks hold one store with WithOnce at a time for a collection and name.
type nameLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits until the name is free, or the context ends.
func (l *nameLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		free, held := l.held[name]
		if !held {
			mine := make(chan struct{})
			l.held[name] = mine
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, name)
				l.mu.Unlock()
				close(mine)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, contextError(ctx)
		}
	}
}

// lookBefore looks for the record before a create request: first for as long as an earlier run may still be making it. Nothing of
// this call is at stake, so a look that fails is retried like any request.
func (c *Client) lookBefore(ctx context.Context, r *request, h *history) (bool, error) {
	if settle := h.policy.SettleTime; !r.unique.settled && !r.since.IsZero() {
		r.unique.settled = true
		if until := r.since.Add(settle); time.Until(until) > 0 {
			return c.settle(ctx, r, until, true)
		}
	}
	return c.lookOnce(ctx, r)
}

// lookOnce looks until one look has succeeded, retrying as the retry policy allows.
func (c *Client) lookOnce(ctx context.Context, r *request) (bool, error) {
	policy := r.retry.complete()
	for n := 1; ; n++ {
		found, err := c.look(ctx, r)
		if err == nil || !passing(err) || n >= policy.MaxAttempts || !c.budget.take() {
			return found, err
		}
		if err := sleep(ctx, policy.backoff(n, rand.Float64())); err != nil {
			c.budget.give()
			return false, err
		}
	}
}

// settle looks for the record with growing pauses until it is there or the time has come, for SettleTime at most, and once more right
// before the context's deadline. A look that fails says nothing: the record may be there, and billed.
func (c *Client) settle(ctx context.Context, r *request, until time.Time, before bool) (bool, error) {
	if most := time.Now().Add(r.retry.complete().SettleTime); until.After(most) {
		until = most
	}
	if c.logger != nil && time.Until(until) > 0 {
		c.logger.LogAttrs(ctx, slog.LevelInfo, "aicontent looks for the record of a create request that may still be executed",
			slog.String("op", r.op), slog.String("collection", r.unique.collection), slog.Time("until", until), slog.Bool("earlier_run", before))
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		start := time.Now()
		found, err := c.look(ctx, r)
		if found || err != nil && !passing(err) {
			return found, err
		}
		now := time.Now()
		left := until.Sub(now)
		if deadline, ok := ctx.Deadline(); ok {
			// The last look needs the time that this one took, and some more, but one that hung is no measure.
			last := deadline.Sub(now) - min(2*now.Sub(start), longestLook) - 100*time.Millisecond
			if last <= 0 && left > 0 {
				return false, context.DeadlineExceeded
			}
			pause = min(pause, last)
		}
		if left <= 0 && err != nil {
			return c.lookOnce(ctx, r)
		}
		if left <= 0 {
			return false, nil
		}
		if err := sleep(ctx, min(pause, left)); err != nil {
			return false, err
		}
	}
}

// look looks once for the record with exactly the name, and reads it as the response to the store.
func (c *Client) look(ctx context.Context, r *request) (bool, error) {
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
		return false, &ConflictError{Name: r.unique.name, IDs: ids, Reason: "more than one record has the name"}
	}
	// A list may leave members out, so the record itself is asked for.
	var found *Response
	show := call{op: r.unique.collection + ".show", method: http.MethodGet, path: []string{r.unique.collection, string(ids[0])}, record: true}
	_, err = do(ctx, c, show, []CallOption{r.forLook(), WithResponse(&found)}, func(re reply) (struct{}, error) {
		if err := r.unique.compare(re.body, ids[0], key); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, r.read(re)
	})
	var differs *ConflictError
	switch {
	case errors.As(err, &differs):
		return false, differs
	case errors.Is(err, ErrNotFound):
		// It was deleted since the list was made.
		return false, nil
	case err != nil:
		return false, fmt.Errorf("WithOnce: reading the record with the name: %w", err)
	}
	if r.response != nil {
		found.Found = true
		*r.response = found
	}
	return true, nil
}

// entry is as much of a record of either kind as the search for a name needs.
type entry struct {
	id   ID
	name string
}

func (e *entry) fields(list []lenient.Field) []lenient.Field {
	return append(list, lenient.Field{Name: "id", At: (*string)(&e.id)}, lenient.Field{Name: "name", At: &e.name})
}
func (e *entry) keep(json.RawMessage) {}
func (e *entry) identity() ID         { return e.id }

// named returns the IDs of the records with exactly the name, two at most.
func (c *Client) named(ctx context.Context, r *request) ([]ID, error) {
	listing := listCall(r.unique.collection, TranscriptionListParams{
		Search: searchable(r.unique.name), SearchBy: TranscriptionSearchByName, PerPage: PerPage100,
	}, nil)
	var ids []ID
	page, err := list[entry](ctx, c, listing, []CallOption{r.forLook()})
	for n := 1; page != nil && err == nil; n++ {
		for _, e := range page.Items {
			if normalText(e.name) == r.unique.name && len(ids) < 2 {
				ids = append(ids, e.id)
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
func (u *uniqueName) compare(body []byte, id ID, key redact.Key) error {
	v, err := lenient.Parse(body)
	if err != nil {
		return err
	}
	raw, err := lenient.Record(v, strings.TrimSuffix(u.collection, "s"), new(entry).fields(nil))
	if err != nil {
		return err
	}
	for member, value := range lenient.Value(raw).Members() {
		name := member.Text()
		stored, sent := normalText(value.Text()), normalText(u.form.Get(name))
		if number := map[string]string{"true": "1", "false": "0"}; number[stored]+number[sent] != "" {
			stored, sent = cmp.Or(number[stored], stored), cmp.Or(number[sent], sent)
		}
		if sent != "" && stored != "" && sent != stored {
			return &ConflictError{Name: u.name, IDs: []ID{id}, Reason: fmt.Sprintf("the record with the name has another %s: %s, not %s",
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
var listParams = []string{
	"search", "search_by", "resolution", "style", "medium", "filter", "favorite", "sort_by", "sort", "per_page", "page", "cursor",
}

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
