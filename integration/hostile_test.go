package integration

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// hostile is a service that reads a request and then writes what it likes, for as long as it is let.
func hostile(t *testing.T, write func(w io.Writer) error) (baseURL string, written *atomic.Int64) {
	t.Helper()
	written = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		nc, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer nc.Close()
		_ = write(counting{nc, written})
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/tenant", written
}

type counting struct {
	io.Writer
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// forever writes a text over and over until the client has had enough.
func forever(start, text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, start)
		for block := strings.Repeat(text, 1+4096/len(text)); err == nil; {
			_, err = io.WriteString(w, block)
		}
		return err
	}
}

// sends writes a text.
func sends(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// The beginnings of responses.
const (
	ok        = "HTTP/1.1 200 OK\r\n"
	ofLength  = ok + "Content-Length: "
	chunked   = ok + "Transfer-Encoding: chunked\r\n\r\n"
	failed    = "HTTP/1.1 500 No\r\n"
	notFound  = "HTTP/1.1 404 No\r\n"
	switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
)

// errorLimit is how many bytes are kept of the body of an error.
const errorLimit = 1 << 20

// A service, or a proxy before it, must not be able to fill a program's memory. Every size is bounded by a constant or
// by WithMaxResponseSize.
func TestEndlessResponsesDoNotFillTheMemory(t *testing.T) {
	const limit = 1 << 20
	for name, tt := range map[string]struct {
		write func(io.Writer) error
		wants string
		most  int64 // what the client may take before it hangs up; the system's own buffers come on top
	}{
		"header lines":         {forever(ok, "X-Endless: 1\r\n"), "images.show: ", fakes.HeaderLimit},
		"continues":            {forever("", "HTTP/1.1 100 Continue\r\n\r\n"), "images.show: ", fakes.HeaderLimit},
		"body until it closes": {forever(ok+"\r\n{\"a\":\"", "xxxxxxxx"), "more than 1048576 bytes", limit},
		"body of a claimed length": {
			forever(ofLength+"9223372036854775807\r\n\r\n[", "[1],    "), "more than 1048576 bytes", limit,
		},
		"chunks":          {forever(chunked, "8\r\n[1],    \r\n"), "more than 1048576 bytes", 2 * limit},
		"tiny chunks":     {forever(chunked, "1;"+strings.Repeat("x", 1000)+"\r\na\r\n"), "cut off", limit},
		"a chunk's size":  {forever(chunked, "0"), "cut off", limit},
		"trailers":        {forever(chunked+"0\r\n", "X-Endless: 1\r\n"), "cut off", limit},
		"an error's body": {forever(failed+"\r\n", "no      "), "images.show: 500: no", errorLimit},
		"a body of a 101": {forever(switching, "xxxxxxxx"), "101", 0},
		"an error's page": {
			forever("HTTP/1.1 503 No\r\n\r\n<html><title>", "down    "),
			"images.show: 503: service unavailable", errorLimit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			baseURL, sent := hostile(t, tt.write)
			c := newClient(t, baseURL, fakes.Key, aicontent.WithMaxResponseSize(limit), oneAttempt)
			var err error
			took := fakes.Allocated(func() { _, err = c.Images.Show(t.Context(), "7") })
			assert.ErrorContains(t, err, tt.wants)
			assert.Less(t, len(err.Error()), 1200, "an error's text is no place for an endless response")
			assert.Less(t, took, uint64(24<<20))
			// Loopback sockets take some megabytes that are not read yet.
			assert.Less(t, sent.Load(), tt.most+(16<<20))
		})
	}
}

// bombs are bodies of nearly the size that is read, and two that are larger.
var bombs = []struct {
	name                string
	status              int
	open, unit, closing string
	size                int
	wants               string
}{
	{"a nest of lists", 200, "", "[", "", bombLimit, "not JSON"},
	{"numbers in a list", 200, `{"data":[`, "0,", "0]}", bombLimit, "more than 100000 records"},
	{"objects in a list", 200, `{"data":[`, "{},", "{}]}", bombLimit, "more than 100000 records"},
	{"records in a list", 200, `[`, `{"id":1},`, `{"id":2}]`, bombLimit, "more than 100000 records"},
	{"a nest of objects", 200, "", `{"data":`, "", bombLimit, "not JSON"},
	{"members", 200, `{"data":{"x":[],`, `"a":0,`, `"a":0}}`, bombLimit, "no list"},
	{"members of an error", 422, `{"errors":{`, `"a":"b",`, `"a":"b"}}`, bombLimit, "422: "},
	{"a long text", 200, `{"name":"`, `\\`, `"}`, bombLimit, "no list"},
	{"tags", 502, "<html>", "<b>", "", bombLimit, "502: "},
	{"spaces", 200, "", " ", "", 40 << 20, "more than 4194304 bytes"},
	{"an error's spaces", 500, "", " ", "", 40 << 20, "500: internal server error"},
}

// bombLimit is what the client allows a response to hold.
const bombLimit = 4 << 20

