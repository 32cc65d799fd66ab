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
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// quick is a policy whose pauses take no time to speak of.
var quick = RetryPolicy{MaxAttempts: 3, MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond}

// scene is a service that does one thing to every request, and counts what it has taken in.
type scene struct {
	baseURL string
	opts    []Option
	seen    func() int
	ctx     context.Context
	file    File     // of an upload
	only    []string // the operations that the row speaks of; nil for all
}

// responding is a scene with an ordinary handler.
func responding(handler http.HandlerFunc) func(*testing.T) scene {
	return func(t *testing.T) scene {
		var seen atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			handler(w, r)
		}))
		t.Cleanup(srv.Close)
		return scene{baseURL: srv.URL + "/tenant", seen: func() int { return int(seen.Load()) }}
	}
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

// uploading is a scene for an upload that is larger than what the network holds. Its handler has to read the body.
func uploading(handler http.HandlerFunc) func(*testing.T) scene {
	return func(t *testing.T) scene {
		var seen atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			handler(w, r)
		}))
		t.Cleanup(srv.Close)
		return scene{baseURL: srv.URL + "/tenant", seen: func() int { return int(seen.Load()) }, file: FileFromReader("speech.wav", zeros())}
	}
}

// uploadRefused is a scene in which the response comes before the end of the upload.
func uploadRefused(code int) func(*testing.T) scene {
	return uploading(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(code)
	})
}

type zeroBytes struct{}

func (zeroBytes) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

func zeros() *io.SectionReader { return io.NewSectionReader(zeroBytes{}, 0, 1<<30) }

// brokenReader fails in the middle, once the service has begun to read.
type brokenReader struct {
	*io.SectionReader
	begun chan struct{}
}

func (r brokenReader) Read(p []byte) (int, error) {
	if at, _ := r.Seek(0, io.SeekCurrent); at >= 1<<20 {
		<-r.begun
		return 0, errors.New("the disk is gone")
	}
	return r.SectionReader.Read(p)
}

func through(rt fakes.RoundTripper) func(*testing.T) scene {
	return func(*testing.T) scene {
		var seen atomic.Int64
		counted := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			seen.Add(1)
			return rt(r)
		})
		return scene{
			baseURL: "https://content.example.com/tenant",
			opts:    []Option{WithHTTPClient(&http.Client{Transport: counted})},
			seen:    func() int { return int(seen.Load()) },
		}
	}
}

// dialing is a scene in which no connection is made.
func dialing(err error) func(*testing.T) scene {
	return func(*testing.T) scene {
		var dials atomic.Int64
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, err
		}}
		return scene{
			baseURL: "http://localhost",
			opts:    []Option{WithHTTPClient(&http.Client{Transport: transport})},
			seen:    func() int { return int(dials.Load()) },
		}
	}
}

