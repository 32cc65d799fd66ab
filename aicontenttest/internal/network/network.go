// Package network connects clients with the server: over loopback or in memory, with or without TLS and
// HTTP/2. It ends connections, streams and responses in the ways that a fault asks for.
package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config says which network is opened.
type Config struct {
	Addr     string // to listen on; ignored in memory
	InMemory bool
	TLS      bool
	HTTP2    bool // beside HTTP/1.1; needs TLS
	// UploadRate limits the bytes read from a request body in a second; 0 is no limit.
	UploadRate int64
	// DropAbandoned ends the work on a request whose client leaves.
	DropAbandoned bool
	// Refuse decides whether a new connection is refused.
	Refuse func() bool
}

// A Network accepts connections and serves requests on them.
type Network struct {
	config      Config
	listener    *listener
	pipes       *pipeListener // nil over loopback
	certificate *x509.Certificate
	server      *http.Server
	work        *tracker
	closing     chan struct{}
	close       sync.Once

	mu      sync.Mutex
	closers []func()
}

// inMemoryServers numbers the servers in memory, so that each has its own origin.
var inMemoryServers atomic.Uint32

// Open opens the network. Clients can connect, but are not served before [Network.Serve].
func Open(config Config) (*Network, error) {
	n := &Network{config: config, work: new(tracker), closing: make(chan struct{})}
	n.listener = &listener{
		work: n.work, open: make(map[*Conn]struct{}), refuse: config.Refuse,
		slow: config.UploadRate > 0,
	}
	if config.InMemory {
		number := inMemoryServers.Add(1)
		// A client that dials the real network by mistake finds no listener at this address.
		n.pipes = newPipeListener(fmt.Sprintf("127.77.%d.%d:1", number>>8&0xff, number&0xff))
		n.listener.Listener = n.pipes
	} else {
		l, err := net.Listen("tcp", config.Addr)
		if err != nil {
			return nil, err
		}
		n.listener.Listener = l
	}
	if config.TLS {
		host, _, _ := net.SplitHostPort(n.listener.Addr().String())
		var err error
		if n.listener.tls, n.certificate, err = newCertificate(host, config.HTTP2); err != nil {
			_ = n.listener.Close()
			return nil, err
		}
	}
	return n, nil
}

// Origin is the scheme, host and port by which clients reach the server.
func (n *Network) Origin() string {
	scheme := "http://"
	if n.config.TLS {
		scheme = "https://"
	}
	host := n.listener.Addr().String()
	if name, port, err := net.SplitHostPort(host); err == nil && net.ParseIP(name).IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + host
}

// Certificate is the server's certificate; nil without TLS.
func (n *Network) Certificate() *x509.Certificate { return n.certificate }

type connKey struct{}

// Serve starts to serve requests with the handler. [Network.Close] waits for the handler to return.
func (n *Network) Serve(handler http.HandlerFunc) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(n.config.HTTP2) // TLS is handled by Conn
	n.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !n.work.enter() {
				panic(http.ErrAbortHandler)
			}
			defer n.work.leave()
			handler(w, r)
		}),
		Protocols: &protocols,
		ErrorLog:  log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: func(c net.Conn, state http.ConnState) { c.(*Conn).state(state) },
	}
	n.run(func() { _ = n.server.Serve(n.listener) })
}

// run runs f in a goroutine that [Network.Close] waits for. It returns false, without running f, once the network is
// closing.
func (n *Network) run(f func()) bool {
	if !n.work.enter() {
		return false
	}
	go func() {
		defer n.work.leave()
		f()
	}()
	return true
}

// After calls f after d, or when the network closes, and [Network.Close] waits for it. If the network is closing
// already, After itself calls f.
func (n *Network) After(d time.Duration, f func()) {
	later := func() {
		n.wait(d)
		f()
	}
	if !n.run(later) {
		f()
	}
}

// wait waits. It returns false if the network closes meanwhile.
func (n *Network) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-n.closing:
		return false
	}
}

func (n *Network) isClosing() bool {
	select {
	case <-n.closing:
		return true
	default:
		return false
	}
}

// Close ends all connections, then all waiting, and returns when the goroutines of the network have ended. It may be
// called again.
func (n *Network) Close() {
	n.close.Do(func() {
		// What is still executed is executed without a client that could see its response.
		_ = n.server.Close()
		n.listener.closeAll()
		close(n.closing)
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, f := range n.closers {
			f()
		}
	})
	n.work.wait()
}

// AtClose has f called by [Network.Close], after the connections were closed.
func (n *Network) AtClose(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closers = append(n.closers, f)
}

// CloseIdle closes the connections that wait for a request.
func (n *Network) CloseIdle() { n.listener.closeIdle() }

// HTTPClient returns a client with its own *http.Transport that reaches the server and trusts its
// certificate.
func (n *Network) HTTPClient() *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(true)
	transport.Protocols.SetHTTP2(n.config.HTTP2)
	if n.certificate != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		transport.TLSClientConfig.RootCAs.AddCert(n.certificate)
	}
	if n.pipes != nil {
		transport.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
			return n.dial(ctx, addr)
		}
	}
	n.AtClose(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