// Some kilobytes on the wire must not become gigabytes in memory, however they are packed.
func TestCompressedBombsDoNotFillTheMemory(t *testing.T) {
	for _, tt := range bombs {
		t.Run(tt.name, func(t *testing.T) {
			body := pack(tt.open, tt.unit, tt.closing, tt.size)
			require.Less(t, len(body), 100<<10)
			baseURL, _ := hostile(t, sends(fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Encoding: gzip\r\n"+
				"Content-Length: %d\r\nConnection: close\r\n\r\n%s", tt.status, len(body), body)))
			c := newClient(t, baseURL, fakes.Key, oneAttempt, aicontent.WithMaxResponseSize(bombLimit))
			var err error
			took := fakes.Allocated(func() { _, err = c.Images.List(t.Context(), aicontent.ImageListParams{}) })
			assert.ErrorContains(t, err, tt.wants)
			assert.Less(t, len(err.Error()), 1200)
			assert.Less(t, took, uint64(10*bombLimit+128<<20), "ten times the limit, and a page full of records")
		})
	}
}

// pack returns a text of nearly that size, compressed.
func pack(open, unit, closing string, size int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, open)
	block := strings.Repeat(unit, 1+(1<<16)/len(unit))
	for n := len(open); n+len(block) < size-1<<10; n += len(block) {
		_, _ = io.WriteString(z, block)
	}
	_, _ = io.WriteString(z, closing)
	_ = z.Close()
	return b.Bytes()
}

// A service that dribbles must not hold a call for longer than its time for a response.
func TestServiceThatDribblesHoldsNoCallBeyondItsTimeout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start, drop string
		wants       string
	}{
		"nothing at all":    {"", "", "no complete response within 30s"},
		"body":              {ofLength + "1000\r\n\r\n", "1", "no complete response within 30s"},
		"an error's body":   {failed + "Content-Length: 1000\r\n\r\nno", "o", "500: no"},
		"a 101 without end": {switching, "x", "101"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				piped := fakes.Piped(t, func(nc net.Conn) {
					if _, err := http.ReadRequest(bufio.NewReader(nc)); err != nil {
						return
					}
					_, err := io.WriteString(nc, tt.start)
					for err == nil {
						// A byte less than once a minute.
						<-time.After(61 * time.Second)
						_, err = io.WriteString(nc, tt.drop)
					}
				})
				c := newClient(t, "http://127.0.0.1/tenant", fakes.Key, oneAttempt, over(piped))
				start := time.Now()
				_, err := c.Images.Show(t.Context(), "7")
				assert.ErrorContains(t, err, tt.wants)
				assert.LessOrEqual(t, time.Since(start), 30*time.Second)
			})
		})
	}
}

// An impostor in the service's place gets no byte of a request, and no second attempt.
func TestUntrustedServerGetsNoRequestAndNoSecondAttempt(t *testing.T) {
	t.Parallel()
	good, trusted := fakes.Certificate(t, time.Now().Add(100*time.Hour))
	expired, expiredRoots := fakes.Certificate(t, time.Now().Add(-time.Hour))
	other, otherRoots := fakes.Certificate(t, time.Now().Add(100*time.Hour), "other.example")
	for name, tt := range map[string]struct {
		certificate tls.Certificate
		roots       *x509.CertPool
		wants       string
		version     uint16
	}{
		"unknown authority": {good, x509.NewCertPool(), "unknown authority", 0},
		"expired":           {expired, expiredRoots, "expired", 0},
		"another name":      {other, otherRoots, "127.0.0.1", 0},
		"too old a version": {good, trusted, "protocol version", tls.VersionTLS11},
	} {
		t.Run(name, func(t *testing.T) {
			var requests, connections atomic.Int64
			count := func(http.ResponseWriter, *http.Request) { requests.Add(1) }
			srv := httptest.NewUnstartedServer(http.HandlerFunc(count))
			srv.TLS = &tls.Config{
				Certificates: []tls.Certificate{tt.certificate},
				MinVersion:   tls.VersionTLS10,
				MaxVersion:   tt.version,
			}
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			srv.StartTLS()
			defer srv.Close()
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.TLSClientConfig = &tls.Config{RootCAs: tt.roots}
			defer transport.CloseIdleConnections()
			c := newClient(t, srv.URL+"/tenant", fakes.Key, over(transport), quick)
			for op, call := range allTen(c) {
				before := connections.Load()
				err := call(t.Context())
				var lost *aicontent.CallError
				require.ErrorAs(t, err, &lost, op)
				assert.ErrorContains(t, err, tt.wants, op)
				assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), op)
				if tt.version == 0 {
					assert.Equal(t, 1, lost.Attempts, "a certificate does not get better by asking again")
					assert.EqualValues(t, 1, connections.Load()-before, op)
				}
				fakes.AssertNoKey(t, err, fakes.Key)
			}
			assert.Zero(t, requests.Load())
		})
	}
}
