package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// scene is a service that does one thing to every request, and counts what it has taken in.
type scene struct {
	baseURL string
	opts    []Option
	seen    func() int
	ctx     func() context.Context // nil for the test's
	file    File                   // of an upload
	only    []string               // the operations that the row speaks of; nil for all
}

// serving is a scene with a server. Its handler reads the body if it wants to.
func serving(handler http.HandlerFunc) func(*testing.T) scene {
	return func(t *testing.T) scene {
		baseURL, seen := fakes.Counted(t, handler)
		return scene{baseURL: baseURL, seen: func() int { return int(seen.Load()) }}
	}
}

// responding is a scene with an ordinary handler.
func responding(handler http.HandlerFunc) func(*testing.T) scene {
	return serving(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		handler(w, r)
	})
}

func status(code int, body string, header ...string) func(*testing.T) scene {
	return responding(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

// each are scenes with a status, one for each body.
func each(code int, bodies ...string) (list []func(*testing.T) scene) {
	for _, body := range bodies {
		list = append(list, status(code, body))
	}
	return list
}

func redirect(code int, to string) func(*testing.T) scene { return status(code, ``, "Location", to) }

// uploading is a scene for an upload that is larger than what the network holds. Its handler has to read the body.
func uploading(handler http.HandlerFunc) func(*testing.T) scene {
	return with(serving(handler), func(_ *testing.T, s *scene) { s.file = FileFromBytes("speech.wav", speech) })
}

var speech = make([]byte, 32<<20)

// early is a scene in which the response comes before the end of the upload.
func early(code int, body string) func(*testing.T) scene {
	return uploading(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

// through is a scene with a transport of the caller's. Nothing else counts the requests.
func through(rt fakes.RoundTripper) func(*testing.T) scene {
	return func(*testing.T) scene {
		var seen atomic.Int64
		counted := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			seen.Add(1)
			return rt(r)
		})
		hc := WithHTTPClient(&http.Client{Transport: counted})
		return scene{
			baseURL: "https://content.example.com", opts: []Option{hc}, seen: func() int { return int(seen.Load()) },
		}
	}
}

// dialing is a scene in which a dialer makes the connections, if any.
func dialing(dial func() (net.Conn, error)) func(*testing.T) scene {
	return func(*testing.T) scene {
		var dials atomic.Int64
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return dial()
		}}
		hc := WithHTTPClient(&http.Client{Transport: transport})
		return scene{baseURL: "http://localhost", opts: []Option{hc}, seen: func() int { return int(dials.Load()) }}
	}
}

// connecting is a scene that counts the connections to a server, which start starts.
func connecting(start func(*httptest.Server)) func(*testing.T) scene {
	return func(t *testing.T) scene {
		var seen atomic.Int64
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				seen.Add(1)
			}
		}
		start(srv)
		t.Cleanup(srv.Close)
		https := strings.Replace(srv.URL, "http:", "https:", 1)
		return scene{baseURL: https, seen: func() int { return int(seen.Load()) }}
	}
}

// with changes a scene.
func with(set func(*testing.T) scene, change func(*testing.T, *scene)) func(*testing.T) scene {
	return func(t *testing.T) scene {
		s := set(t)
		change(t, &s)
		return s
	}
}

// optioned is a scene with further options.
func optioned(set func(*testing.T) scene, opts ...Option) func(*testing.T) scene {
	return with(set, func(_ *testing.T, s *scene) { s.opts = append(s.opts, opts...) })
}

// only are scenes for some operations: for the others another row speaks of them, or they are no failures.
func only(operations string, sets ...func(*testing.T) scene) (list []func(*testing.T) scene) {
	for _, set := range sets {
		list = append(list, with(set, func(_ *testing.T, s *scene) { s.only = strings.Fields(operations) }))
	}
	return list
}