// rows has, for each row of the table of OutcomeOf, the situations that it speaks of.
var rows = map[string][]func(*testing.T) scene{
	"invalid arguments": {func(t *testing.T) scene {
		s := status(200, fakes.StoredImage)(t)
		s.opts = []Option{WithResponseTimeout(0)}
		s.ctx = noContext
		return s
	}},
	"a context, limiter, key source or hook, before any byte": {
		func(t *testing.T) scene {
			s := status(200, fakes.StoredImage)(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			s.ctx = ctx
			return s
		},
		func(t *testing.T) scene {
			s := status(200, fakes.StoredImage)(t)
			s.opts = []Option{WithRateLimiter(fakes.Limiter(func(context.Context) error { return errors.New("closed") }))}
			return s
		},
		func(t *testing.T) scene {
			s := status(200, fakes.StoredImage)(t)
			s.opts = []Option{WithAPIKeySource(func(context.Context) (string, error) { return "", errors.New("vault is sealed") })}
			return s
		},
		func(t *testing.T) scene {
			s := status(200, fakes.StoredImage)(t)
			refuse := func(context.Context, Attempt) (func(AttemptResult), error) {
				return nil, errors.New("the day's budget is spent")
			}
			s.opts = []Option{WithAttemptHook(refuse)}
			return s
		},
	},
	"no connection, or one that broke before any byte": {
		dialing(&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}),
		dialing(&net.DNSError{Err: "no such host", Name: "content.example.com"}),
		func(*testing.T) scene {
			var dials atomic.Int64
			transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				near, far := net.Pipe()
				far.Close()
				return near, nil
			}}
			return scene{
				baseURL: "http://localhost",
				opts:    []Option{WithHTTPClient(&http.Client{Transport: transport})},
				seen:    func() int { return int(dials.Load()) },
			}
		},
	},
	"an untrusted certificate, or http on an https:// port": {func(t *testing.T) scene {
		var seen atomic.Int64
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				seen.Add(1)
			}
		}
		srv.StartTLS()
		t.Cleanup(srv.Close)
		return scene{baseURL: srv.URL, seen: func() int { return int(seen.Load()) }}
	}, func(t *testing.T) scene {
		var seen atomic.Int64
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				seen.Add(1)
			}
		}
		srv.Start()
		t.Cleanup(srv.Close)
		return scene{baseURL: strings.Replace(srv.URL, "http:", "https:", 1), seen: func() int { return int(seen.Load()) }}
	}},
	"an upload cut off by the network, a stall, 408 or 5xx": {
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
		uploadRefused(500), uploadRefused(502), uploadRefused(503), uploadRefused(504), uploadRefused(507), uploadRefused(408),
	},
	"an upload cut off by the context": {
		func(t *testing.T) scene {
			ctx, cancel := context.WithCancel(t.Context())
			s := uploading(func(_ http.ResponseWriter, r *http.Request) { cancel(); _, _ = io.Copy(io.Discard, r.Body) })(t)
			s.ctx = ctx
			return s
		},
	},
	"an upload cut off by its reader or any other response": {
		func(t *testing.T) scene {
			begun := make(chan struct{})
			s := uploading(func(_ http.ResponseWriter, r *http.Request) {
				close(begun)
				_, _ = io.Copy(io.Discard, r.Body)
			})(t)
			s.file = FileFromReader("speech.wav", brokenReader{zeros(), begun})
			return s
		},
		uploadRefused(302), uploadRefused(307), uploadRefused(499), uploadRefused(501), uploadRefused(403), uploadRefused(404),
	},
	"a refused HTTP/2 stream (REFUSED_STREAM), except Store": {through(func(*http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("http2: %w", refusedStream{StreamID: 1, Code: 7})
	})},
	"429": {status(429, `{"message":"Too Many Attempts."}`), status(429, ``, "Retry-After", "0")},
	"403, 404 or 405 without JSON; not Store, not Download": {
		status(403, `<html>`), status(404, ``), status(404, `404 page not found`), status(405, `<html>`), status(404, `"gone"`), status(404, `{"mess`),
	},
	"401, if the key source then returns another key": {func(t *testing.T) scene {
		s := status(401, `{"message":"Unauthenticated."}`)(t)
		var asked atomic.Int64
		s.opts = []Option{WithAPIKeySource(func(context.Context) (string, error) { return fmt.Sprint("api-key-", asked.Add(1)), nil })}
		return s
	}},
	"400, 401, 411, 413, 414, 417, 421 or 431": {
		status(400, ``), status(401, ``), status(413, `<html>`), status(414, ``), status(421, `nope`), status(431, ``),
		func(t *testing.T) scene {
			s := status(401, ``)(t)
			s.opts = []Option{WithAPIKeySource(func(context.Context) (string, error) { return "the-same", nil })}
			return s
		},
	},
	"any other 4xx; for Store only with JSON": {
		status(402, `{"message":"No credit left."}`), status(403, `{"message":"Forbidden"}`), status(404, `{"message":"Not found."}`),
		status(405, `[]`), status(409, `{}`), status(412, `{}`), status(422, `{"errors":{"name":["taken"]}}`),
		only(status(402, `<html>`), "list", "show", "update", "delete"), only(status(406, ``), "list", "show", "update", "delete"), only(status(409, `null`), "list", "show", "update", "delete"), only(status(418, ``), "list", "show", "update", "delete"), only(status(423, `busy`), "list", "show", "update", "delete"), only(status(451, `<html>`), "list", "show", "update", "delete"),
	},
	"307 or 308; for List, Show and Download any 3xx": {
		status(307, ``, "Location", "https://elsewhere.example.com/"), status(308, ``, "Location", "https://elsewhere.example.com/"),
		only(status(301, ``, "Location", "https://elsewhere.example.com/"), "list", "show"), only(status(302, ``, "Location", "https://elsewhere.example.com/"), "list", "show"),
		only(status(303, ``, "Location", "https://elsewhere.example.com/"), "list", "show"), only(status(302, ``), "list", "show"), only(status(304, ``), "list", "show"),
	},
	"408 or 5xx": {
		status(408, ``), status(500, ``), status(502, `<html>`), status(504, ``), status(503, ``), status(520, ``), status(524, ``), status(599, ``),
		status(503, `<h1>busy</h1>`, "Retry-After", "0"), status(503, ``, "Retry-After", "Mon, 01 Jan 2001 00:00:00 GMT"),
		status(503, `{"message":"Service Unavailable"}`, "Retry-After", "soon"),
	},
	"any other response, or a picture whose writer failed": {
		only(status(301, ``, "Location", "/login"), "store", "update", "delete"), only(status(302, ``, "Location", "/login"), "store", "update", "delete"), only(status(303, ``, "Location", "/login"), "store", "update", "delete"), only(status(304, ``), "store", "update", "delete"),
		status(499, ``), status(501, ``), status(505, ``),
		only(status(402, `<html>`), "store"), only(status(403, ``), "store"), only(status(404, `404 page not found`), "store"), only(status(406, ``), "store"), only(status(409, `null`), "store"), only(status(410, `"gone"`), "store"),
		only(status(418, ``), "store"), only(status(423, `busy`), "store"), only(status(451, `<html>`), "store"),
		status(200, `{"status":"error","message":"No credit left."}`), status(200, `{"status":"fail","data":null}`), status(201, `{"error":"quota"}`),
		status(200, `{"errors":{"name":["taken"]}}`), status(200, `{"exception":"QueryException","message":"Server Error"}`),
		status(200, `{"success":false,"message":"Insufficient credits"}`), status(200, `{"message":"Too Many Attempts.","status":429}`),
		status(200, `{"status":"failed"}`), status(200, `{"code":402,"message":"Pay"}`), status(200, `{"code":"402"}`), status(200, `{"ok":false}`),
		status(200, `{"id":"req_1","error":{"message":"quota exceeded"}}`), status(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000}}`),
		status(200, `{"id":"x","status":"error"}`), status(200, `{"name":"n","success":false}`), status(200, `{"success":false,"data":{"id":7,"name":"n"}}`),
		only(status(201, `{"image":{"error":"quota"}}`), "show", "store", "update", "delete"),
		only(status(200, `{"status":"ok"}`), "store", "show", "update"), only(status(200, `[]`), "store", "show", "update"), only(status(202, `{}`), "store", "show", "update"), only(status(200, `{"data":null}`), "store", "show", "update"), only(status(200, `{}`), "store", "show", "update"), only(status(200, `null`), "store", "show", "update"),
		only(status(200, `0`), "store", "show", "update"), only(status(200, `done`), "store", "show", "update"), only(status(200, `{"description":"d","style":"retro"}`), "store"),
	},
	"any other 201 or 204 whose JSON reports no error": {
		status(201, ``), status(204, ``), status(201, "\n\n"), status(201, `<html>`), status(201, `{}`), only(status(201, `[]`), "show", "store", "update"),
	},
	"201 or 204 that is cut off": {
		status(201, ``, "Content-Length", "200"), status(201, "\n\n", "Content-Length", "200"), status(201, `{"data":{"id":7,"na`),
	},
	"any other 2xx that is cut off": {
		status(200, `{"data":{"id":7,"na`, "Content-Length", "200"),
		only(status(200, `{"data":{"id":7,"na`), "list", "show", "store", "update"),
		status(200, "\n\n{", "Content-Length", "200"),
		status(200, ``, "Content-Length", "200"), status(200, "\n\n\n", "Content-Length", "200"),
		responding(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}),
	},
	"any other 2xx that is empty, blank or an HTML page": {
		only(status(200, ``), "list", "show", "store", "update"), only(status(200, "\n \n"), "list", "show", "store", "update"),
		only(status(202, ``), "list", "show", "store", "update"), status(200, `<!doctype html><title>Sign in</title>`), status(200, "\ufeff <html>"),
	},
	"no response, though a byte may have been sent": {
		func(t *testing.T) scene {
			s := status(200, fakes.StoredImage)(t)
			var asked atomic.Int64
			s.opts = []Option{WithMiddleware(func(http.RoundTripper) http.RoundTripper {
				return fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
					asked.Add(1)
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
				})
			})}
			s.seen = func() int { return int(asked.Load()) }
			return s
		},
		responding(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		func(t *testing.T) scene {
			s := through(func(r *http.Request) (*http.Response, error) {
				trace := httptrace.ContextClientTrace(r.Context())
				near, _ := net.Pipe()
				trace.GetConn("content.example.com:443")
				trace.GotConn(httptrace.GotConnInfo{Conn: near})
				trace.WroteRequest(httptrace.WroteRequestInfo{})
				<-r.Context().Done()
				return nil, r.Context().Err()
			})(t)
			s.opts = append(s.opts, WithResponseTimeout(50*time.Millisecond), WithStoreTimeout(50*time.Millisecond))
			return s
		},
		through(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }),
	},
	"an upload whose file stalls": {
		func(t *testing.T) scene {
			stuck := make(chan struct{})
			s := uploading(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })(t)
			t.Cleanup(func() { close(stuck) })
			s.file = FileFromFS(stallingFS{stuck}, "speech.wav")
			s.opts = []Option{WithStallTimeout(time.Second)}
			return s
		},
	},
	"an upload cut off by a 2xx that is itself cut off": {
		uploading(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "200") }),
	},
	"an upload cut off by a 2xx that is empty or HTML": {
		uploading(func(http.ResponseWriter, *http.Request) {}),
		uploading(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }),
	},
	"a picture that is cut off after its first byte": {
		only(status(200, "BMpic", "Content-Length", "200"), "download"),
	},
	"a refused redirect, or a certificate below a middleware": {
		only(status(302, ``, "Location", "ftp://files.example.com/a.png"), "download"),
	},
	"the context, after a byte was sent": {func(t *testing.T) scene {
		ctx, cancel := context.WithCancel(t.Context())
		s := responding(func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })(t)
		s.ctx = ctx
		return s
	}},
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

