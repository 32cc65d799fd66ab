package integration

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

const (
	settleTime = 20 * time.Second // of package once
	lateAct    = 10 * time.Second // when a service acts that is slower than a proxy in front of it
	tooLate    = 45 * time.Second // when it acts after the settle time
	latency    = 3 * time.Second  // of a service whose client leaves meanwhile
	lag        = 15 * time.Second // of a list
	allLate    = time.Minute      // by when everything has happened
	tooLong    = 30 * time.Minute // for a call: a Store call waits for 10, and two may have to wait
	mostBytes  = 64 << 10         // of a response

	maxAttempts, retryBudget = 4, 100 // the defaults

	tooLateAct = "too-late-504"
)

// A strike is a fault under its name in sequences.
type strike struct {
	name  string
	fault aicontenttest.Fault
	// Which programs get over it, as long as attempts are left.
	image, transcription survivors
}

// survivors are the programs that must get over it in the collection.
func (s strike) survivors(collection string) survivors {
	if collection == "images" {
		return s.image
	}
	return s.transcription
}

// class reports whether it is one of the first ten, of which longer sequences consist.
func (s strike) class() bool {
	return slices.ContainsFunc(strikes[:10], func(c strike) bool { return c.name == s.name })
}

// survivors are the programs that must get over a fault.
type survivors int

const (
	nobody    survivors = iota // another request would end alike: the error is not temporary
	unclear                    // it may be temporary
	whoLooks                   // those with package once, which search, and then call again: the service may have acted
	everybody                  // the same call sends again: the service has not acted, and the client saw why
)

// strikes are what can happen to a create request. Each function of the kit that makes a fault is among them. Cut off
// before its end, a form of 60 bytes was sent and a file of 264 KiB was not.
var strikes = []strike{
	{"ok", aicontenttest.Fault{Place: aicontenttest.BeforeResponse, Acts: true}, everybody, everybody},
	{"refuse-connection", aicontenttest.RefuseConnection(), everybody, everybody},
	{"lose-response", aicontenttest.LoseResponse(), whoLooks, whoLooks},
	{"late-504", aicontenttest.LateAct(504, lateAct), whoLooks, whoLooks},
	{"proxy-503", aicontenttest.LateAct(503, lateAct).WithRetryAfter("5"), whoLooks, whoLooks},
	{tooLateAct, aicontenttest.LateAct(504, tooLate), whoLooks, whoLooks},
	{"429", says(429, `{"message":"Too Many Attempts."}`).WithRetryAfter("5"), everybody, everybody},
	{"stall-mid-upload", aicontenttest.Stall(aicontenttest.MidUpload), whoLooks, everybody},
	{"act-403", aicontenttest.ActThenStatus(403), nobody, nobody},
	{"act-201-empty", aicontenttest.Status(201, "").Acting(), whoLooks, whoLooks},

	{"401", says(401, `{"message":"Unauthenticated."}`), nobody, nobody},
	{"403", says(403, `{"message":"This action is unauthorized."}`), nobody, nobody},
	{"403-early", aicontenttest.HTMLPage(403).Early(), nobody, nobody},
	{"404", says(404, `{"message":"Not Found"}`), nobody, nobody},
	{"408", aicontenttest.HTMLPage(408), whoLooks, whoLooks},
	{"408-early", aicontenttest.HTMLPage(408).Early(), whoLooks, everybody},
	{"409", says(409, `{"message":"Conflict"}`), nobody, nobody},
	{"413-early", aicontenttest.HTMLPage(413).Early(), nobody, nobody},
	{"422", says(422, `{"message":"The name is no name.","errors":{"name":["no"]}}`), nobody, nobody},
	{"429-tomorrow", says(429, ``).WithRetryAfter("86400"), nobody, nobody},
	{"500-with-key", says(500, `{"message":"aicontenttest-key failed"}`), whoLooks, whoLooks},
	{"501", aicontenttest.HTMLPage(501), unclear, unclear},
	{"502", aicontenttest.HTMLPage(502), whoLooks, whoLooks},
	{"503", aicontenttest.HTMLPage(503), whoLooks, whoLooks},
	{"503-retry-after", aicontenttest.HTMLPage(503).WithRetryAfter("5"), whoLooks, whoLooks},
	{"503-tomorrow", aicontenttest.HTMLPage(503).WithRetryAfter("86400"), whoLooks, whoLooks},
	{"503-early", aicontenttest.HTMLPage(503).Early(), whoLooks, everybody},
	{"507-early", aicontenttest.HTMLPage(507).Early(), whoLooks, everybody},
	{"200-page", aicontenttest.HTMLPage(200), unclear, unclear},
	{"200-blank", aicontenttest.Status(200, "").WithHeader("Content-Type", "application/json"), unclear, unclear},
	{"act-204", aicontenttest.Status(204, "").Acting(), whoLooks, whoLooks},
	{"act-404", aicontenttest.ActThenStatus(404), nobody, nobody},
	{"act-405", aicontenttest.ActThenStatus(405), nobody, nobody},
	{"act-499", aicontenttest.ActThenStatus(499), unclear, unclear},
	{"act-502", aicontenttest.ActThenStatus(502), whoLooks, whoLooks},
	{"act-503-retry-after", aicontenttest.ActThenStatus(503).WithRetryAfter("5"), whoLooks, whoLooks},
	{"act-524", aicontenttest.ActThenStatus(524), whoLooks, whoLooks},
	{"redirect-302", aicontenttest.RedirectTo(302, "https://elsewhere.example/"), unclear, unclear},
	{"redirect-307", aicontenttest.RedirectTo(307, "https://elsewhere.example/"), nobody, nobody},
	{"close-before-read", aicontenttest.CloseBeforeRead(), whoLooks, everybody},
	{"reset-before-read", aicontenttest.CloseBeforeRead().WithReset(), whoLooks, everybody},
	{"close-mid-upload", aicontenttest.CloseMidUpload(32), whoLooks, everybody},
	{"reset-mid-upload", aicontenttest.CloseMidUpload(32).WithReset(), whoLooks, everybody},
	{"lose-response-reset", aicontenttest.LoseResponse().WithReset(), whoLooks, whoLooks},
	{"close-mid-response", aicontenttest.CloseMidResponse(), whoLooks, whoLooks},
	{"reset-mid-response", aicontenttest.CloseMidResponse().WithReset(), whoLooks, whoLooks},
	{"stall-before-read", aicontenttest.Stall(aicontenttest.BeforeRead), whoLooks, everybody},
	{"stall-before-response", aicontenttest.Stall(aicontenttest.BeforeResponse), whoLooks, whoLooks},
	{"stall-mid-response", aicontenttest.Stall(aicontenttest.MidResponse), whoLooks, whoLooks},
	{"minutes", minutes, everybody, everybody},
	{"truncated-json", aicontenttest.TruncatedJSON(), whoLooks, whoLooks},
	{"invalid-json", aicontenttest.InvalidJSON(), whoLooks, whoLooks},
	{"oversized", oversized(mostBytes), whoLooks, whoLooks},
	{"other-protocol", aicontenttest.TakeOver(speakSMTP), whoLooks, whoLooks},
}

