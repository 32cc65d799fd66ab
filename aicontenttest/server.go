package aicontenttest

import (
	"crypto/x509"
	"fmt"
	"net/http"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// TB is the part of [testing.TB] that the kit uses.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Server is the service in memory. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL for clients, with the base path and without a trailing slash.
	URL string
	// APIKey is the accepted API key.
	APIKey string

	config    config
	t         TB // nil under Start
	service   *service.Service
	responses response.Writer
	network   *network.Network
	book      *book
	faults    *faults
}

// NewServer starts a server for a test and closes it at the end of the test. A violation of the
// API fails the test, and so does a queued fault that has struck no request at the end: see [Server.Violations] and
// [UnusedFaults]. An invalid option ends the test.
func NewServer(t TB, opts ...Option) *Server {
	t.Helper()
	s, err := newServer(t, opts)
	if err != nil {
		t.Fatalf("aicontenttest: %v", err)
	}
	t.Cleanup(func() {
		s.Close()
		s.reportUnused()
	})
	return s
}

// Start starts a server for a program, which must close it. It passes violations to [OnViolation]. An invalid option or
// an unusable address is an error.
func Start(opts ...Option) (*Server, error) {
	s, err := newServer(nil, opts)
	if err != nil {
		return nil, fmt.Errorf("aicontenttest: %w", err)
	}
	return s, nil
}

func newServer(t TB, opts []Option) (*Server, error) {
	c := newConfig(opts)
	if c.err != nil {
		return nil, c.err
	}
	s := &Server{
		APIKey: c.keys[0], config: c, t: t, service: service.New(c.service), book: new(book), faults: new(faults),
	}
	var err error
	s.network, err = network.Open(network.Config{
		Addr: c.addr, InMemory: c.inMemory, TLS: c.tls, HTTP2: c.http2, UploadRate: c.uploadRate,
		DropAbandoned: c.dropAbandoned, Refuse: s.refuseConnection,
	})
	if err != nil {
		return nil, err
	}
	s.responses = response.Writer{Style: c.style, Origin: s.network.Origin(), BasePath: c.basePath}
	s.URL = s.responses.Origin + c.basePath
	s.network.Serve(s.serve)
	return s, nil
}

// Client returns a client of the server. opts override the kit's options. The client uses the SDK's transport, with a
// dialer and a certificate pool if the network needs them. An invalid option fails the test, or panics after [Start].
func (s *Server) Client(opts ...aicontent.Option) *aicontent.Client {
	var defaults []aicontent.Option
	if s.config.inMemory || s.config.tls {
		defaults = append(defaults, aicontent.WithHTTPClient(s.HTTPClient()))
	}
	if s.config.service.BooleanWords {
		defaults = append(defaults, aicontent.WithBooleanWords())
	}
	c, err := aicontent.NewClient(s.URL, s.APIKey, append(defaults, opts...)...)
	if err != nil {
		s.fatalf("Client: %v", err)
	}
	s.network.AtClose(c.CloseIdleConnections)
	return c
}

// HTTPClient returns an HTTP client that reaches the server and trusts its certificate. Its Transport is a new
// *http.Transport. Closing the server closes its connections.
func (s *Server) HTTPClient() *http.Client { return s.network.HTTPClient() }

// Certificate returns the server's self-signed certificate. It is nil without [TLS] or [HTTP2].
func (s *Server) Certificate() *x509.Certificate { return s.network.Certificate() }

// Close closes all connections and waits for the server's goroutines. It ends stalls, latencies and the delays of
// LateAct, and the service executes their requests at once. Close may be called again.
func (s *Server) Close() { s.network.Close() }

// CloseIdleConnections closes idle connections, as servers do after a while.
func (s *Server) CloseIdleConnections() { s.network.CloseIdle() }