// noContext stands for a nil context, which a scene cannot tell from none given.
var noContext = context.WithValue(context.Background(), noContextKey{}, true)

type noContextKey struct{}

// tableRow is a row of the table of OutcomeOf.
type tableRow struct{ text, outcome, others, store, retryable string }

func docTable(t *testing.T) []tableRow {
	source, err := os.ReadFile("outcome.go")
	require.NoError(t, err)
	line := regexp.MustCompile(`^//\t(\S.*?) {2,}(NotExecuted|Executed|Unknown) +(yes|no|1x|-) +(yes|no|1x|-) +(yes|no|others)$`)
	var table []tableRow
	for scanner := bufio.NewScanner(strings.NewReader(string(source))); scanner.Scan(); {
		if m := line.FindStringSubmatch(scanner.Text()); m != nil {
			table = append(table, tableRow{m[1], m[2], m[3], m[4], m[5]})
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
	if operation == "download" {
		return slices.Contains(s.only, operation)
	}
	if upload := strings.HasPrefix(row.text, "an upload "); upload || operation == "upload" {
		return upload && operation == "upload"
	}
	switch row.text {
	case "a refused HTTP/2 stream (REFUSED_STREAM), except Store", "403, 404 or 405 without JSON; not Store, not Download":
		return operation != "store"
	case "any other 201 or 204 whose JSON reports no error", "201 or 204 that is cut off":
		return operation != "delete" && len(s.only) == 0 || slices.Contains(s.only, operation)
	}
	return len(s.only) == 0 || slices.Contains(s.only, operation)
}

// only is a scene for some operations: for the others another row speaks of it, or it is no failure.
func only(set func(*testing.T) scene, operations ...string) func(*testing.T) scene {
	return func(t *testing.T) scene {
		s := set(t)
		s.only = operations
		return s
	}
}

func checkRow(t *testing.T, row tableRow, operation string, s scene) {
	opts := append([]Option{WithRetryPolicy(quick)}, s.opts...)
	c, err := NewClient(s.baseURL, "test-key", opts...)
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	ctx := s.ctx
	switch ctx {
	case nil:
		ctx = t.Context()
	case noContext:
		ctx = nil
	}
	op := "images." + operation
	switch operation {
	case "download":
		_, err = c.Images.Download(ctx, &Image{URL: s.baseURL + "/a.png"}, io.Discard)
	case "upload":
		op = "transcriptions.store"
		_, err = c.Transcriptions.Store(ctx, TranscriptionStoreParams{Name: "n", File: s.file})
	default:
		err = allTen(c)["images."+operation](ctx)
	}
	require.Error(t, err)
	expected := map[string]Outcome{
		"NotExecuted": OutcomeNotExecuted, "Executed": OutcomeExecuted, "Unknown": OutcomeUnknown,
	}[row.outcome]
	assert.Equal(t, expected, OutcomeOf(err), "outcome of %v", err)
	creates := operation == "store" || operation == "upload"
	assert.Equal(t, row.retryable == "yes" || row.retryable == "others" && !creates, Retryable(err), "Retryable of %v", err)
	assert.Equal(t, expected, OutcomeOf(fmt.Errorf("job 4711: %w", err)), "wrapped")
	assert.Equal(t, expected, OutcomeOf(errors.Join(err, errors.New("close: broken"))), "joined with a stranger")

	again := row.others
	if creates {
		again = row.store
	}
	attempts := map[string]int{"yes": quick.MaxAttempts, "no": 1, "1x": 2}[again]
	if strings.HasPrefix(row.text, "invalid arguments") || strings.HasPrefix(row.text, "a context, limiter") {
		attempts = 0
	}
	// On a busy machine a handler may begin when its call has ended.
	assert.Eventually(t, func() bool { return s.seen() >= attempts }, 10*time.Second, time.Millisecond)
	assert.Equal(t, attempts, s.seen(), "sends; the call ended with %v", err)
	assert.True(t, strings.HasPrefix(err.Error(), op+": "), "%q does not begin with the operation", err)
	assert.NotContains(t, err.Error(), "\n")
}

func TestOutcomeOfJoinedErrorsIsUnknownFirst(t *testing.T) {
	t.Parallel()
	refused, lost, unread := &told{OutcomeNotExecuted, false}, &told{OutcomeUnknown, true}, &told{OutcomeExecuted, false}
	bad := &ValidationError{}
	for _, row := range []struct {
		err     error
		outcome Outcome
	}{
		{nil, OutcomeExecuted},
		{errors.New("a stranger"), OutcomeUnknown},
		{context.Canceled, OutcomeUnknown},
		{ErrPagination, OutcomeUnknown},
		{errors.Join(errors.New("a stranger"), errors.New("another")), OutcomeUnknown},
		{bad, OutcomeNotExecuted},
		{refused, OutcomeNotExecuted},
		{fmt.Errorf("job 4711: %w", unread), OutcomeExecuted},
		{errors.Join(bad, refused), OutcomeNotExecuted},
		{errors.Join(refused, unread, errors.New("a stranger")), OutcomeExecuted},
		{errors.Join(bad, refused, unread, lost), OutcomeUnknown},
		{fmt.Errorf("%w and %w", lost, refused), OutcomeUnknown},
		{&wraps{told{OutcomeNotExecuted, true}, lost}, OutcomeNotExecuted},
		{&CallError{Err: refused}, OutcomeUnknown},
		{half{}, OutcomeUnknown},
	} {
		assert.Equal(t, row.outcome, OutcomeOf(row.err), "%#v", row.err)
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

// What a program made up was not observed.
func TestErrorsThatAProgramMadeAreUnknown(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&CallError{Err: io.EOF}, &ConflictError{},
		&DecodeError{StatusCode: 201, Body: []byte(`{}`)}, &DecodeError{Err: ErrPagination},
	} {
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%T", err)
		assert.False(t, Retryable(err), "%T", err)
	}
}

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

// An update that was lost and is then refused may have changed the record: the refusal must not hide it.
func TestOutcomeRemembersEarlierAttempts(t *testing.T) {
	t.Parallel()
	handlers := []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(422) },
	}
	s := responding(func(w http.ResponseWriter, r *http.Request) {
		next := handlers[0]
		handlers = handlers[1:]
		next(w, r)
	})(t)
	c, err := NewClient(s.baseURL, "test-key", WithRetryPolicy(quick))
	require.NoError(t, err)
	_, err = c.Images.Update(t.Context(), "7", ImageUpdateParams{})
	require.ErrorIs(t, err, ErrInvalid)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	assert.Contains(t, err.Error(), "attempt 2 of 3")
}

// A page that is cut off before its first letter has only its media type to be known by.
func TestPageThatIsCutOffIsUnknown(t *testing.T) {
	t.Parallel()
	s := status(200, ``, "Content-Length", "50", "Content-Type", "text/html; charset=UTF-8")(t)
	c, err := NewClient(s.baseURL, "test-key")
	require.NoError(t, err)
	_, err = c.Images.Store(t.Context(), aStore)
	require.ErrorIs(t, err, wire.ErrCutOff)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
}

func TestOutcomesHaveNames(t *testing.T) {
	t.Parallel()
	for outcome, name := range map[Outcome]string{
		OutcomeUnknown: "unknown", OutcomeNotExecuted: "not executed", OutcomeExecuted: "executed",
	} {
		assert.Equal(t, name, outcome.String())
	}
}

// refusedStream has the shape of the HTTP/2 stream error that a RoundTripper may return.
type refusedStream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e refusedStream) Error() string { return fmt.Sprintf("stream error %d", e.Code) }

