package aicontenttest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// network is the way between clients and the server.
type network struct {
	serverTLS *tls.Config // nil for plain connections
	clientTLS *tls.Config
	pipes     *pipeListener // nil over the loopback interface

	mu      sync.Mutex
	closers []func() // end what clients keep open
}

// inMemoryServers numbers the servers in memory, so that each has an origin of its own.
var inMemoryServers atomic.Uint32

// openNetwork opens what the options ask for.
func (s *Server) openNetwork() (net.Listener, error) {
	var l net.Listener
	if s.inMemory {
		n := inMemoryServers.Add(1)
		// Nobody listens on these, should a client come over the real network by mistake.
		addr := fmt.Sprintf("127.77.%d.%d:1", n>>8&0xff, n&0xff)
		s.network.pipes = newPipeListener(addr)
		l = s.network.pipes
	} else {
		var err error
		if l, err = net.Listen("tcp", s.addr); err != nil {
			return nil, err
		}
	}
	if s.tls {
		host, _, _ := net.SplitHostPort(l.Addr().String())
		if err := s.network.secure(host, s.http2); err != nil {
			_ = l.Close()
			return nil, err
		}
	}
	return l, nil
}

// HTTPClient returns a client with connections of its own that reaches the server whatever its
// network is, and trusts its certificate. It ends with the server.
func (s *Server) HTTPClient() *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: s.network.clientTLS.Clone()}
	if s.network.pipes != nil {
		transport.DialContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
			return s.dialPipe(ctx, addr)
		}
	}
	if s.http2 {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
	}
	s.network.atClose(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (n *network) atClose(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closers = append(n.closers, f)
}

// closeClients ends the connections that clients keep.
func (n *network) closeClients() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.closers {
		f()
	}
	n.closers = nil
}
