package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// plain is the text of an error for people who do not program: what happened, how long the service asks to wait, the
// request for whoever runs the service, and what is known of the text.
func plain(err error) string {
	text, more := bare(err), []string(nil)
	e, stored := errors.AsType[*once.Error](err)
	switch {
	case text == "" && stored && e.Outcome() == aicontent.OutcomeDone && !e.Temporary():
		text = fmt.Sprintf("it was made as %s, but no list shows it, and it is not sent again; to do so all the same, "+
			"use another -journal", e.Name)
	case text == "" && stored:
		text = strings.ReplaceAll(e.Err.Error(), "ledger", "journal")
	case text == "":
		return printable(strings.ReplaceAll(err.Error(), "\n", "; ")) // errors.Join has a line for each
	}
	if e, ok := errors.AsType[*aicontent.APIError](err); ok {
		if e.RetryAfter > 0 {
			more = append(more, fmt.Sprintf("the service asks to wait %v", e.RetryAfter))
		}
		if e.RequestID != "" {
			more = append(more, "request "+e.RequestID)
		}
	}
	switch outcome := aicontent.OutcomeOf(err); {
	case outcome == aicontent.OutcomeDone && errors.Is(err, aicontent.ErrNotFound):
		more = append(more,
			"the text was made, and is not shown; if it was deleted, run again later to have it made anew")
	case outcome == aicontent.OutcomeUnknown:
		more = append(more, "the text may still be created; the next run looks for it first")
	case outcome == aicontent.OutcomeDone && aicontent.Temporary(err):
		more = append(more, "the text exists; run again to fetch it")
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return printable(text)
}

// bare is the text of the SDK's error in a tree, without what is for programmers; empty if there is none. A copy of an
// error that knows nothing of its call says what happened and no more.
func bare(err error) string {
	var copied error
	if e, ok := errors.AsType[*aicontent.ValidationError](err); ok {
		problems := slices.Clone(e.Problems)
		for i := range problems {
			problems[i].Hint = ""
		}
		copied = &aicontent.ValidationError{Problems: problems}
	} else if e, ok := errors.AsType[*aicontent.APIError](err); ok {
		copied = &aicontent.APIError{StatusCode: e.StatusCode, Message: e.Message, Fields: e.Fields}
	} else if e, ok := errors.AsType[*aicontent.ConflictError](err); ok {
		copied = &aicontent.ConflictError{Name: e.Name, IDs: e.IDs, Reason: e.Reason}
	} else if e, ok := errors.AsType[*aicontent.DecodeError](err); ok {
		copied = &aicontent.DecodeError{StatusCode: e.StatusCode, Err: own(e.Err)}
	} else if e, ok := errors.AsType[*aicontent.TransportError](err); ok {
		copied = &aicontent.TransportError{Err: own(e.Err)}
	} else {
		return ""
	}
	return strings.TrimPrefix(copied.Error(), " : ") // the request that it does not know
}

// optionNames are what some errors of the SDK end with.
var optionNames = regexp.MustCompile(` \(With(StoreTimeout|ResponseTimeout|StallTimeout|MaxResponseSize|HTTPClient)\)`)

func own(err error) error { return errors.New(optionNames.ReplaceAllString(fmt.Sprint(err), "")) }