// As fills a struct with the same fields, as net/http's error does.
func (e refusedStream) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	if to.Kind() != reflect.Struct || !to.FieldByName("StreamID").IsValid() {
		return false
	}
	to.FieldByName("StreamID").SetUint(uint64(e.StreamID))
	to.FieldByName("Code").SetUint(uint64(e.Code))
	return true
}

// What only begins as JSON does, or cannot be read at all, need not come from the service: a store may still be
// running.
func TestResponseThatTheServiceDidNotWriteIsUnknown(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		body    string
		header  []string
		outcome Outcome
	}{
		"a page in br":      {"\x0b\x02\x80<p>\x03", []string{"Content-Type", "text/html; charset=utf-8", "Content-Encoding", "br"}, OutcomeUnknown},
		"JSON in br":        {"\x0b\x02\x80{}\x03", []string{"Content-Type", "application/json", "Content-Encoding", "br"}, OutcomeUnknown},
		"a log line":        {"[warn] upstream is slow", []string{"Content-Type", "text/plain"}, OutcomeUnknown},
		"an empty page":     {"", []string{"Content-Type", "text/html; charset=utf-8"}, OutcomeUnknown},
		"an array cut off":  {`[{"id":7`, nil, OutcomeUnknown},
		"an object, broken": {`{"id":7} trailing`, nil, OutcomeUnknown},
	} {
		s := status(200, row.body, row.header...)(t)
		c, err := NewClient(s.baseURL, "test-key")
		require.NoError(t, err)
		_, err = c.Images.Store(t.Context(), aStore)
		var unread *DecodeError
		require.ErrorAs(t, err, &unread, name)
		assert.Equal(t, row.outcome, OutcomeOf(err), name)
		assert.Equal(t, 1, s.seen(), name)
		c.CloseIdleConnections()
	}
}

