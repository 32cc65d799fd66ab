package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// forProgrammers is what errors say of the SDK: its methods, options and terms, and a limit that this program sets.
var forProgrammers = regexp.MustCompile(`\b(transcriptions|aicontent)\.\w+: | \(outcome [^()]*\)|` +
	`it would wait for too long \(WithMaxWait\)(; before: )?|` +
	` \([^()]*\bWith(StoreTimeout|ResponseTimeout|StallTimeout|MaxResponseSize|HTTPClient|InsecureHTTP)\b[^()]*\)|` +
	` \([^()]*\bWithoutValidation\b[^()]*\)`)

// plain is the text of an error for people who do not program: what happened, and what is known of the text.
func plain(err error) string {
	text, more := err.Error(), []string(nil)
	if e, ok := errors.AsType[*aicontent.APIError](err); ok && e.RetryAfter > 0 {
		more = append(more, fmt.Sprintf("the service asks to wait %v", e.RetryAfter))
	}
	if e, ok := errors.AsType[*once.Error](err); ok {
		text = strings.ReplaceAll(e.Err.Error(), "ledger", "journal")
		switch outcome := e.Outcome(); {
		case outcome == aicontent.OutcomeUnknown:
			more = append(more, "the text may still be created; the next run looks for it first")
		case outcome == aicontent.OutcomeExecuted && e.Retryable():
			more = append(more, "the text was made; if it was not deleted, the next run fetches it")
		case outcome == aicontent.OutcomeExecuted:
			more = append(more, "the text was made as "+e.Name+"; to have it made anew, use another -journal")
		}
	}
	text = forProgrammers.ReplaceAllString(strings.ReplaceAll(text, "\n", "; "), "")
	if len(more) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(more, "; ") + ")")
	}
	return printable(text)
}
