// Package response writes the responses of the service, in the style of one deployment or another.
package response

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/picture"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// Paging is the information that a paginator gives about other pages.
type Paging int

// The ways of paging.
const (
	Counted  Paging = iota // numbers, with the total
	Simple                 // numbers, without the total
	ByCursor               // no numbers
)

// A Style is the difference between deployments. The zero value is the style of most.
type Style struct {
	Paging Paging

	BareRecords         bool // without an envelope
	Full, Sparse        bool // records with all columns; without unset members
	Newer               bool // records have a quality instead of style, medium and filter
	NullURLs            bool // of pictures
	Spelled             bool // settings in another spelling
	Flat                bool // lists of a plain paginator
	Foreign, Filterless bool // links to another host; without the filters of the list
	FieldsAsMessage     bool // refused forms
	Store200, Delete204 bool
}

// A Writer writes the responses of one server.
type Writer struct {
	Style    Style
	Origin   string // scheme, host and port
	BasePath string
}

// A Response is a complete response.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// HTML returns a page as proxies send it.
func HTML(status int, text string) Response {
	title := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	const page = "<!DOCTYPE html>\n<html><head><title>%s</title></head>\n<body><h1>%[1]s</h1><p>%s</p></body></html>\n"
	return respond(status, "text/html; charset=UTF-8", fmt.Appendf(nil, page, title, html.EscapeString(text)))
}

func respond(status int, contentType string, body []byte) Response {
	return Response{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}
}

// Write returns the response for a result and the request that it came from.
func (w Writer) Write(result service.Result, request service.Request) Response {
	r := w.write(result, request)
	if result.Allow != nil {
		r.Header.Set("Allow", strings.Join(result.Allow, ", "))
	}
	return r
}

func (w Writer) write(result service.Result, request service.Request) Response {
	picturePath := request.Route.Picture
	switch {
	case result.Refusal != "":
		return respond(result.Status, "application/json", []byte(result.Refusal))
	case result.Acted() && picturePath:
		return respond(result.Status, "image/png", picture.Draw(result.Record.Text))
	case result.Acted():
		return w.success(result, request)
	case picturePath:
		return HTML(result.Status, result.Message)
	case len(result.Problems) > 0:
		return w.invalid(result.Problems)
	}
	return message(result.Status, result.Message)
}

func (w Writer) success(result service.Result, request service.Request) Response {
	c, record := result.Collection, result.Record
	switch {
	case result.Page != nil:
		return w.list(c, result.Page, request.Query)
	case result.Deleted && w.Style.Delete204:
		return Response{Status: http.StatusNoContent, Header: make(http.Header)}
	case result.Deleted:
		return asJSON(http.StatusOK, object{
			{"id", id(record)}, {"object", c.Singular}, {"deleted", true}, {"status", http.StatusOK},
		})
	}
	status := result.Status
	if w.Style.Store200 {
		status = http.StatusOK
	}
	if w.Style.BareRecords {
		return asJSON(status, w.record(c, record))
	}
	// The member status is 200 for a store that responds with 201, too.
	return asJSON(status, object{{"data", w.record(c, record)}, {"status", http.StatusOK}})
}

func asJSON(status int, v any) Response {
	return respond(status, "application/json", phpJSON(v))
}

func message(status int, text any) Response {
	return asJSON(status, object{{"message", text}, {"status", status}})
}

// invalid returns a validation error.
func (w Writer) invalid(problems []service.Problem) Response {
	text := problems[0].Message
	if n := len(problems) - 1; n == 1 {
		text += " (and 1 more error)"
	} else if n > 1 {
		text += fmt.Sprintf(" (and %d more errors)", n)
	}
	var fields object
	for _, p := range problems {
		if n := len(fields) - 1; n >= 0 && fields[n].name == p.Field {
			fields[n].value = append(fields[n].value.([]string), p.Message)
			continue
		}
		fields = append(fields, member{p.Field, []string{p.Message}})
	}
	const status = http.StatusUnprocessableEntity
	if w.Style.FieldsAsMessage {
		return message(status, fields)
	}
	return asJSON(status, object{{"message", text}, {"errors", fields}})
}

// origin returns the scheme, host and port in links.
func (w Writer) origin() string {
	if w.Style.Foreign {
		return "http://app.internal.example"
	}
	return w.Origin
}