// A nil pointer in an interface is a slip of the program, and no reason to end it.
func TestNilPointersAreUnknown(t *testing.T) {
	t.Parallel()
	for _, err := range []error{(*APIError)(nil), (*DecodeError)(nil), (*CallError)(nil), (*ValidationError)(nil), (*ConflictError)(nil)} {
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%T", err)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(errors.Join(err, &ValidationError{})), "%T", err)
	}
}

// A job queue asks this of any error that it gets, and must not give up a job whose record may exist.
func TestRetryableAsksTheFirstErrorOfEachBranch(t *testing.T) {
	t.Parallel()
	busy, refused := &told{OutcomeNotExecuted, true}, &told{OutcomeNotExecuted, false}
	for _, row := range []struct {
		err       error
		retryable bool
	}{
		{nil, false},
		{errors.New("a stranger"), false},
		{context.DeadlineExceeded, false},
		{&ValidationError{}, false},
		{busy, true},
		{refused, false},
		{(*APIError)(nil), false},
		{fmt.Errorf("job 4711: %w", busy), true},
		{&wraps{told{OutcomeUnknown, false}, busy}, false},
		{errors.Join(busy, errors.New("close: broken")), true},
		{errors.Join(busy, refused), false},
		{errors.Join(busy, (*APIError)(nil)), false},
		{errors.Join(errors.New("a stranger"), io.EOF), false},
	} {
		assert.Equal(t, row.retryable, Retryable(row.err), "%#v", row.err)
	}
	_, err := over(t, fakes.RoundTripper(fakes.Lose), WithRetryPolicy(oneAttempt)).Images.Show(t.Context(), "7")
	//lint:ignore SA1019 The method exists for those who ask it.
	transport := func(e net.Error) bool { return e.Temporary() }
	assert.True(t, transport(err.(*CallError)))
}

