package aicontenttest

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"time"
)

// A Place is a moment of a request at which a fault can strike.
type Place int

// The places, in the order in which a request passes them.
const (
	BeforeRead   Place = iota // the header has come, nothing of the body was taken
	MidUpload                 // some of the body was taken
	BeforeAnswer              // the service has done its part and sent nothing yet
	MidAnswer                 // half of the answer was sent
)

func (p Place) String() string {
	return [...]string{"before-read", "mid-upload", "before-answer", "mid-answer"}[p]
}

// faultKind is what goes wrong.
type faultKind int

const (
	none       faultKind = iota
	answering            // another answer than the service's
	closing              // the connection ends
	stalling             // nothing more happens
	trickling            // the answer comes byte by byte
	truncating           // the JSON ends too early, the answer does not
	garbling             // the answer is no JSON
	swelling             // the answer is longer than anybody needs
	late                 // the record appears after the answer
	refusing             // the connection is not taken
	declining            // the stream is not taken
	seizing              // the test speaks for the server
)

// A Fault is one thing that goes wrong with a request. It is made by the constructors below,
// is plain data, and can be given to any number of requests.
type Fault struct {
	// Name stands in the book.
	Name string
	// Place is where the fault strikes.
	Place Place
	// Acts says whether the service still does what the request asks for. Before the answer,
	// and so with an early one, it never does.
	Acts bool
	// Reset ends the connection by a reset (RST) rather than in good order (FIN).
	Reset bool
	// Bytes is how much of the body is taken by a fault at MidUpload, or how long the answer
	// of Oversized is at least.
	Bytes int64
	// Delay is the pause between two bytes of Trickle, or the time until LateAct acts.
	Delay time.Duration
	// Status, Header and Body are the answer that the fault sends instead of the service's.
	Status int
	Header http.Header
	Body   string

	kind faultKind
	take func(net.Conn)
}

// Status answers with the code and body instead of acting. The body is sent as JSON when it
// begins like it, as HTML otherwise.
func Status(code int, body string) Fault {
	contentType := "text/html; charset=UTF-8"
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		contentType = "application/json"
	}
	return Fault{
		Name: fmt.Sprintf("status-%d", code), kind: answering, Place: BeforeAnswer,
		Status: code, Header: http.Header{"Content-Type": {contentType}}, Body: body,
	}
}

// HTMLPage answers with a page, as a proxy or a captive portal does, instead of acting.
func HTMLPage(code int) Fault {
	f := Status(code, string(htmlAnswer(code, "Sent by something between you and the service.").Body))
	f.Name = fmt.Sprintf("html-page-%d", code)
	return f
}

// RedirectTo answers with a redirect instead of acting.
func RedirectTo(code int, url string) Fault {
	f := Status(code, "").WithHeader("Location", url)
	f.Name = fmt.Sprintf("redirect-%d", code)
	return f
}

// ActThenStatus acts and then answers with the code: the proxy that gave up waiting while the
// record was being made.
func ActThenStatus(code int) Fault {
	f := HTMLPage(code).Acting()
	f.Name = fmt.Sprintf("act-then-status-%d", code)
	return f
}

// LateAct answers with the code at once and acts after the delay: the record that appears
// when everybody has given it up.
func LateAct(code int, delay time.Duration) Fault {
	f := HTMLPage(code)
	f.Name, f.kind, f.Delay = fmt.Sprintf("late-act-%d", code), late, delay
	return f
}

// RefuseConnection resets the connection of the request. When it is first in the queue, or
// struck by [Server.RefuseConnections], a new connection is refused before a byte was read
// from it; one that is kept alive is reset when the header has come.
func RefuseConnection() Fault {
	return Fault{Name: "refuse-connection", kind: refusing, Place: BeforeRead, Reset: true}
}

// RefuseStream refuses the stream of the request, which over HTTP/2 promises that nothing was
// done. Over HTTP/1.1 it is CloseBeforeRead.
func RefuseStream() Fault {
	return Fault{Name: "refuse-stream", kind: declining, Place: BeforeRead}
}

// CloseBeforeRead closes the connection with the body unread. Nothing is acted on.
func CloseBeforeRead() Fault {
	return Fault{Name: "close-before-read", kind: closing, Place: BeforeRead}
}

