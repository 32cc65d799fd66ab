package aicontent

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// Response is a response as it came, for what the records do not hold: see [WithResponse]. The API key is masked
// wherever the service sent it back.
type Response struct {
	StatusCode int
	Header     http.Header
	Body       []byte // decompressed; of a response other than 2xx, up to 1 MiB
	RequestID  string // from the usual headers; empty where none was sent
	Attempts   int    // number of attempts, from 1; 0 where [WithOnce] found the record before anything was sent
	Found      bool   // [WithOnce] found the record: this is the response that holds it, and nothing was created
}

// maxErrorBody is how much is kept of a response that is an error, in bytes.
const maxErrorBody = 1 << 20

// reply is what the readers of records and pages see of a 2xx response.
type reply struct {
	body   []byte
	header http.Header
	query  url.Values // as sent
}

func newResponse(resp *http.Response, body []byte, attempt int, key redact.Key) *Response {
	header := key.Header(resp.Header)
	return &Response{
		StatusCode: resp.StatusCode,
		Header:     header,
		Body:       bytes.Clone(key.Bytes(body)),
		RequestID:  requestID(header),
		Attempts:   attempt,
	}
}

// requestID returns the first of the headers that services and proxies use.
func requestID(header http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray"} {
		if id := header.Get(name); id != "" {
			return redact.Shorten(id, 200)
		}
	}
	return ""
}
