package aicontenttest

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
)

// A Place is the moment at which a fault occurs.
type Place int

// The places, in the order of a request.
const (
	BeforeRead     Place = iota // after the header of the request
	MidUpload                   // after a part of the body
	BeforeResponse              // after the service has acted
	MidResponse                 // after half of the response
)

var placeNames = [...]string{"before-read", "mid-upload", "before-response", "mid-response"}

// A Fault is a failure of one request. It is plain data, made by the functions below, and can be reused.
type Fault struct {
	// Name is recorded in [Request].
	Name string
	// Place is the moment of the fault.
	Place Place
	// Acts reports whether the service still executes the request. Before BeforeResponse it never does.
	Acts bool
	// Bytes is the part of the body read before a fault at MidUpload.
	Bytes int64
	// Status and Body replace the service's response.
	Status int
	Body   string

	kind   network.Kind
	header http.Header   // of the response
	reset  bool          // RST instead of FIN
	delay  time.Duration // until LateAct acts
	take   func(net.Conn)
}

// Status responds with the code and body instead of acting. The body is sent as JSON if it begins with { or [, else as
// HTML. A client takes most statuses without JSON for a proxy's: see [aicontent.OutcomeOf].
func Status(code int, body string) Fault {
	contentType := "text/html; charset=UTF-8"
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		contentType = "application/json"
	}
	return Fault{
		Name: fmt.Sprintf("status-%d", code), kind: network.Responds, Place: BeforeResponse,
		Status: code, header: http.Header{"Content-Type": {contentType}}, Body: body,
	}
}

// HTMLPage responds with HTML instead of acting, like a proxy or a portal.
func HTMLPage(code int) Fault {
	f := Status(code, string(response.HTML(code, "Sent by something between you and the service.").Body))
	f.Name = fmt.Sprintf("html-page-%d", code)
	return f
}

// RedirectTo responds with a redirect instead of acting.
func RedirectTo(code int, url string) Fault {
	f := Status(code, "").WithHeader("Location", url)
	f.Name = fmt.Sprintf("redirect-%d", code)
	return f
}

// ActThenStatus acts and responds with an HTML page and the code, like a proxy after its timeout or, with 403, a
// firewall that blocks the response. Status(code, body).Acting() sends another body.
func ActThenStatus(code int) Fault {
	f := HTMLPage(code).Acting()
	f.Name = fmt.Sprintf("act-then-status-%d", code)
	return f
}

// LateAct responds at once with an HTML page and the code, and acts after the delay. You may change its Body.
func LateAct(code int, delay time.Duration) Fault {
	f := HTMLPage(code)
	f.Name, f.kind, f.delay = fmt.Sprintf("late-act-%d", code), network.ActsLate, delay
	return f
}

// RefuseConnection resets the connection: before a byte is read if the connection is new and the fault is first in the
// queue, otherwise after the header. See also [Server.RefuseConnections].
func RefuseConnection() Fault {
	return Fault{Name: "refuse-connection", kind: network.Refuses, Place: BeforeRead, reset: true}
}

// CloseBeforeRead closes the connection without acting or reading the body.
//
// In memory a connection buffers 64 KiB. A Store call ends with [aicontent.OutcomeUnknown] if its form fits, and with
// [aicontent.OutcomeNotExecuted] if its upload has 128 KiB or more. In between, and over loopback, it may be either.
func CloseBeforeRead() Fault {
	return Fault{Name: "close-before-read", kind: network.Closes, Place: BeforeRead}
}

// CloseMidUpload closes the connection without acting, after a number of bytes of the body or at its end. The outcome
// depends on the connection's buffer: see [CloseBeforeRead].
func CloseMidUpload(afterBytes int64) Fault {
	return Fault{Name: "close-mid-upload", kind: network.Closes, Place: MidUpload, Bytes: afterBytes}
}

