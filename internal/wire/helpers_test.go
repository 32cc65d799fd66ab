package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// server is a bare listener, with or without TLS, for behavior that net/http's server does not have.
type server struct {
	listener net.Listener
	url      string
	roots    *x509.CertPool
	dials    atomic.Int64
}

// serve passes each connection to do, which need not close it.
func serve(t testing.TB, secure bool, do func(net.Conn)) *server {
	s := &server{}
	scheme, config := "http", &tls.Config{}
	if secure {
		certificate, roots := fakes.LoopbackCertificate()
		config = &tls.Config{Certificates: []tls.Certificate{certificate}}
		scheme, s.roots = "https", roots
	}
	s.listener = fakes.Listen(t, func(nc net.Conn) {
		s.dials.Add(1)
		if secure {
			nc = tls.Server(nc, config)
		}
		do(nc)
	})
	s.url = scheme + "://" + s.listener.Addr().String() + "/tenant"
	return s
}

// base is a caller's transport for the server: it trusts the certificate and speaks HTTP/2.
func (s *server) base() *http.Transport {
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: s.roots}, ForceAttemptHTTP2: true, DisableCompression: true,
	}
}

func (s *server) transport(t testing.TB) *Transport { return opened(t, s.base()) }

// opened returns New(base, false), whose idle connections the end of the test closes.
func opened(t testing.TB, base http.RoundTripper) *Transport { return closing(t, New(base, false)) }

func closing(t testing.TB, transport *Transport) *Transport {
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if transport.exact {
			transport.single.(*http.Transport).CloseIdleConnections()
		}
	})
	return transport
}

// serveHTTP starts net/http's server with HTTP/2. It returns a transport that trusts the server.
func serveHTTP(t testing.TB, secure bool, handler http.HandlerFunc) (url string, base *http.Transport) {
	srv := httptest.NewUnstartedServer(handler)
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = nil
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv.URL + "/tenant", srv.Client().Transport.(*http.Transport)
}

// piped returns a Transport whose connections end in do, in memory, so that the time of a bubble moves.
func piped(t *testing.T, base *http.Transport, do func(nc net.Conn)) *Transport {
	base.DialContext = fakes.PipeDialer(t, do)
	return opened(t, base)
}

// speakingHTTP2 returns a transport for https://example.com/, and a server that passes each request to do.
func speakingHTTP2(do func(c *fakes.Frames, stream uint32)) (base *http.Transport, serve func(net.Conn)) {
	pair, roots := fakes.LoopbackCertificate()
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	base = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	return base, func(nc net.Conn) { fakes.ServeFrames(tls.Server(nc, config), do) }
}

// inBubble runs a test in a bubble, as a subtest.
func inBubble(t *testing.T, name string, do func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, do) })
}

// forGETAndPOST runs a test in a bubble for each of the methods.
func forGETAndPOST(t *testing.T, name string, do func(t *testing.T, method string)) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		inBubble(t, name+"/"+method, func(t *testing.T) { do(t, method) })
	}
}

// sent is the result of one request.
type sent struct {
	status   int
	body     string
	err      error
	seen     bool  // the Transport was called, and has returned
	wrote    bool  // a byte may have been written
	observed error // by the Evidence
	late     error
	proto    string
	bytes    int64
}

// post sends a POST without limits.
func post(t *testing.T, rt http.RoundTripper, url string, body io.Reader) sent {
	return send(t.Context(), rt, Limits{}, http.MethodPost, url, body)
}

// get sends a GET without limits.
func get(t *testing.T, rt http.RoundTripper, url string) sent {
	return send(t.Context(), rt, Limits{}, http.MethodGet, url, nil)
}

// send makes one attempt, watched by the Transport if rt is one, and reads the response.
func send(ctx context.Context, rt http.RoundTripper, limits Limits, method, url string, body io.Reader) (s sent) {
	transport, ok := rt.(*Transport)
	if !ok {
		transport = new(Transport)
	}
	ctx, clock, evidence := transport.Watch(ctx, limits)
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return sent{err: err}
	}
	if sized, ok := body.(sizedBody); ok {
		req.ContentLength = sized.n
	}
	req.Header.Set("Authorization", "Bearer the-key")
	resp, err := rt.RoundTrip(req)
	s.err = err
	if err == nil {
		clock.Responded(resp.StatusCode)
		defer resp.Body.Close()
		s.status, s.proto = resp.StatusCode, resp.Proto
		s.body, s.err = ReadBody(resp, 1<<20)
	}
	s.seen, _, s.observed = evidence.Observed()
	s.wrote, s.late, s.bytes = wrote(evidence), clock.Expired(), evidence.Sent()
	return s
}

// watch starts an attempt whose request is sent by any transport.
func watch(ctx context.Context, limits Limits) (context.Context, *Clock, *Evidence) {
	return new(Transport).Watch(ctx, limits)
}

// watching is watch for a unit test of the Evidence. The end of the test stops the clock.
func watching(t *testing.T) *Evidence {
	_, clock, evidence := watch(t.Context(), Limits{})
	t.Cleanup(clock.Stop)
	return evidence
}

// wrote reports whether a byte may have been written. An attempt that the transport did not see may have written one.
func wrote(e *Evidence) bool {
	seen, wrote, _ := e.Observed()
	return !seen || wrote
}

// countingPipe returns a connection that counts, and its other end.
func countingPipe() (c *conn, far net.Conn) {
	near, far := net.Pipe()
	return &conn{Conn: near, over: make(chan struct{})}, far
}

// header reads a request's header, and none of its body that is not in the buffer already.
func header(nc net.Conn) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(nc, 4096)
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\r\n" {
			return r, err
		}
	}
}

// request reads a whole request.
func request(r *bufio.Reader) (*http.Request, error) {
	req, err := http.ReadRequest(r)
	if err == nil {
		_, err = io.Copy(io.Discard, req.Body)
	}
	return req, err
}

// response returns a response with this status and the body "hello".
func response(status int, header string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: 5\r\n\r\nhello", status, header)
}

// reset closes a connection so that its peer gets an error.
func reset(nc net.Conn) {
	if c, ok := nc.(*tls.Conn); ok {
		nc = c.NetConn()
	}
	_ = nc.(*net.TCPConn).SetLinger(0)
	nc.Close()
}

// zeros is a body of n bytes that can be read once. Its length is not announced.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

// sizedBody is a body whose length send announces.
type sizedBody struct {
	io.Reader
	n int64
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// defaultTransport sets [http.DefaultTransport] until the end of the test.
func defaultTransport(t *testing.T, rt http.RoundTripper) {
	std := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = std })
	http.DefaultTransport = rt
}

// untimed sends a request that belongs to no attempt.
func untimed(t *testing.T, rt http.RoundTripper, method, url string) *http.Response {
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	return resp
}