// What a client may not do now it may do later.
func TestCallsThatTheClientHeldBackAreRetryable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := over(t, fakes.RoundTripper(fakes.Respond(429, ``, "Retry-After", "7200")))
		_, err := long.Images.Show(t.Context(), "7")
		assert.True(t, Retryable(err), "a Retry-After that is too long: %v", err)
		spent := over(t, fakes.RoundTripper(fakes.Respond(500, ``)), WithRetryBudget(1))
		_, err = spent.Images.Show(t.Context(), "7")
		assert.True(t, Retryable(err), "a budget that is used up: %v", err)
		sealed := WithAPIKeySource(func(context.Context) (string, error) { return "", errors.New("sealed") })
		_, err = over(t, fakes.RoundTripper(fakes.Lose), sealed).Images.Show(t.Context(), "7")
		assert.True(t, Retryable(err), "a key source: %v", err)
	})
}

// What is no record must never look like a success that was paid for, and proves nothing.
func TestStoreWithoutARecordInItsResponseIsUnknown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("internal/lenient/testdata/refused/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		image, err := deployment(t, respondingBody(200, body)).Images.Store(t.Context(), aStore)
		var unread *DecodeError
		require.ErrorAs(t, err, &unread, file)
		assert.Nil(t, image)
		assert.Contains(t, err.Error(), "images.store: 200: ", file)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), file)
		assert.Equal(t, string(body), string(unread.Body))
	}
}

