package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// problem is an error as shown to a visitor: what happened, why, and whether to press the button again.
type problem struct {
	Status    int // of the page
	Title     string
	Detail    string // in the words of the service
	Advice    string
	LookAt    string // address of the record, or of a list that may have it; empty if there is none
	Sent      bool   // whether the form has created a record, so that another one needs a new form
	Fixed     bool   // whether the form may have created a record, so that its title must stay
	Reference string // the request ID, to quote to the service
	Fields    []aicontent.FieldProblem
}

// kind is a kind of error: what the page says of it, and what to do if nothing was changed.
type kind struct {
	status        int
	title, remedy string
}

const (
	pressAgain    = "You can press the button again."
	chooseSmaller = "Choose a smaller file and press the button again."
	fixDisk       = "Retrying will not help until the gallery’s operator makes room on it."
	fixKey        = "Retrying will not help until the gallery’s operator fixes its key."
)

// kinds has the kinds of errors that are told by errors.Is. The first that matches counts.
var kinds = []struct {
	err error
	kind
}{
	{errChanged, kind{409, "This was changed since you opened it", ""}},
	{errStalled, kind{408, "The form stopped arriving", pressAgain}},
	{errMalformedForm, kind{400, "The form could not be read", pressAgain}},
	{aicontent.ErrNotFound, kind{404, "Not found", "It may have been deleted, or the address is wrong."}},
	{aicontent.ErrInvalid, kind{422, "Please check what you entered", "Correct it and press the button again."}},
	{aicontent.ErrBadRequest, kind{422, "Please check what you entered", pressAgain}},
	{aicontent.ErrUnauthorized, kind{502, "The service rejects the gallery’s key", fixKey}},
	{aicontent.ErrForbidden, kind{502, "The service rejects the gallery’s key", fixKey}},
	{aicontent.ErrTooLarge, kind{413, "The file is too large for the service", chooseSmaller}},
	{aicontent.ErrRateLimited, kind{503, "The service is busy", pressAgain}},
	{aicontent.ErrServer, kind{502, "The service had a problem", pressAgain}},
	{aicontent.ErrPagination, kind{502, "The service did not say whether its list continues", pressAgain}},
}

func kindOf(err error) kind {
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooLarge):
		return kind{413, fmt.Sprintf("Too large: the gallery accepts at most %d MB", tooLarge.Limit>>20), chooseSmaller}
	case errors.As(err, new(*fs.PathError)):
		return kind{500, "The gallery cannot write to its disk", fixDisk}
	}
	for _, known := range kinds {
		if errors.Is(err, known.err) {
			return known.kind
		}
	}
	var transport *aicontent.CallError
	var stored *once.Error
	switch {
	case errors.As(err, new(*aicontent.ConflictError)):
		return kind{409, "This form was already sent", ""}
	case errors.As(err, new(*aicontent.DecodeError)):
		return kind{502, "The service sent a response that the gallery cannot read", pressAgain}
	case errors.Is(err, context.Canceled):
		return kind{503, "Cancelled", pressAgain}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &transport) && transport.Timeout():
		return kind{504, "The service took too long", pressAgain}
	case errors.As(err, new(*aicontent.APIError)):
		return kind{502, "The service refused", pressAgain}
	case errors.As(err, &stored) && !stored.Until.IsZero():
		return kind{503, "It is not there yet", pressAgain}
	}
	return kind{502, "The service cannot be reached", pressAgain}
}