// LoseResponse acts and closes the connection without a response.
func LoseResponse() Fault {
	return Fault{Name: "lose-response", kind: network.Closes, Place: BeforeResponse, Acts: true}
}

// CloseMidResponse acts and closes the connection in mid-response.
func CloseMidResponse() Fault {
	return Fault{Name: "close-mid-response", kind: network.Closes, Place: MidResponse, Acts: true}
}

// Stall stops reading and sending at the place until the client disconnects or the server is closed. The service acts
// first if the place is BeforeResponse or MidResponse. At MidUpload it has read [Fault.Bytes] of the body. Over
// loopback, a stall with an unread body lasts until [Server.Close], even if the client disconnects. Stall panics for an
// invalid place.
func Stall(at Place) Fault {
	if at < BeforeRead || at > MidResponse {
		panic(fmt.Sprintf("aicontenttest: Stall(%d): "+
			"the place must be BeforeRead, MidUpload, BeforeResponse or MidResponse", at))
	}
	return Fault{Name: "stall-" + placeNames[at], kind: network.Stalls, Place: at, Acts: at >= BeforeResponse}
}

// TruncatedJSON acts and sends half of the JSON as a complete response.
func TruncatedJSON() Fault {
	return Fault{Name: "truncated-json", kind: network.Truncates, Place: BeforeResponse, Acts: true}
}

// InvalidJSON acts and sends malformed JSON.
func InvalidJSON() Fault {
	return Fault{Name: "invalid-json", kind: network.Garbles, Place: BeforeResponse, Acts: true}
}

// TakeOver reads the request, calls take with the connection instead of acting, and closes the connection. Over HTTP/2
// it resets the stream instead.
func TakeOver(take func(net.Conn)) Fault {
	return Fault{Name: "take-over", kind: network.TakesOver, Place: BeforeResponse, take: take}
}

// WithRetryAfter sets the response's Retry-After: seconds or an HTTP date.
func (f Fault) WithRetryAfter(value string) Fault { return f.WithHeader("Retry-After", value) }

// WithHeader sets a header of the fault's response.
func (f Fault) WithHeader(key, value string) Fault {
	f.header = maps.Clone(f.header)
	if f.header == nil {
		f.header = make(http.Header)
	}
	f.header.Set(key, value)
	return f
}

// WithReset ends the connection with a reset: the client sees ECONNRESET instead of EOF. Over HTTP/2 it ends all
// streams of the connection.
func (f Fault) WithReset() Fault {
	f.reset = true
	f.Name += "-reset"
	return f
}

// Early sends the response of Status, HTMLPage, RedirectTo or ActThenStatus before reading the body, without acting.
func (f Fault) Early() Fault {
	f.Place = BeforeRead
	f.Name += "-early"
	return f
}

// Acting makes the service act first: an earlier Place becomes BeforeResponse.
func (f Fault) Acting() Fault {
	f.Place, f.Acts = max(f.Place, BeforeResponse), true
	return f
}

// Faults returns faults of each kind that ends by itself, for [Server.Chaos] and table tests.
func Faults() []Fault {
	return []Fault{
		Status(500, `{"message":"Server Error"}`),
		Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("1"),
		HTMLPage(503).WithRetryAfter("1"),
		HTMLPage(502), HTMLPage(200), HTMLPage(503).Early(),
		ActThenStatus(502), ActThenStatus(504), ActThenStatus(524),
		LateAct(504, 50*time.Millisecond), LateAct(503, 50*time.Millisecond).WithRetryAfter("1"), ActThenStatus(403),
		RedirectTo(302, "https://elsewhere.example/"),
		RefuseConnection(),
		CloseBeforeRead(), CloseBeforeRead().WithReset(),
		CloseMidUpload(64), CloseMidUpload(64).WithReset(),
		LoseResponse(), LoseResponse().WithReset(),
		CloseMidResponse(), CloseMidResponse().WithReset(),
		TruncatedJSON(), InvalidJSON(),
	}
}