// CloseMidUpload closes the connection when so many bytes of the body were taken, or all of a
// shorter one. Nothing is acted on.
func CloseMidUpload(afterBytes int64) Fault {
	return Fault{Name: "close-mid-upload", kind: closing, Place: MidUpload, Bytes: afterBytes}
}

// LoseAnswer acts and closes the connection without an answer.
func LoseAnswer() Fault {
	return Fault{Name: "lose-answer", kind: closing, Place: BeforeAnswer, Acts: true}
}

// CloseMidAnswer acts and closes the connection in the middle of the answer.
func CloseMidAnswer() Fault {
	return Fault{Name: "close-mid-answer", kind: closing, Place: MidAnswer, Acts: true}
}

// Stall lets nothing more happen from the place on, until the client goes away or the server
// is closed. Before the answer and in the middle of it the service has acted, earlier it has
// not. A stall at MidUpload takes [Fault.Bytes] of the body. Over the loopback interface a
// client that goes away while its body is unread is not noticed before Close.
func Stall(at Place) Fault {
	return Fault{Name: "stall-" + at.String(), kind: stalling, Place: at, Acts: at >= BeforeAnswer}
}

// Trickle acts and sends the answer byte by byte with a pause between two.
func Trickle(pause time.Duration) Fault {
	return Fault{Name: "trickle", kind: trickling, Place: MidAnswer, Acts: true, Delay: pause}
}

// TruncatedJSON acts and sends the first half of the JSON as if it were all.
func TruncatedJSON() Fault {
	return Fault{Name: "truncated-json", kind: truncating, Place: BeforeAnswer, Acts: true}
}

// InvalidJSON acts and sends an answer that looks like JSON and is not.
func InvalidJSON() Fault {
	return Fault{Name: "invalid-json", kind: garbling, Place: BeforeAnswer, Acts: true}
}

// OversizedAnswer acts and sends an answer with at least so many bytes, still valid JSON.
func OversizedAnswer(bytes int64) Fault {
	return Fault{Name: "oversized-answer", kind: swelling, Place: BeforeAnswer, Acts: true, Bytes: bytes}
}

// TakeOver hands the connection to the test once the request has been read, to answer whatever
// it likes; the connection is closed when take returns. It needs HTTP/1.1, and over HTTP/2
// resets the stream.
func TakeOver(take func(net.Conn)) Fault {
	return Fault{Name: "take-over", kind: seizing, Place: BeforeAnswer, take: take}
}

// WithRetryAfter adds the header Retry-After: seconds or a date.
func (f Fault) WithRetryAfter(value string) Fault { return f.WithHeader("Retry-After", value) }

// WithHeader sets a header of the answer that the fault sends.
func (f Fault) WithHeader(key, value string) Fault {
	f.Header = maps.Clone(f.Header)
	if f.Header == nil {
		f.Header = make(http.Header)
	}
	f.Header.Set(key, value)
	return f
}

// WithReset ends the connection by a reset, so that the client sees ECONNRESET and not an end
// of the stream. Over HTTP/2 it ends the whole connection, where the fault would otherwise end
// the stream.
func (f Fault) WithReset() Fault {
	f.Reset = true
	f.Name += "-reset"
	return f
}

// Early sends the fault's answer while the body is still unread, and so without acting.
func (f Fault) Early() Fault {
	f.Place = BeforeRead
	f.Name += "-early"
	return f
}

// Acting lets the service act before the fault shows.
func (f Fault) Acting() Fault {
	f.Acts = true
	return f
}

// Faults returns one of each kind that ends by itself, for [Server.Chaos] and for tables.
func Faults() []Fault {
	return []Fault{
		Status(500, `{"message":"Server Error"}`),
		Status(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("1"),
		HTMLPage(503).WithRetryAfter("1"),
		HTMLPage(502), HTMLPage(200), HTMLPage(503).Early(),
		ActThenStatus(502), ActThenStatus(504), ActThenStatus(524),
		LateAct(504, 50*time.Millisecond),
		RedirectTo(302, "https://elsewhere.example/"),
		RefuseConnection(), RefuseStream(),
		CloseBeforeRead(), CloseBeforeRead().WithReset(),
		CloseMidUpload(64), CloseMidUpload(64).WithReset(),
		LoseAnswer(), LoseAnswer().WithReset(),
		CloseMidAnswer(), CloseMidAnswer().WithReset(),
		Trickle(0),
		TruncatedJSON(), InvalidJSON(), OversizedAnswer(1 << 20),
	}
}