// says responds with JSON instead of acting.
func says(status int, body string) aicontenttest.Fault {
	return aicontenttest.Status(status, body).WithHeader("Content-Type", "application/json")
}

// minutes acts at once. The body of its response then arrives byte by byte for minutes: takesMinutes marks the response
// on the server, and drips slows the client's network down.
var minutes = aicontenttest.Fault{Name: "minutes", Place: aicontenttest.BeforeResponse, Acts: true}

var takesMinutes = aicontenttest.OnResponse(func(r *aicontenttest.Response) {
	if r.Request.Fault == minutes.Name {
		r.Header.Set(dripping, "yes")
	}
})

const dripping = "X-Dripping"

var drips = aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
	return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.Header.Get(dripping) != "" {
			resp.Body = &drip{resp.Body, r.Context()}
		}
		return resp, err
	})
})

// drip is a body of which a byte arrives each second.
type drip struct {
	io.ReadCloser
	ctx context.Context
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		return d.ReadCloser.Read(p[:min(len(p), 1)])
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

// oversized acts and responds with more bytes of JSON than the limit.
func oversized(limit int) aicontenttest.Fault {
	return says(200, `{"padding":"`+strings.Repeat("x", limit)+`"}`).Acting()
}

func speakSMTP(conn net.Conn) { _, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n") }

// An obstacle is what can happen to the requests of a search.
type obstacle struct {
	name  string
	verb  string // list or show
	fault aicontenttest.Fault
	lasts time.Duration // how long after the first call has begun requests meet it; 0 is for one request
	final bool          // a call of package once ends there if no request is open, and calling again need not help
	from  int           // the request of this verb that meets it, or the first one, from 1
}

func (o obstacle) meets(n int, passed time.Duration) bool {
	return n == o.from || n > o.from && passed < o.lasts
}

// outlasts reports whether no search succeeds until the settle time is over.
func (o obstacle) outlasts() bool { return o.lasts > settleTime }

var obstacles = []obstacle{
	{"list-503", "list", aicontenttest.HTMLPage(503), 0, false, 0},
	{"list-429", "list", says(429, ``).WithRetryAfter("5"), 0, false, 0},
	{"list-tomorrow", "list", says(429, ``).WithRetryAfter("86400"), 0, false, 0},
	{"list-401", "list", says(401, `{"message":"Unauthenticated."}`), 0, true, 0},
	{"list-422", "list", says(422, `{"message":"The per_page is no number."}`), 0, true, 0},
	{"list-501", "list", says(501, `{}`), 0, true, 0},
	{"list-no-list", "list", says(200, `{"status":200}`), 0, true, 0},
	{"list-403", "list", says(403, `{"message":"This action is unauthorized."}`), 0, true, 0},
	{"list-page", "list", aicontenttest.HTMLPage(200), 0, false, 0},
	{"list-lost", "list", aicontenttest.LoseResponse(), 0, false, 0},
	{"list-stalls", "list", aicontenttest.Stall(aicontenttest.MidResponse), 0, false, 0},
	{"list-lags", "list", says(200, `{"data":[]}`), lag, false, 0},
	{"list-down", "list", aicontenttest.HTMLPage(502), allLate, false, 0},
	{"show-503", "show", aicontenttest.HTMLPage(503), 0, false, 0},
	{"show-409", "show", says(409, `{"message":"maintenance"}`), 0, true, 0},
	{"show-422", "show", says(422, `{"message":"The id is no number."}`), 0, true, 0},
	{"show-404", "show", says(404, `{"message":"Not Found"}`), 0, false, 0},
	{"show-404-page", "show", aicontenttest.HTMLPage(404), 0, false, 0},
	{"show-lost", "show", aicontenttest.LoseResponse(), 0, false, 0},
	{"show-lags", "show", says(404, `{"message":"Not Found"}`), allLate, false, 0},
	{"show-down", "show", aicontenttest.HTMLPage(404), allLate, false, 0},
}

// audio fits into no buffer on the way: not into the network's, nor into what a server reads after its response.
var audio = wav(264 << 10)
