package aicontenttest

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// An Answer is a response that the service is about to send. [OnResponse] may change everything but
// the request.
type Answer struct {
	Request Request // as recorded so far
	Status  int
	Header  http.Header
	Body    []byte
}

// JSON returns the decoded body, with numbers as [json.Number]. It returns nil if the body is not
// JSON.
func (a *Answer) JSON() any {
	decoder := json.NewDecoder(bytes.NewReader(a.Body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// SetJSON makes v the body. It panics if v cannot be encoded.
func (a *Answer) SetJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("aicontenttest: SetJSON: " + err.Error())
	}
	a.Body = b
	a.Header.Set("Content-Type", "application/json")
}