// cancelling is a scene whose handler ends the context of the call.
func cancelling(set func(http.HandlerFunc) func(*testing.T) scene) func(*testing.T) scene {
	return func(t *testing.T) scene {
		ctx, cancel := context.WithCancel(t.Context())
		s := set(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})(t)
		s.ctx = func() context.Context { return ctx }
		return s
	}
}

var (
	works     = status(200, fakes.StoredImage)
	errClosed = errors.New("closed")
	elsewhere = "https://elsewhere.example.com/"
)

// rows has, for each row of the table of OutcomeOf, the situations that it speaks of.
var rows = map[string][]func(*testing.T) scene{
	"invalid arguments": only("list show store update delete upload", optioned(works, WithQuery("q", "\xff"))),
	"the context, limiter, key source or hook, before sending": slices.Concat(
		only("list show store update delete download", with(works, func(t *testing.T, s *scene) {
			s.ctx = func() context.Context { return cancelledContext(t) }
		})),
		[]func(*testing.T) scene{
			optioned(works, limited(func(int) error { return errClosed })),
			optioned(works, keys(func(int) (string, error) { return "", errClosed })),
			optioned(works, refusing(errClosed)),
		},
	),
	"no connection": {
		dialing(func() (net.Conn, error) { return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errClosed} }),
		dialing(func() (net.Conn, error) { return nil, &net.DNSError{Err: "no such host", Name: "localhost"} }),
	},
	"an untrusted certificate, or http on an https:// port": {
		connecting((*httptest.Server).StartTLS), connecting((*httptest.Server).Start),
	},
	"the network, a stall, 408 or 5xx, during an upload": {
		uploading(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			panic(http.ErrAbortHandler)
		}),
		func(t *testing.T) scene {
			stuck := make(chan struct{})
			s := uploading(func(http.ResponseWriter, *http.Request) { <-stuck })(t)
			t.Cleanup(func() { close(stuck) })
			s.opts = []Option{WithStallTimeout(500 * time.Millisecond)}
			return s
		},
		func(t *testing.T) scene {
			stuck := make(chan struct{})
			s := responding(func(http.ResponseWriter, *http.Request) {})(t)
			t.Cleanup(func() { close(stuck) })
			s.file = FileFromFS(stallingFS{stuck}, "speech.wav")
			s.opts = []Option{WithStallTimeout(time.Second)}
			return s
		},
		early(500, ``), early(408, ``),
	},
	"the context, during an upload": {cancelling(uploading)},
	"any other response or a failed reader, during an upload": {
		func(t *testing.T) scene {
			begun := make(chan struct{})
			s := serving(func(_ http.ResponseWriter, r *http.Request) {
				close(begun)
				_, _ = io.Copy(io.Discard, r.Body)
			})(t)
			broken := readerFunc(func([]byte) (int, error) { <-begun; return 0, errClosed })
			s.file = FileFromReader("speech.wav", io.MultiReader(bytes.NewReader(speech[:1<<20]), broken))
			return s
		},
		early(302, ``), early(501, ``), early(404, ``), early(200, `{}`),
	},
	"429": append(only("upload", early(429, ``)),
		status(429, `{"message":"Too Many Attempts."}`), status(429, ``, "Retry-After", "0")),
	"403, 404 or 405 without JSON, except for Download": {
		status(403, `<html>`), status(404, `404 page not found`), status(405, ``),
	},
	"401, if the key source then returns another key": {
		optioned(status(401, `{"message":"Unauthenticated."}`), rotating()),
	},
	"400, 401, 411, 413, 414, 417, 421 or 431": append(only("upload", early(401, ``), early(413, `<html>`)),
		status(400, ``), status(401, ``), status(431, ``),
		optioned(status(401, ``), keys(func(int) (string, error) { return "the-same", nil }))),
	"any other 4xx; for Store only with JSON": append(
		only("list show update delete", status(402, `<html>`), status(409, `null`)),
		status(403, `{"message":"Forbidden"}`), status(404, `{"message":"Not found."}`),
		status(422, `{"errors":{"name":["taken"]}}`)),
	"307 or 308; for List, Show and Download any 3xx": append(
		only("list show", redirect(302, elsewhere), status(304, ``)),
		redirect(307, elsewhere), redirect(308, elsewhere)),
	"408 or 5xx": {
		status(408, ``), status(500, ``), status(504, ``), status(503, `<h1>busy</h1>`, "Retry-After", "0"),
	},
	"any other response, or a picture whose writer failed": slices.Concat(
		only("store update delete", redirect(302, "/login"), status(304, ``)),
		each(499, ``), each(501, ``), each(505, ``),
		only("store", status(402, `<html>`), status(403, ``), status(404, `404 page not found`), status(409, `null`)),
		each(200, `{"status":"error","message":"No credit left."}`, `{"success":false,"data":{"id":7,"name":"n"}}`),
		each(201, `{"error":"quota"}`),
		only("store show update", status(200, `[]`), status(200, `{}`), status(200, `done`), status(202, `{}`)),
		// A body that begins as JSON does, or cannot be read, need not come from the service.
		only("store", status(200, `{"id":7} trailing`),
			status(200, "\x0b\x02\x80{}\x03", "Content-Type", "application/json", "Content-Encoding", "br")),
	),
	"201 or 204 whose JSON reports no error": append(
		only("upload", early(201, `<html>`)),
		append(only("show store update", status(201, `[]`)),
			status(201, ``), status(204, ``), status(201, `<html>`), status(201, `{"data":{"id":7,"na`))...),
	"any other 2xx that is cut off": append(
		only("list show store update", status(200, `[{"id":7`)),
		status(200, "\n\n{", "Content-Length", "200"), status(200, ``, "Content-Length", "200"),
		responding(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})),
	"any other 2xx that is empty, blank or an HTML page": append(
		only("list show store update", status(200, ``), status(202, ``)),
		status(200, `<!doctype html><title>Sign in</title>`)),
	"no response for another reason": {
		dialing(func() (net.Conn, error) {
			near, far := net.Pipe()
			far.Close()
			return near, nil
		}),
		func(t *testing.T) scene {
			s := works(t)
			var asked atomic.Int64
			s.opts = []Option{WithMiddleware(func(http.RoundTripper) http.RoundTripper {
				return fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
					asked.Add(1)
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errClosed}
				})
			})}
			s.seen = func() int { return int(asked.Load()) }
			return s
		},
		responding(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		optioned(through(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			near, _ := net.Pipe()
			trace.GotConn(httptrace.GotConnInfo{Conn: near})
			return fakes.Hang(r)
		}), WithResponseTimeout(50*time.Millisecond), WithStoreTimeout(50*time.Millisecond)),
		through(fails(io.ErrUnexpectedEOF)),
	},
	"a 2xx that is cut off, empty or HTML, during an upload": {
		uploading(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "200") }),
		early(200, ``), early(200, `<html>`),
	},
	"a picture that is cut off after its first byte": only("download",
		status(200, aLongPicture, "Content-Length", "1000000")),
	"a refused redirect, or a certificate below a middleware": only("download",
		redirect(302, "ftp://files.example.com/a.png")),
	"the context, at any other time": {cancelling(responding)},
}

