package aicontenttest

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"strconv"
	"strings"
)

// An Answer is what the service is about to send. [OnResponse] may change all of it but the
// request.
type Answer struct {
	Request Request // what is answered, as it stands in the book by now
	Status  int
	Header  http.Header
	Body    []byte
}

// JSON returns the body decoded, with numbers as [json.Number]; nil when it is not JSON.
func (a *Answer) JSON() any {
	decoder := json.NewDecoder(bytes.NewReader(a.Body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// SetJSON makes v the body. It panics when v cannot be encoded.
func (a *Answer) SetJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("aicontenttest: SetJSON: " + err.Error())
	}
	a.Body = b
	a.Header.Set("Content-Type", "application/json")
}

func (c *call) json(status int, v any) *Answer {
	return &Answer{
		Status: status,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   c.server.shape.json.append(nil, v),
	}
}

// htmlAnswer is a page such as proxies and login forms send.
func htmlAnswer(status int, text string) *Answer {
	title := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	return &Answer{
		Status: status,
		Header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}},
		Body: []byte("<!DOCTYPE html>\n<html><head><title>" + html.EscapeString(title) +
			"</title></head>\n<body><h1>" + html.EscapeString(title) + "</h1><p>" +
			html.EscapeString(text) + "</p></body></html>\n"),
	}
}
