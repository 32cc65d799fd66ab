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

// StoredImage is the body of a response to a create request.
const StoredImage = `{"data":{"id":7,"name":"Lighthouse"},"status":201}`

// RespondToAll is a handler whose responses every operation accepts. What does not end in /7 and not in .png is a list.
func RespondToAll(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	body := `{"data":{"id":7,"name":"Lighthouse"}}`
	if strings.HasSuffix(r.URL.Path, ".png") {
		w.Header().Set("Content-Type", "image/bmp")
		body = "BM" // the beginning of a bitmap
	} else if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/7") {
		body = `{"data":[{"id":7,"name":"Lighthouse"}],"links":{"next":null}}`
	}
	_, _ = io.WriteString(w, body)
}

// Counted starts a server that counts its requests. The base URL has the path /tenant.
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

// OnTheWire writes a response as it goes over the wire. The connection is closed after it.
func OnTheWire(status int, header, body string) string {
	if header != "" {
		header += "\r\n"
	}
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nConnection: close\r\n", status) +
		fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
}

// RawServer starts a server that responds with what respond returns, byte for byte, and closes the connection.
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

// Listener is a server on loopback that knows no protocol.
type Listener struct {
	net.Listener
	served sync.WaitGroup
}

// Listen passes each connection to do and closes it afterwards. When the test ends it waits for all of them.
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

// Close accepts no more connections and waits for those that there are.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.served.Wait()
	return err
}