// stallingFS has a file of 1 MiB whose Read returns 64 KiB and then waits.
type stallingFS struct{ stuck chan struct{} }

func (s stallingFS) Open(name string) (fs.File, error) {
	f, err := fstest.MapFS{name: {Data: make([]byte, 1<<20)}}.Open(name)
	return &stallingFile{f, s.stuck, 64 << 10}, err
}

type stallingFile struct {
	fs.File
	stuck chan struct{}
	left  int
}

func (f *stallingFile) Read(p []byte) (int, error) {
	if f.left == 0 {
		<-f.stuck
	}
	n, err := f.File.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// tableRow is a row of the table of OutcomeOf.
type tableRow struct{ text, outcome, store, others string }

func docTable(t *testing.T) []tableRow {
	source, err := os.ReadFile("outcome.go")
	require.NoError(t, err)
	line := regexp.MustCompile(`^//\t(\S.*?) {2,}(NotExecuted|Executed|Unknown) +(\S.*?) {2,}(\S.*)$`)
	var table []tableRow
	for scanner := bufio.NewScanner(strings.NewReader(string(source))); scanner.Scan(); {
		if m := line.FindStringSubmatch(scanner.Text()); m != nil {
			table = append(table, tableRow{m[1], m[2], m[3], m[4]})
		}
	}
	return table
}

// A row of the documentation that is not true would make a caller store twice, or give up what could be saved.
func TestOutcomeTable(t *testing.T) {
	t.Parallel()
	table := docTable(t)
	documented := map[string]bool{}
	for _, row := range table {
		documented[row.text] = true
		scenes := rows[row.text]
		require.NotEmpty(t, scenes, "no situation for the row %q", row.text)
		for i, set := range scenes {
			for _, name := range []string{"list", "show", "store", "update", "delete", "upload", "download"} {
				if s := set(t); speaksOf(row, s, name) {
					t.Run(fmt.Sprintf("%s/%d/%s", row.text, i, name), func(t *testing.T) { checkRow(t, row, name, s) })
				}
			}
		}
	}
	for text := range rows {
		assert.True(t, documented[text], "the row %q is not in the table", text)
	}
}

// speaksOf leaves out what a row says nothing of.
func speaksOf(row tableRow, s scene, operation string) bool {
	upload := strings.HasSuffix(row.text, "during an upload")
	switch {
	case s.only != nil:
		return slices.Contains(s.only, operation)
	case operation == "download":
		return false
	case upload || operation == "upload":
		return upload && operation == "upload"
	}
	switch row.text {
	case "403, 404 or 405 without JSON, except for Download":
		return operation != "store"
	case "201 or 204 whose JSON reports no error":
		return operation != "delete"
	}
	return true
}

func checkRow(t *testing.T, row tableRow, operation string, s scene) {
	c, err := NewClient(s.baseURL, fakes.Key, append([]Option{WithRetryPolicy(quick)}, s.opts...)...)
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	ctx := t.Context()
	if s.ctx != nil {
		ctx = s.ctx()
	}
	op := "images." + operation
	switch operation {
	case "download":
		_, err = c.Images.Download(ctx, at(s.baseURL+"/a.png"), io.Discard)
	case "upload":
		op = "transcriptions.store"
		err = transcribe(ctx, c, s.file)
	default:
		err = allTen(c)[op](ctx)
	}
	require.Error(t, err)
	expected := map[string]Outcome{
		"NotExecuted": OutcomeNotExecuted, "Executed": OutcomeExecuted, "Unknown": OutcomeUnknown,
	}[row.outcome]
	assert.Equal(t, expected, OutcomeOf(err), "outcome of %v", err)
	step := row.others
	if operation == "store" || operation == "upload" {
		step = row.store
	}
	assert.Equal(t, step == "retried" || step == "retryable", Retryable(err), "Retryable of %v", err)
	assert.Equal(t, expected, OutcomeOf(fmt.Errorf("job 4711: %w", err)), "wrapped")
	assert.Equal(t, expected, OutcomeOf(errors.Join(err, errors.New("close: broken"))), "joined with a stranger")

	attempts := map[string]int{"retried": quick.MaxAttempts, "retryable": 1, "final": 1, "new key": 2}[step]
	if strings.HasPrefix(row.text, "invalid arguments") || strings.HasPrefix(row.text, "the context, limiter") {
		attempts = 0
	}
	// On a busy machine a handler may begin when its call has ended.
	assert.Eventually(t, func() bool { return s.seen() >= attempts }, 10*time.Second, time.Millisecond)
	assert.Equal(t, attempts, s.seen(), "sends; the call ended with %v", err)
	assert.True(t, strings.HasPrefix(err.Error(), op+": "), "%q does not begin with the operation", err)
	assert.NotContains(t, err.Error(), "\n")
}

// A job queue asks these of any error that it gets, and must not give up a job whose record may exist. What a program
// made up was not observed.
func TestOutcomeOfJoinedErrorsIsUnknownFirst(t *testing.T) {
	t.Parallel()
	busy, refused := &told{OutcomeNotExecuted, true}, &told{OutcomeNotExecuted, false}
	lost, unread := &told{OutcomeUnknown, true}, &told{OutcomeExecuted, false}
	bad, stranger := &ValidationError{}, errors.New("a stranger")
	for _, row := range []struct {
		err       error
		outcome   Outcome
		retryable bool
	}{
		{nil, OutcomeExecuted, false},
		{stranger, OutcomeUnknown, false},
		{context.DeadlineExceeded, OutcomeUnknown, false},
		{ErrPagination, OutcomeUnknown, false},
		{busy, OutcomeNotExecuted, true},
		{fmt.Errorf("job 4711: %w", busy), OutcomeNotExecuted, true},
		{errors.Join(busy, stranger), OutcomeNotExecuted, true},
		{errors.Join(busy, refused), OutcomeNotExecuted, false},
		{errors.Join(refused, unread, stranger), OutcomeExecuted, false},
		{errors.Join(bad, refused, unread, lost), OutcomeUnknown, false},
		{&wraps{told{OutcomeNotExecuted, true}, lost}, OutcomeNotExecuted, true},
		{&wraps{told{OutcomeUnknown, false}, busy}, OutcomeUnknown, false},
		{half{}, OutcomeUnknown, false},
		{&told{42, false}, OutcomeUnknown, false},

		{&CallError{Err: refused}, OutcomeUnknown, false},
		{&ConflictError{}, OutcomeUnknown, false},
		{&DecodeError{StatusCode: 201, Body: []byte(`{}`)}, OutcomeUnknown, false},
	} {
		assert.Equal(t, row.outcome, OutcomeOf(row.err), "%#v", row.err)
		assert.Equal(t, row.retryable, Retryable(row.err), "%#v", row.err)
	}
}

// told is an error that a program made itself, as a fake would.
type told struct {
	outcome   Outcome
	retryable bool
}

func (e *told) Error() string    { return "told" }
func (e *told) Outcome() Outcome { return e.outcome }
func (e *told) Retryable() bool  { return e.retryable }

// wraps is one that knows more than what it wraps.
type wraps struct {
	told
	err error
}

func (e *wraps) Unwrap() error { return e.err }

// half lacks one of the methods.
type half struct{}

func (half) Error() string    { return "half" }
func (half) Outcome() Outcome { return OutcomeExecuted }

func TestAPIErrorOfAProgramIsJudgedAsTheResponseToAStore(t *testing.T) {
	t.Parallel()
	for status, row := range map[int]struct {
		outcome   Outcome
		retryable bool
	}{
		400: {OutcomeNotExecuted, false}, 403: {OutcomeNotExecuted, false}, 422: {OutcomeNotExecuted, false},
		429: {OutcomeNotExecuted, true}, 408: {OutcomeUnknown, false}, 499: {OutcomeUnknown, false},
		502: {OutcomeUnknown, false}, 503: {OutcomeUnknown, false}, 0: {OutcomeUnknown, false},
	} {
		err := fmt.Errorf("job 7: %w", &APIError{StatusCode: status, RetryAfter: time.Minute})
		assert.Equal(t, row.outcome, OutcomeOf(err), status)
		assert.Equal(t, row.retryable, Retryable(err), status)
		assert.Equal(t, row.retryable, !RetryAt(err).IsZero(), status)
	}
}
