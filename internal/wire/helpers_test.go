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

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// server is a bare listener, with or without TLS, for what net/http's server does not do.
type server struct {
	listener net.Listener
	url      string
	roots    *x509.CertPool
	dials    atomic.Int64
}

// serve passes each connection to do, which need not close it. The server speaks HTTP/1.1, or the protocols.
func serve(t testing.TB, secure bool, do func(net.Conn), protocols ...string) *server {
	s := &server{}
	scheme, config := "http", &tls.Config{}
	if secure {
		certificate, roots := fakes.LoopbackCertificate()
		config = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: protocols}
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

// base is what a caller would pass to New for the server: it trusts the certificate and speaks HTTP/2.
func (s *server) base() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots}, ForceAttemptHTTP2: true, DisableCompression: true}
}

func (s *server) transport(t testing.TB) *Transport {
	return closing(t, New(s.base(), false))
}

func closing(t testing.TB, transport *Transport) *Transport {
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if transport.exact {
			transport.single.(*http.Transport).CloseIdleConnections()
		}
	})
	return transport
}

// serveHTTP is net/http's server with HTTP/2, and a client transport that trusts it.
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

// sent is what came of one request.
type sent struct {
	status int
	body   string
	err    error
	wrote  bool
	late   error
	proto  string
	bytes  int64
}

// send makes one attempt, watched, and reads the response.
func send(ctx context.Context, rt http.RoundTripper, limits Limits, method, url string, body io.Reader) sent {
	ctx, clock, evidence := watch(ctx, limits)
	defer clock.Stop()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return sent{err: err}
	}
	req.Header.Set("Authorization", "Bearer the-key")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return sent{err: err, wrote: wrote(evidence), late: clock.Expired(), bytes: evidence.Sent()}
	}
	clock.Responded(resp.StatusCode)
	defer resp.Body.Close()
	data, err := ReadBody(resp, 1<<20)
	return sent{resp.StatusCode, data, err, wrote(evidence), clock.Expired(), resp.Proto, evidence.Sent()}
}

// watch starts an attempt whose request is sent by any transport.
func watch(ctx context.Context, limits Limits) (context.Context, *Clock, *Evidence) {
	return new(Transport).Watch(ctx, limits)
}

// wrote reports whether a byte may have been written. An attempt that the transport did not see may have written one.
func wrote(e *Evidence) bool {
	seen, wrote, _ := e.Observed()
	return !seen || wrote
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

// response is one of this status, with "hello" in it.
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

// zeros is a body of n bytes that can be read once.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
