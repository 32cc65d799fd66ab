// Package answer writes the responses of the service, in the style of one deployment or another.
package answer

import (
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

	Bare, Full, Sparse             bool // records without envelope; with all columns; without unset members
	Flat, LinkHeader               bool // lists
	Foreign, PlainHTTP, Filterless bool // links
	StringIDs, QuotedNumbers       bool
	NumericBooleans                bool
	MessageOnly, LoginRedirect     bool // errors
	Store200, Delete204            bool
	Newer                          bool
}

// A Writer writes the responses of one server.
type Writer struct {
	Style    Style
	Origin   string // scheme, host and port
	BasePath string
}

// An Answer is a response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Pages beside the API.
const (
	LoginPath     = "/login"
	PicturePath   = "/pictures/"
	PictureSuffix = ".png"
)

// HTML is a page as proxies and login forms send it.
func HTML(status int, text string) Answer {
	title := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	return Answer{
		Status: status,
		Header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}},
		Body: []byte("<!DOCTYPE html>\n<html><head><title>" + html.EscapeString(title) +
			"</title></head>\n<body><h1>" + html.EscapeString(title) + "</h1><p>" +
			html.EscapeString(text) + "</p></body></html>\n"),
	}
}

// Write writes a result for the request that it came from.
func (w Writer) Write(result service.Result, request service.Request) Answer {
	json := wantsJSON(request.Header)
	switch {
	case result.NoKey && (w.Style.LoginRedirect || !json):
		a := HTML(http.StatusFound, "Redirecting to the login page")
		a.Header.Set("Location", w.Origin+w.BasePath+LoginPath)
		return a
	case len(result.Problems) > 0:
		return w.invalid(result.Problems, json)
	case !result.Acted():
		a := w.message(result.Status, result.Message, json)
		if result.Allow != nil {
			a.Header.Set("Allow", strings.Join(result.Allow, ", "))
		}
		return a
	case result.Page != nil:
		return w.list(result.Collection, result.Page, request.Query)
	case result.Deleted && w.Style.Delete204:
		return Answer{Status: http.StatusNoContent, Header: make(http.Header)}
	case result.Deleted:
		return w.json(http.StatusOK, object{
			{"id", w.id(result.Record)}, {"object", result.Collection.Singular}, {"deleted", true}, {"status", http.StatusOK},
		})
	}
	status := result.Status
	if w.Style.Store200 {
		status = http.StatusOK
	}
	members := w.members(result.Collection, result.Record)
	if w.Style.Bare {
		return w.json(status, members)
	}
	return w.json(status, object{{"data", members}, {"status", status}})
}

func (w Writer) json(status int, v any) Answer {
	return Answer{
		Status: status,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   jsonWriter{w.Style.NumericBooleans, w.Style.QuotedNumbers}.append(nil, v),
	}
}

// message writes an error other than a validation error.
func (w Writer) message(status int, text string, json bool) Answer {
	if !json {
		return HTML(status, text)
	}
	if status == http.StatusUnauthorized {
		return w.json(status, object{{"message", text}})
	}
	return w.json(status, object{{"message", text}, {"status", status}})
}

// invalid writes a validation error.
func (w Writer) invalid(problems []service.Problem, json bool) Answer {
	const status = http.StatusUnprocessableEntity
	text := problems[0].Message
	if n := len(problems) - 1; n == 1 {
		text += " (and 1 more error)"
	} else if n > 1 {
		text += fmt.Sprintf(" (and %d more errors)", n)
	}
	if w.Style.MessageOnly || !json {
		return w.message(status, text, json)
	}
	var fields object
	for _, p := range problems {
		if n := len(fields) - 1; n >= 0 && fields[n].name == p.Field {
			fields[n].value = append(fields[n].value.([]any), p.Message)
			continue
		}
		fields = append(fields, member{p.Field, []any{p.Message}})
	}
	return w.json(status, object{{"message", text}, {"errors", fields}})
}

// wantsJSON decides as Laravel does: by the media type that stands first.
func wantsJSON(h http.Header) bool {
	first, _, _ := strings.Cut(h.Get("Accept"), ",")
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

func (w Writer) pictureURL(r *service.Record) string {
	return w.Origin + w.BasePath + PicturePath + url.PathEscape(pictureName(r))
}

// pictureName is the file name in the member result.
func pictureName(r *service.Record) string { return r.ID + PictureSuffix }
