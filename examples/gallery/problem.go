package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

// problem is an error as shown to a visitor: what happened, why, and whether to press the button again.
type problem struct {
	Status    int // of the page
	Title     string
	Detail    string // in the words of the service
	Advice    string
	LookAt    string            // address of a list that may have the record; empty if there is none
	Fields    map[string]string // what is wrong with each field of the form
	Reference string            // the request ID, to quote to the service
}

// explain turns the error of a call into a problem, and logs it.
func (s *server) explain(r *http.Request, err error, a action) problem {
	if invalid := (*aicontent.ValidationError)(nil); errors.As(err, &invalid) && invalid.Problems[0].Field == "id" {
		err = errors.Join(aicontent.ErrNotFound, err) // no record can have it
	}
	p := describe(err)
	p.Advice = advise(err, a)
	s.log.Warn("failed", "page", r.Method+" "+r.URL.Path, "outcome", outcomeOf(err), "error", err)
	return p
}

// describe says what happened.
func describe(err error) problem {
	var invalid *aicontent.ValidationError
	var refused *aicontent.APIError
	var unreadable *aicontent.DecodeError
	var transport *aicontent.TransportError
	var tooLarge *http.MaxBytesError
	p := problem{Status: http.StatusBadGateway}
	switch {
	case errors.Is(err, errSentBefore):
		p.Status, p.Title = http.StatusConflict, "This form was already sent"
	case errors.Is(err, errOldForm):
		p.Status, p.Title = http.StatusConflict, "This form may already have been sent"
	case errors.As(err, &tooLarge):
		p.Status = http.StatusRequestEntityTooLarge
		p.Title = fmt.Sprintf("Too large: the gallery accepts at most %d MB", tooLarge.Limit>>20)
	case errors.Is(err, errStalled):
		p.Status, p.Title = http.StatusRequestTimeout, "The form stopped arriving"
	case errors.Is(err, errMalformedForm):
		p.Status, p.Title = http.StatusBadRequest, "The form could not be read"
	case errors.Is(err, aicontent.ErrNotFound):
		p.Status, p.Title = http.StatusNotFound, "Not found"
	case errors.As(err, &invalid):
		p.Status, p.Title = http.StatusUnprocessableEntity, "Please check what you entered"
		p.Fields = make(map[string]string)
		for _, wrong := range invalid.Problems {
			p.Fields[wrong.Field] = sentence(wrong.Field + " " + wrong.Reason)
		}
	case errors.As(err, &refused):
		p = describeResponse(refused)
	case errors.Is(err, aicontent.ErrPagination):
		p.Title = "The service did not say how its list goes on"
	case errors.As(err, &unreadable):
		p.Title, p.Reference = "The service sent a response that the gallery cannot read", unreadable.RequestID
	case errors.Is(err, errNotBegun), errors.Is(err, context.Canceled):
		p.Status, p.Title = http.StatusServiceUnavailable, "Cancelled"
	case errors.As(err, &transport) && transport.Timeout():
		p.Status, p.Title = http.StatusGatewayTimeout, "The service took too long"
	default:
		p.Title = "The service cannot be reached"
	}
	return p
}

// describeResponse says what happened if the service responded with an error.
func describeResponse(err *aicontent.APIError) problem {
	p := problem{Status: http.StatusBadGateway, Detail: err.Message, Reference: err.RequestID}
	switch {
	case errors.Is(err, aicontent.ErrInvalid), errors.Is(err, aicontent.ErrBadRequest):
		p.Status, p.Title = http.StatusUnprocessableEntity, "Please check what you entered"
		p.Fields = make(map[string]string)
		for field, messages := range err.Fields {
			p.Fields[field] = strings.Join(messages, " ")
		}
		if len(p.Fields) > 0 {
			p.Detail = ""
		}
	case errors.Is(err, aicontent.ErrUnauthorized), errors.Is(err, aicontent.ErrForbidden):
		p.Title = "The service does not accept the gallery’s key"
	case errors.Is(err, aicontent.ErrTooLarge):
		p.Status, p.Title = http.StatusRequestEntityTooLarge, "The file is too large for the service"
	case errors.Is(err, aicontent.ErrRateLimited):
		p.Status, p.Title = http.StatusServiceUnavailable, "The service is busy"
	case errors.Is(err, aicontent.ErrServer):
		p.Title = "The service had a problem"
	default:
		p.Title = "The service refused"
	}
	if err.RetryAfter > 0 {
		p.Title += ": wait " + roughly(err.RetryAfter)
	}
	return p
}

// formOrder is the order of the fields in the forms.
var formOrder = []string{
	"name", "description", "resolution", "style", "medium", "filter", "language", "file", "result",
}

// InOrder returns the fields with problems as the form has them. Those of other fields come last.
func (p problem) InOrder() []string {
	place := func(field string) uint { return uint(slices.Index(formOrder, field)) }
	return slices.SortedFunc(maps.Keys(p.Fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// sentence returns text with its first letter in upper case.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// roughly returns a time to wait in words.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "a moment"
	case d <= 90*time.Second:
		return fmt.Sprintf("%d seconds", int(d.Seconds()+0.5))
	case d <= 90*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()+0.5))
	}
	return fmt.Sprintf("%d hours", int(d.Hours()+0.5))
}
