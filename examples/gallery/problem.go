package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go"
	"github.com/dustin/go-humanize"
)

// problem is an error as visitors see it.
type problem struct {
	Status int // of the page
	Title  string
	Reason string
	Advice string
	LookAt string // address of the record, or of a list that may have it; empty if there is none
	Fixed  bool   // whether the form may have created a record, so that its title must stay
}

// The consequences of a failed call, by its outcome. Reading has none.
var (
	changing = map[aicontent.Outcome]string{
		aicontent.OutcomeNotExecuted: "Nothing was changed. ",
		aicontent.OutcomeExecuted:    "The change was saved. ",
		aicontent.OutcomeUnknown:     "The change may have been saved. ",
	}
	creating = map[aicontent.Outcome]string{
		aicontent.OutcomeNotExecuted: "Nothing was created, and nothing was billed. ",
		aicontent.OutcomeExecuted:    "It was created and billed. This form creates no second one. ",
		aicontent.OutcomeUnknown:     "It may have been created and billed. This form creates no second one. ",
	}
)

// explain returns the problem of a call that failed with err, and logs err.
func (s *server) explain(r *http.Request, err error, changed map[aicontent.Outcome]string) *problem {
	outcome := aicontent.OutcomeOf(err)
	own, isOwn := errors.AsType[unsent](err)
	s.log.Warn("failed", "page", fmt.Sprintf("%s %.100s", r.Method, r.URL.Path), "outcome", outcome, "error", err)
	p := &problem{
		Status: http.StatusBadGateway, Title: "That did not work",
		Reason: sentence(aicontent.Reason(err)), Advice: changed[outcome] + whetherAgain(err),
	}
	switch {
	case errors.As(err, new(*aicontent.ConflictError)):
		p.Status, p.Title = http.StatusConflict, "This form was already sent"
		p.Advice = "Look first at its record, which may be billed. To create another, press the button again."
	case errors.Is(err, aicontent.ErrNotFound):
		p.Status, p.Title = http.StatusNotFound, "Not found"
	case errors.Is(err, aicontent.ErrInvalid):
		p.Status, p.Title = http.StatusUnprocessableEntity, "Please check what you entered"
	case isOwn:
		p.Status = own.status
	case aicontent.Retryable(err):
		p.Status = http.StatusServiceUnavailable
	}
	return p
}

// whetherAgain says whether it may help to press the button again, and when.
func whetherAgain(err error) string {
	at := aicontent.RetryAt(err)
	switch {
	case !aicontent.Retryable(err):
		return "The same request would fail again."
	case time.Until(at) > time.Second:
		return "Try again " + humanize.Time(at) + "."
	}
	return "You can try again."
}

// sentence returns text with its first letter in upper case.
func sentence(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// unsent is an error of the gallery's own: the service was asked for nothing.
type unsent struct {
	error
	status int // of the page
}

func (e unsent) Unwrap() error            { return e.error }
func (unsent) Outcome() aicontent.Outcome { return aicontent.OutcomeNotExecuted }
func (e unsent) Retryable() bool          { return e.status != http.StatusRequestEntityTooLarge }
