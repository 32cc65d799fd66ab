// Package engine makes one call of the API: it sends a request, judges the response and retries if safe. It handles
// bytes, statuses and clocks; its caller handles records, lists and the texts of errors.
package engine

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// Kind classifies requests by the effect of a second execution.
type Kind int

const (
	Read   Kind = iota // no effect
	Change             // overwrites the record again
	Remove             // does not find the record
	Create             // creates and bills a second record
	Fetch              // no effect; a picture, without the key and from any host
)

// Request is the request of a call. Each attempt sends the same bytes.
type Request struct {
	Kind   Kind
	Method string
	URL    url.URL
	Header http.Header  // added to User-Agent, Accept and Authorization; nil for none
	Body   *upload.Body // nil for none
}

// Reader reads the content of a response of any status.
type Reader func(Reply) Content

// Settings are the options of one call.
type Settings struct {
	Limits   Limits
	Policy   Policy
	Hooks    []Hook
	Progress func(sent int64, attempt int) // of an upload: at most 20 times a second, one call at a time; nil for none
}

// Sender is shared by all calls of a client. It is read-only after construction.
type Sender struct {
	API, Pictures *http.Client // Pictures makes the requests of kind Fetch
	Transport     *Transport   // below API
	UserAgent     string
	Limiter       Limiter                                    // nil for none
	Key           func(context.Context) (*Credential, error) // called before each attempt
	Keys          func() redact.Keys                         // the latest keys, for masking
	Rotates       bool                                       // Key may return another key after a 401
	Budget        *Budget
	MaxResponse   int64 // in bytes
}

// Limiter delays attempts.
type Limiter interface{ Wait(context.Context) error }

// Reply is a response. Without one, its Status is 0.
type Reply struct {
	Status   int
	Header   http.Header
	Body     string      // empty for a picture
	Err      error       // set if Body is incomplete; matches ErrCutOff if it ended too early
	Picture  io.Reader   // body of a 2xx response to a Fetch, with a stall limit; valid only within the Reader
	Length   int64       // of Picture in bytes; -1 if unknown
	Keys     redact.Keys // to mask in it
	Attempts int         // number of attempts up to this response
}

// requestIDs are the headers in which services and proxies send the ID of a request.
var requestIDs = []string{
	"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "X-Amzn-Trace-Id", "X-Trace-Id", "Cf-Ray",
}

// RequestID returns the request ID from the usual headers, masked and on one line. It may be empty.
func (r *Reply) RequestID() string {
	for _, name := range requestIDs {
		if ids := r.Header[name]; len(ids) > 0 && ids[0] != "" {
			return redact.Shorten(r.Keys.Line(ids[0]), 200) // because trace headers have some 100 bytes
		}
	}
	return ""
}

// Content is the content of a response.
type Content struct {
	Kind         ContentKind
	Value        any    // the expected content
	Err          error  // why a 2xx response does not have it
	Cut          bool   // the body ended too early
	Begun        bool   // a byte of a picture reached its writer
	WriterFailed bool   // the writer of a picture returned an error
	Body         string // read from Reply.Picture if it is not a picture
}

// ContentKind classifies the body of a response.
type ContentKind int

const (
	None  ContentKind = iota // no byte, or white space
	Asked                    // the expected content
	JSON                     // another JSON object or array
	Error                    // JSON that reports an error
	Page                     // HTML
	Text                     // anything else, including JSON that is neither object nor array
)

// Failure is a call without a result.
type Failure struct {
	Outcome   Outcome // of all attempts together
	Retryable bool
	Last      Attempt // without an attempt, its Number is 0
	Replied   bool    // an attempt got a response
	Why       Why
	Stopped   error // the error behind Why; nil for none
}

// Why is the reason that no attempt followed the last one.
type Why int

const (
	Final        Why = iota // the verdict, or the policy's number of attempts
	Ended                   // the context ended, or would end within the pause
	NoReplay                // the file cannot be sent again
	LongWait                // the service demands a longer wait than the policy allows
	NoBudget                // the retry budget is used up
	LimiterError            // the rate limiter returned an error
	KeyError                // the key source returned an error
	HookError               // a hook refused the attempt
	FileError               // set by the caller of Do: the first bytes of the file could not be read
)

// Hook is called before each attempt. An error refuses the attempt. Done, unless nil, is called once with the result.
type Hook func(ctx context.Context, number int) (done func(Result), err error)

// Result is the result of an attempt for a hook.
type Result struct {
	Attempt
	Again  bool // another attempt follows after Pause
	Pause  time.Duration
	Budget int // retries left; -1 means no limit
}