// explain turns the error of a call into a problem, and logs it.
func (s *server) explain(r *http.Request, err error, a action) problem {
	var invalid *aicontent.ValidationError
	var refused *aicontent.APIError
	var unreadable *aicontent.DecodeError
	if errors.As(err, &invalid) && invalid.Problems[0].Field == "id" {
		err = errors.Join(aicontent.ErrNotFound, err) // no record can have it
	}
	k := kindOf(err)
	p := problem{Status: k.status, Title: k.title, Advice: advise(err, a, k.remedy)}
	switch {
	case k.status == http.StatusNotFound:
	case invalid != nil:
		for _, wrong := range invalid.Problems {
			if slices.Contains(choices, wrong.Field) {
				wrong.Reason = "must be one of those in the list"
			}
			wrong.Reason = sentence(strings.ReplaceAll(wrong.Field, "_", " ") + " " + wrong.Reason)
			p.Fields = append(p.Fields, wrong)
		}
	case errors.As(err, &refused):
		p.Detail, p.Reference = refused.Message, refused.RequestID
		for _, field := range slices.Sorted(maps.Keys(refused.Fields)) {
			reason := strings.Join(refused.Fields[field], " ")
			p.Fields = append(p.Fields, aicontent.FieldProblem{Field: field, Reason: reason})
			p.Detail = ""
		}
		if refused.RetryAfter > 0 {
			p.Title += ": wait " + roughly(refused.RetryAfter)
		}
	case errors.As(err, &unreadable):
		p.Reference = unreadable.RequestID
	}
	if a == creating || r.Context().Err() == nil { // otherwise the visitor has left
		page := fmt.Sprintf("%s %.100s", r.Method, r.URL.Path)
		s.log.Warn("failed", "page", page, "outcome", aicontent.OutcomeOf(err), "error", err)
	}
	return p
}

// choices are the fields whose values are in a list.
var choices = []string{"resolution", "style", "medium", "filter", "search_by"}

// sentence returns text with its first letter in upper case.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// roughly returns a time to wait in words.
func roughly(d time.Duration) string {
	if d <= 90*time.Second {
		return fmt.Sprintf("%d seconds", int(d.Seconds()+0.5))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()+0.5))
}

// action is what was attempted.
type action int

const (
	reading  action = iota
	changing        // an update or a delete, which may be repeated
	creating        // is billed each time
)

// advise says what a failed call may have changed, and whether to press the button again. The remedy is what to do if
// nothing was changed.
func advise(err error, a action, remedy string) string {
	outcome := aicontent.OutcomeOf(err)
	switch {
	case errors.As(err, new(*aicontent.ConflictError)):
		return "Look first at what became of it, which may be billed. To create another, press the button again."
	case errors.Is(err, errChanged):
		return "What you typed was not saved. To replace what is there now with it, press the button again."
	case a == reading && errors.Is(err, aicontent.ErrInvalid) && !errors.Is(err, aicontent.ErrNotFound):
		return "Choose other filters."
	case a == reading && remedy == pressAgain:
		return "Reload the page in a moment."
	case a == reading:
		return remedy
	case a == creating && outcome == aicontent.OutcomeUnknown:
		return "It may have been created anyway, and billed. " + lookAgain + certain(err)
	case a == creating && outcome == aicontent.OutcomeExecuted && aicontent.Retryable(err):
		return "It was created and billed. " + lookAgain
	case a == creating && outcome == aicontent.OutcomeExecuted:
		return "It was created and billed. Look for it first. To create another, press the button again."
	case a == creating:
		return "Nothing was created and nothing was billed. " + remedy
	case outcome == aicontent.OutcomeUnknown:
		return "The change may have been saved anyway. It is safe to press the button again."
	case outcome == aicontent.OutcomeExecuted:
		return "The change was saved."
	}
	return "Nothing was changed. " + remedy
}

const lookAgain = "You can press the button again: the gallery then looks for it, and creates no second one."

// certain says when nothing can come any more of what was sent.
func certain(err error) string {
	var stored *once.Error
	if !errors.As(err, &stored) || stored.Until.IsZero() {
		return ""
	}
	return " If it is not there in " + roughly(time.Until(stored.Until)) + ", nothing came of it."
}

// unsent is an error of the gallery's own, or of a request that only reads: nothing was asked of the service.
type unsent struct{ error }

func (e unsent) Unwrap() error            { return e.error }
func (unsent) Outcome() aicontent.Outcome { return aicontent.OutcomeNotExecuted }
func (unsent) Retryable() bool            { return true }
