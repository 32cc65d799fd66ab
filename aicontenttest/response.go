package aicontenttest

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// A Response is a response before it is sent. [OnResponse] may change all fields except Request.
type Response struct {
	Request Request // as recorded so far
	Status  int
	Header  http.Header
	Body    []byte
}

// JSON returns the decoded body, with numbers as [json.Number]. It is nil for a body other than JSON.
func (r *Response) JSON() any {
	decoder := json.NewDecoder(bytes.NewReader(r.Body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// SetJSON encodes v as the body. It panics on an error.
func (r *Response) SetJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("aicontenttest: SetJSON: " + err.Error())
	}
	r.Body = b
	r.Header.Set("Content-Type", "application/json")
}
