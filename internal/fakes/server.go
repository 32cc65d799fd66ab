package fakes

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// StoredImage is the body of a response to a Store call.
const StoredImage = `{"data":{"id":7,"name":"Lighthouse"},"status":201}`

// RespondToAll is a handler for all operations, and for downloads of paths ending in .png. A GET of a path that ends in
// /7 is a show; any other is a list.
func RespondToAll(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	body := `{"data":{"id":7,"name":"Lighthouse"}}`
	if strings.HasSuffix(r.URL.Path, ".png") {
		w.Header().Set("Content-Type", "image/bmp")
		body = "BM" // as a bitmap begins
	} else if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/7") {
		body = `{"data":[{"id":7,"name":"Lighthouse"}],"links":{"next":null}}`
	}
	_, _ = io.WriteString(w, body)
}

// Counted starts a server and returns its base URL, with the path /tenant, and the count of its requests.
func Counted(t *testing.T, handler http.HandlerFunc) (baseURL string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/tenant", requests
}

// OnTheWire returns the bytes of an HTTP/1.1 response that closes its connection.
func OnTheWire(status int, header, body string) string {
	if header != "" {
		header += "\r\n"
	}
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nConnection: close\r\n", status) +
		fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
}

// RawServer starts a server that sends the result of respond, byte for byte, and closes the connection.
func RawServer(t *testing.T, respond func(*http.Request) string) (baseURL string) {
	t.Helper()
	l := Listen(t, func(nc net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(nc))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(nc, respond(req))
	})
	return "http://" + l.Addr().String() + "/tenant"
}

// Listener is a TCP server on loopback, made by [Listen].
type Listener struct {
	net.Listener
	served sync.WaitGroup
}

// Listen calls do with each connection and closes it afterwards. At the end of the test it waits for all connections.
func Listen(t testing.TB, do func(net.Conn)) *Listener {
	t.Helper()
	bound, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &Listener{Listener: bound}
	l.served.Go(func() {
		for {
			nc, err := bound.Accept()
			if err != nil {
				return
			}
			l.served.Go(func() {
				defer nc.Close()
				do(nc)
			})
		}
	})
	t.Cleanup(func() { l.Close() })
	return l
}

// Close closes the listener and waits for the open connections to end.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.served.Wait()
	return err
}