// A service that sends blanks while it works, and dies, need not have created or deleted anything.
func TestBlanksProveNothing(t *testing.T) {
	t.Parallel()
	blanks := respondingBytes([]byte("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n\n \n"))
	_, err := deployment(t, blanks).Images.Store(t.Context(), aStore)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", err)
	err = deployment(t, blanks).Images.Delete(t.Context(), "7")
	require.Error(t, err, "nothing says that it was deleted")
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))

	asked := 0
	c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			blanks(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"message":"Not found."}`))
	}, WithRetryPolicy(quick))
	require.NoError(t, c.Images.Delete(t.Context(), "7"), "the first request had deleted it")
	assert.Equal(t, 2, asked)
	for raw, evidence := range map[string]bool{
		"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n\n {":         false,
		"HTTP/1.1 201 Created\r\nContent-Length: 200\r\n\r\n\n":      true,
		"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n<html>":       false,
		"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n":             false,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\n\n\n":         true, // a delete needs no response
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n": false,
	} {
		err := deployment(t, respondingBytes([]byte(raw))).Images.Delete(t.Context(), "7")
		assert.Equal(t, evidence, err == nil, "%q: %v", raw, err)
	}
}

func TestStoreThatTheContextEndsDuringBlanksIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, time.Second)
		defer cancel()
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(bytes.NewReader([]byte("\n \n")), readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}))
			return &http.Response{StatusCode: 200, Body: io.NopCloser(body), Request: r}, nil
		}))
		_, err := c.Images.Store(ctx, aStore)
		require.ErrorIs(t, err, errUserLeft)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}
