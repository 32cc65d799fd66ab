package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// create makes a Store call. It waits for earlier requests and other calls until t.wait is over or the agent cancels
// it. That ends no create request, which is billed: the next call with the same arguments gets what came of it.
func create[P, T any](
	ctx context.Context, t *tools, req *request,
	store func(context.Context, P, ...aicontent.CallOption) (*T, bool, error), params P,
) (*mcp.CallToolResult, any, error) {
	call, end := context.WithCancelCause(t.life)
	defer end(nil)
	waiting, stop := context.WithTimeoutCause(ctx, t.wait, fmt.Errorf("waited for what becomes of a request, "+
		"perhaps of a server that was killed: it is known within %v", t.settle+7*time.Minute))
	defer stop()
	endWait := func() { end(context.Cause(waiting)) }
	stopWait := context.AfterFunc(waiting, endWait)
	hook := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		if a.Method != http.MethodPost {
			return nil, nil
		}
		if !stopWait() {
			return nil, context.Cause(waiting)
		}
		return func(aicontent.AttemptResult) { stopWait = context.AfterFunc(waiting, endWait) }, nil
	}

	var status atomic.Value
	status.Store("waiting")
	notifying, quiet := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { notify(notifying, req, &status) })
	record, found, err := store(call, params, aicontent.WithAttemptHook(hook),
		aicontent.WithProgress(func(p aicontent.Progress) {
			status.Store(fmt.Sprintf("waiting; sent %d of %d bytes", p.Sent, p.Total))
		}))
	quiet()
	wg.Wait()
	if err != nil {
		return nil, nil, advise(err, true)
	}
	return nil, map[string]any{"record": record, "billed_by_this_call": !found, "left_today": t.budget.left()}, nil
}

// notify tells once a second how a call is going. Progress must grow, unlike the bytes of an upload that starts over.
func notify(ctx context.Context, req *request, status *atomic.Value) {
	p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken()}
	for p.ProgressToken != nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			p.Progress, p.Message = p.Progress+1, status.Load().(string)
			_ = req.Session.NotifyProgress(ctx, p)
		}
	}
}

// forProgrammers is what an error says of options of the SDK, which an agent does not have.
var forProgrammers = regexp.MustCompile(` \([^()]*\bWith(?:out)?[A-Z][^()]*\)`)

// advise puts before an error what an agent should know and do.
func advise(err error, creates bool) error {
	text, temporary := "The same call would fail again: change the arguments or ask the user.", aicontent.Temporary(err)
	if temporary {
		text = "Call again with the same arguments in a minute."
	}
	switch outcome := aicontent.OutcomeOf(err); {
	case errors.As(err, new(*aicontent.ConflictError)):
		text = "It exists. Do not call again with these arguments: show it by its id, or ask the user."
	case !creates:
	case outcome == aicontent.OutcomeDone && temporary:
		text = "It was created. Call again with the same arguments: that looks for it first."
	case outcome == aicontent.OutcomeDone:
		text = "It was created. Call again once: that looks for it first. If that fails, ask the user."
	case outcome == aicontent.OutcomeUnknown && temporary:
		text = "It may have been created. Call again with the same arguments: that looks for it first."
	case outcome == aicontent.OutcomeUnknown:
		text = "It may have been created. Call again once: that looks for it first. If that fails, ask the user."
	case errors.Is(err, errLimit):
		text = "Nothing was created. Create nothing before midnight UTC; what exists is still returned."
	default:
		text = "Nothing was created. " + text
	}
	return fmt.Errorf("%s Reason: %s", text, forProgrammers.ReplaceAllString(err.Error(), ""))
}
