package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/aicontent/aicontent-go"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (t *tools) createImage(ctx context.Context, req *request, in imageArguments) (*mcp.CallToolResult, any, error) {
	in.Again = max(in.Again, 1)
	params := aicontent.ImageStoreParams{
		Name: nameOf(in.Description, in), Description: in.Description, Resolution: in.Resolution,
		Style: in.Style, Medium: in.Medium, Filter: in.Filter,
	}
	whole := func(ctx context.Context, image *aicontent.Image) (*aicontent.Image, error) {
		if image.URL != "" {
			return image, nil
		}
		return t.client.Images.Wait(ctx, image.ID)
	}
	return create(ctx, t, req, t.names.Images.Store, whole, params.Name, params)
}

// nameOf returns the name of a record: words of the description, so that people and agents find it, and a hash of
// everything that the record is made of. It has 97 characters at most, and known services accept 128. New arguments
// must be left out of the hash if they are empty.
func nameOf(description string, parts ...any) string {
	data, _ := json.Marshal(parts) // It cannot fail for texts, numbers and bytes.
	return fmt.Sprintf("mcp-%s-%.16x", wordsOf(description), sha256.Sum256(data))
}

// wordsOf returns the words of a text in lower case, with hyphens between them, cut off after 60 characters.
func wordsOf(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) || unicode.Is(unicode.Variation_Selector, r)
	})
	return fmt.Sprintf("%.60s", strings.Join(words, "-"))
}

// searchFor returns the search that finds names with the words of a text, of nameOf or of people: a pattern of SQL's
// LIKE, where % stands for any text. Services ignore the case of ASCII letters alone.
func searchFor(text string) string {
	words := wordsOf(text)
	if words == "" || strings.HasPrefix(text, "mcp-") {
		return text
	}
	return strings.ReplaceAll(words, "-", "%")
}

// create makes a Store call, which waits no longer than the flag -wait says. It never cuts off a create request,
// because it is billed all the same: the next call with the same arguments gets its record. A waiting call
// whose agent cancels it sends no request. Some services respond before a record is whole: then create waits, as long
// as -wait says again.
func create[P, T any](
	ctx context.Context, t *tools, req *request,
	store func(context.Context, P, ...aicontent.CallOption) (*T, bool, error),
	whole func(context.Context, *T) (*T, error), name string, params P,
) (*mcp.CallToolResult, any, error) {
	veto := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		if a.Method != http.MethodPost {
			return nil, nil
		}
		return nil, ctx.Err()
	}
	sent, stop := report(ctx, req)
	defer stop()
	record, found, err := store(context.WithoutCancel(ctx), params, aicontent.WithAttemptHook(veto),
		aicontent.WithProgress(sent))
	if err != nil {
		known := map[aicontent.Outcome]string{
			aicontent.OutcomeUnknown: "It may have been created. ", aicontent.OutcomeExecuted: "It was created. ",
			aicontent.OutcomeNotExecuted: "Nothing was created. ",
		}
		return nil, nil, fmt.Errorf("%w. Its name: %s", t.advise(known[aicontent.OutcomeOf(err)], err), name)
	}
	result := map[string]any{"name": name, "record": record, "billed_by_this_call": !found}
	waiting, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	if record, err = whole(waiting, record); err != nil {
		result["incomplete"] = "The picture or the text is not there yet. The same call looks again, and costs nothing."
	} else {
		result["record"] = record
	}
	return nil, result, nil
}

// report notifies the agent of progress every ten seconds until stop is called, if it asked for that.
func report(ctx context.Context, req *request) (sent func(aicontent.Progress), stop func()) {
	var last atomic.Pointer[aicontent.Progress]
	ctx, stop = context.WithCancel(ctx)
	if token := req.Params.GetProgressToken(); token != nil {
		start := time.Now()
		ticks := time.NewTicker(10 * time.Second)
		go func() {
			defer ticks.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticks.C:
				}
				elapsed := time.Since(start).Round(time.Second)
				message := fmt.Sprintf("waiting for the record for %v", elapsed)
				if p := last.Load(); p != nil && p.Sent < p.Total {
					message = fmt.Sprintf("sent %d of %d bytes in %v", p.Sent, p.Total, elapsed)
				}
				// An agent that does not read it gets the result all the same.
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Message: message, Progress: elapsed.Seconds(),
				})
			}
		}()
	}
	return func(p aicontent.Progress) { last.Store(&p) }, stop
}

// advise returns the error that an agent sees: the state of the record, the next step and the reason.
func (t *tools) advise(known string, err error) error {
	if err == nil {
		return nil
	}
	t.log.Warn("a tool failed", "error", err)
	do := "The same call would fail again: change the arguments or ask the user."
	if aicontent.Retryable(err) && !errors.Is(err, aicontent.ErrUnauthorized) { // An agent cannot correct the key.
		wait := time.Minute
		at := aicontent.RetryAt(err)
		if day, ok := errors.AsType[spent](err); ok {
			at = day.midnight
		}
		if !at.IsZero() {
			wait = max(time.Until(at), time.Second).Round(time.Second)
		}
		do = fmt.Sprintf("Call again with the same arguments in %v.", wait)
	}
	text := known + do + " Reason: " + strings.TrimSuffix(aicontent.Reason(err), ".")
	if conflict, ok := errors.AsType[*aicontent.ConflictError](err); ok {
		text += fmt.Sprintf(" (ids: %v)", conflict.IDs)
	}
	return errors.New(text)
}
