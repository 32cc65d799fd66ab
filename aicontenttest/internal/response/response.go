// Package response writes the responses of the service, in the style of one deployment or another.
package response

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// Paging says what a paginator tells of the pages.
type Paging int

// The ways of paging.
const (
	Counted  Paging = iota // numbers, with the total
	Simple                 // numbers, without the total
	ByCursor               // no numbers
)

// A Style is what deployments differ in. The zero value is the style of most.
type Style struct {
	Paging Paging

	BareRecords, BareLists         bool // without an envelope
	Full, Sparse                   bool // records with all columns; without unset members
	NullURLs                       bool // of pictures
	Flat, LinkHeader               bool // lists
	HasMore                        bool // lists
	Foreign, PlainHTTP, Filterless bool // links
	StringIDs, QuotedNumbers       bool
	NumericBooleans                bool
	MessageOnly, FieldsAsMessage   bool // refused forms
	LoginRedirect                  bool
	Store200, Delete204            bool
	Newer                          bool
	Spelled                        bool // settings in another spelling
}

// A Writer writes the responses of one server.
type Writer struct {
	Style    Style
	Origin   string // scheme, host and port
	BasePath string
}

// A Response is what is sent.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Pages beside the API.
const (
	HomePath  = "/"
	LoginPath = "/login"
)

// HTML is a page as proxies and login forms send it.
func HTML(status int, text string) Response {
	title := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	return Response{
		Status: status,
		Header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}},
		Body: []byte("<!DOCTYPE html>\n<html><head><title>" + html.EscapeString(title) +
			"</title></head>\n<body><h1>" + html.EscapeString(title) + "</h1><p>" +
			html.EscapeString(text) + "</p></body></html>\n"),
	}
}

// Write writes a result for the request that it came from.
func (w Writer) Write(result service.Result, request service.Request) Response {
	r := w.write(result, request)
	if !request.Route.Picture {
		// Laravel's default limit. It is not enforced.
		r.Header.Set("X-RateLimit-Limit", "60")
		r.Header.Set("X-RateLimit-Remaining", "59")
	}
	if result.Allow != nil {
		r.Header.Set("Allow", strings.Join(result.Allow, ", "))
	}
	return r
}

func (w Writer) write(result service.Result, request service.Request) Response {
	wantsJSON := wantsJSON(request.Header)
	switch {
	case request.Route.Picture && !result.Acted():
		return HTML(result.Status, result.Message)
	case request.Route.Picture && result.Record != nil:
		return draw(result.Record)
	case result.NoKey && (w.Style.LoginRedirect || !wantsJSON):
		return w.redirect(LoginPath)
	case len(result.Problems) > 0 && !wantsJSON:
		return w.redirect(HomePath)
	case len(result.Problems) > 0:
		return w.invalid(result.Problems)
	case result.Status == http.StatusNotFound && !result.NoRoute:
		return w.message(result.Status, result.Message)
	case result.Status == http.StatusNotAcceptable || result.Status == http.StatusUnsupportedMediaType:
		return w.missingHeader(result)
	case result.Refusal != "":
		refused := w.json(result.Status, nil)
		refused.Body = []byte(result.Refusal)
		return refused
	case !result.Acted() && !wantsJSON:
		return HTML(result.Status, result.Message)
	case result.NoRoute || result.NoKey || result.Status == http.StatusInternalServerError:
		return w.json(result.Status, object{{"message", result.Message}})
	case !result.Acted():
		return w.message(result.Status, result.Message)
	case result.Page != nil:
		return w.list(result.Collection, result.Page, request.Query)
	case result.Record == nil:
		return Response{Status: result.Status, Header: make(http.Header)}
	case result.Deleted && w.Style.Delete204:
		return Response{Status: http.StatusNoContent, Header: make(http.Header)}
	case result.Deleted:
		return w.json(http.StatusOK, object{
			{"id", w.id(result.Record)}, {"object", result.Collection.Singular},
			{"deleted", true}, {"status", http.StatusOK},
		})
	}
	status := result.Status
	if w.Style.Store200 {
		status = http.StatusOK
	}
	members := w.members(result.Collection, result.Record)
	if w.Style.BareRecords {
		return w.json(status, members)
	}
	// The member status is 200 for a store that responds with 201 too.
	return w.json(status, object{{"data", members}, {"status", http.StatusOK}})
}

// redirect leads to a page beside the API.
func (w Writer) redirect(path string) Response {
	r := HTML(http.StatusFound, "Redirecting")
	r.Header.Set("Location", w.Origin+w.BasePath+path)
	return r
}

func (w Writer) json(status int, v any) Response {
	return Response{
		Status: status,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   appendJSON(nil, v),
	}
}

func (w Writer) message(status int, message any) Response {
	return w.json(status, object{{"message", message}, {"status", status}})
}

// missingHeader says which header to send, in JSON whether that is accepted or not. Its slash is not escaped, so that
// the header can be copied from a terminal.
func (w Writer) missingHeader(result service.Result) Response {
	r := w.message(result.Status, result.Message)
	r.Body = bytes.ReplaceAll(r.Body, []byte(`\/`), []byte("/"))
	return r
}

// invalid writes a validation error.
func (w Writer) invalid(problems []service.Problem) Response {
	const status = http.StatusUnprocessableEntity
	text := problems[0].Message
	if n := len(problems) - 1; n == 1 {
		text += " (and 1 more error)"
	} else if n > 1 {
		text += fmt.Sprintf(" (and %d more errors)", n)
	}
	var fields object
	for _, p := range problems {
		if n := len(fields) - 1; n >= 0 && fields[n].name == p.Field {
			fields[n].value = append(fields[n].value.([]any), p.Message)
			continue
		}
		fields = append(fields, member{p.Field, []any{p.Message}})
	}
	switch {
	case w.Style.MessageOnly:
		return w.message(status, text)
	case w.Style.FieldsAsMessage:
		return w.message(status, fields)
	}
	return w.json(status, object{{"message", text}, {"errors", fields}})
}

// wantsJSON decides as Laravel does: by the media type that stands first.
func wantsJSON(h http.Header) bool {
	first, _, _ := strings.Cut(strings.ToLower(h.Get("Accept")), ",")
	return strings.Contains(first, "/json") || strings.Contains(first, "+json")
}

// origin is the scheme, host and port in links.
func (w Writer) origin() string {
	origin := w.Origin
	if w.Style.Foreign {
		origin = "https://app.internal.example"
	}
	if w.Style.PlainHTTP {
		origin = "http" + strings.TrimPrefix(strings.TrimPrefix(origin, "https"), "http")
	}
	return origin
}

func (w Writer) pictureURL(r *service.Record) any {
	if w.Style.NullURLs || r.Pending() {
		return nil
	}
	return w.origin() + w.BasePath + service.PicturePath + url.PathEscape(pictureName(r))
}

func (w Writer) pictureResult(r *service.Record) any {
	if r.Pending() {
		return nil
	}
	return pictureName(r)
}

// pictureName is the file name in the member result.
func pictureName(r *service.Record) string { return r.ID + service.PictureSuffix }
