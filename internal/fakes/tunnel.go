package fakes

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Tunnel is a proxy that connects every CONNECT request to the same address and records all bytes from clients. It
// answers any other request itself.
type Tunnel struct {
	*Listener
	to string

	mu    sync.Mutex
	seen  bytes.Buffer
	lines []string
}

// StartTunnel starts a proxy to an address. If the address is empty, it refuses every CONNECT with 407.
func StartTunnel(t testing.TB, to string) *Tunnel {
	t.Helper()
	p := &Tunnel{to: to}
	p.Listener = Listen(t, p.serve)
	return p
}

// Write records bytes from a client.
func (p *Tunnel) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

// Seen returns all bytes from clients.
func (p *Tunnel) Seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// Requests returns the method, target and proxy credentials of each request.
func (p *Tunnel) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

func (p *Tunnel) serve(nc net.Conn) {
	r := bufio.NewReader(io.TeeReader(nc, p))
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.lines = append(p.lines, req.Method+" "+req.RequestURI+" "+req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if req.Method != http.MethodConnect {
		_, _ = io.WriteString(nc, OnTheWire(http.StatusOK, "", "hello"))
		return
	}
	if p.to == "" {
		_, _ = io.WriteString(nc, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { copyAndEnd(up, r) })
	both.Go(func() { copyAndEnd(nc, up) })
	both.Wait()
}

// copyAndEnd copies until the source ends, then closes the destination for writing.
func copyAndEnd(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.(*net.TCPConn).CloseWrite()
}
