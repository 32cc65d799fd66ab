package aicontenttest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// exchange is a response, read as text.
type exchange struct {
	status int
	header http.Header
	body   string
}

// request is a request written by hand. Its header replaces the usual one; "" leaves a field out.
type request struct {
	method, path string
	body         io.Reader
	header       map[string]string
}

func send(t *testing.T, s *Server, r request) exchange {
	t.Helper()
	e, err := trySend(s, r)
	require.NoError(t, err)
	return e
}

func trySend(s *Server, r request) (exchange, error) { return trySendFor(s, 0, r) }

// trySendFor gives up after a time; 0 is never.
func trySendFor(s *Server, limit time.Duration, r request) (exchange, error) {
	req, err := r.sign(s)
	if err != nil {
		return exchange{}, err
	}
	hc := unredirected(s)
	hc.Timeout = limit
	defer hc.CloseIdleConnections()
	resp, err := hc.Do(req)
	if err != nil {
		return exchange{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return exchange{resp.StatusCode, resp.Header, string(body)}, err
}

// unredirected returns a client that does not follow redirects.
func unredirected(s *Server) *http.Client {
	hc := s.HTTPClient()
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return hc
}

// sign adds what every request needs.
func (r request) sign(s *Server) (*http.Request, error) {
	req, err := http.NewRequest(r.method, s.URL+r.path, r.body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.APIKey)
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
		if value == "" {
			req.Header.Del(name)
		}
	}
	return req, nil
}

// set replaces a header; "" leaves it out.
func (r request) set(name, value string) request {
	header := map[string]string{}
	maps.Copy(header, r.header)
	header[name] = value
	r.header = header
	return r
}

func signed(t *testing.T, s *Server, r request) *http.Request {
	t.Helper()
	req, err := r.sign(s)
	require.NoError(t, err)
	return req
}

// traced returns the request with a trace. Once it is sent, reused tells whether it used an earlier connection.
func traced(r *http.Request) (sent *http.Request, reused *bool) {
	reused = new(bool)
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { *reused = info.Reused }}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace)), reused
}

func get(path string) request { return request{method: "GET", path: path} }

// post takes the form as it is sent.
func post(path, form string) request {
	return request{method: "POST", path: path, body: strings.NewReader(form)}
}

func patch(path, form string) request {
	return request{method: "PATCH", path: path, body: strings.NewReader(form)}
}

func remove(path string) request { return request{method: "DELETE", path: path} }

// upload returns the request that creates a transcription from these parts.
func upload(parts ...string) request {
	body := ""
	for _, part := range parts {
		body += "--frontier\r\nContent-Disposition: form-data; " + part + "\r\n"
	}
	return request{
		method: "POST", path: "/api/v1/transcriptions",
		body:   strings.NewReader(body + "--frontier--\r\n"),
		header: map[string]string{"Content-Type": "multipart/form-data; boundary=frontier"},
	}
}

// chunked hides the length of the body.
func (r request) chunked() request {
	r.body = io.MultiReader(r.body)
	return r
}

const (
	namePart = "name=\"name\"\r\n\r\nMeeting"
	filePart = "name=\"file\"; filename=\"talk.wav\"\r\nContent-Type: audio/wav\r\n\r\nRIFF----WAVEdata"
)

// recorder is a test that records its failures.
type recorder struct {
	mu       sync.Mutex
	failed   bool
	errors   []string
	logs     []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Name() string     { return "TestOfSomeUser" }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool     { return r.failed }

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(fatal)
}

// fatal is the panic by which Fatalf ends a test.
const fatal = "fatal"

// end runs the cleanup functions, the last first.
func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

// fill adds images.
func fill(s *Server, n int) {
	for range n {
		s.AddImage(aicontent.Image{Name: "n"})
	}
}

var everyNetwork = map[string][]Option{
	"loopback":         {BasePath("/tenant")},
	"TLS":              {BasePath("/tenant"), TLS()},
	"HTTP/2":           {BasePath("/tenant"), HTTP2()},
	"memory":           {BasePath("/tenant"), InMemoryNetwork()},
	"HTTP/2 in memory": {BasePath("/tenant"), InMemoryNetwork(), HTTP2()},
}

// bubbleNetworks are the networks that work in a testing/synctest bubble.
var bubbleNetworks = [][]Option{everyNetwork["memory"], everyNetwork["HTTP/2 in memory"]}

// overEveryNetwork runs a test with a server on each network.
func overEveryNetwork(t *testing.T, f func(t *testing.T, s *Server), opts ...Option) {
	t.Helper()
	for name, network := range everyNetwork {
		t.Run(name, func(t *testing.T) { f(t, NewServer(t, append(opts, network...)...)) })
	}
}

// inBubble runs a test in virtual time, with a server in memory.
func inBubble(t *testing.T, f func(t *testing.T, s *Server), opts ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, NewServer(t, append(opts, InMemoryNetwork())...)) })
}

// inBubbles is inBubble over HTTP/1 and over HTTP/2.
func inBubbles(t *testing.T, f func(t *testing.T, s *Server), opts ...Option) {
	t.Helper()
	for _, network := range bubbleNetworks {
		inBubble(t, f, append(network[:len(network):len(network)], opts...)...)
	}
}

// started returns a server that fails no test.
func started(t *testing.T, opts ...Option) *Server {
	t.Helper()
	s, err := Start(append([]Option{BasePath("/tenant")}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}
