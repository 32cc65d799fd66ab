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

func squeezed(text string, times int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := []byte(strings.Repeat(text, 1+(1<<16)/len(text)))
	for n := 0; n < times; n += len(block) {
		_, _ = z.Write(block)
	}
	_ = z.Close()
	return b.Bytes()
}

func packed(status int, body []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "HTTP/1.1 %d X\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
		return err
	}
}

// errorLimit is how many bytes are kept of the body of an error.
const errorLimit = 1 << 20

// A service, or a proxy before it, must not be able to fill a program's memory. Every size is bounded by a constant or
// by WithMaxResponseSize.
func TestEndlessResponses(t *testing.T) {
	const limit = 1 << 20
	for name, tt := range map[string]struct {
		write func(io.Writer) error
		wants string
		most  int64 // what the client may take before it hangs up; the system's own buffers come on top
	}{
		"header lines":             {forever("HTTP/1.1 200 OK\r\n", "X-Endless: 1\r\n"), "images.show: ", fakes.HeaderLimit},
		"continues":                {forever("", "HTTP/1.1 100 Continue\r\n\r\n"), "images.show: ", fakes.HeaderLimit},
		"body until it closes":     {forever("HTTP/1.1 200 OK\r\n\r\n{\"a\":\"", "xxxxxxxx"), "larger than 1048576 bytes", limit},
		"body of a claimed length": {forever("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n[", "[1],    "), "larger than 1048576 bytes", limit},
		"chunks":                   {forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\n[1],    \r\n"), "larger than 1048576 bytes", 2 * limit},
		"tiny chunks":              {forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 1000)+"\r\na\r\n"), "cut off", limit},
		"a chunk's size":           {forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"), "cut off", limit},
		"trailers":                 {forever("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Endless: 1\r\n"), "cut off", limit},
		"an error's body":          {forever("HTTP/1.1 500 No\r\n\r\n", "no      "), "images.show: 500: no", errorLimit},
		"an error's page":          {forever("HTTP/1.1 503 No\r\n\r\n<html><title>", "down    "), "images.show: 503: service unavailable", errorLimit},
		"a body of a 101":          {forever("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "xxxxxxxx"), "101", 0},
	} {
		t.Run(name, func(t *testing.T) {
			baseURL, written := hostile(t, tt.write)
			c, err := aicontent.NewClient(baseURL, fakes.Key, aicontent.WithMaxResponseSize(limit), aicontent.WithRetryPolicy(oneAttempt))
			require.NoError(t, err)
			took := fakes.Allocated(func() { _, err = c.Images.Show(t.Context(), "7") })
			assert.ErrorContains(t, err, tt.wants)
			assert.Less(t, len(err.Error()), 1200, "an error's text is no place for an endless response")
			assert.Less(t, took, uint64(24<<20))
			// Loopback sockets take some megabytes that are not read yet.
			assert.Less(t, written.Load(), tt.most+(16<<20))
		})
	}
}

// Some kilobytes on the wire must not become gigabytes in memory, however they are packed.
func TestBombs(t *testing.T) {
	const size = 40 << 20
	for name, tt := range map[string]struct {
		status int
		body   []byte
		wants  string
	}{
		"spaces":              {200, squeezed(" ", size), "larger than 4194304 bytes"},
		"an error's spaces":   {500, squeezed(" ", size), "500: internal server error"},
		"numbers in a list":   {200, slicedBomb(`{"data":[`, "0,", "0]}"), "more than 100000 records"},
		"objects in a list":   {200, slicedBomb(`{"data":[`, "{},", "{}]}"), "more than 100000 records"},
		"records in a list":   {200, slicedBomb(`[`, `{"id":1},`, `{"id":2}]`), "more than 100000 records"},
		"a nest of lists":     {200, slicedBomb("", "[", ""), "not JSON"},
		"a nest of objects":   {200, slicedBomb("", `{"data":`, ""), "not JSON"},
		"members":             {200, slicedBomb(`{"data":{"x":[],`, `"a":0,`, `"a":0}}`), "no list"},
		"members of an error": {422, slicedBomb(`{"errors":{`, `"a":"b",`, `"a":"b"}}`), "422: "},
		"a long text":         {200, slicedBomb(`{"name":"`, `\\`, `"}`), "no list"},
		"tags":                {502, slicedBomb("<html>", "<b>", ""), "502: "},
	} {
		t.Run(name, func(t *testing.T) {
			require.Less(t, len(tt.body), 100<<10)
			baseURL, _ := hostile(t, packed(tt.status, tt.body))
			c, err := aicontent.NewClient(baseURL, fakes.Key, aicontent.WithRetryPolicy(oneAttempt), aicontent.WithMaxResponseSize(bombLimit))
			require.NoError(t, err)
			took := fakes.Allocated(func() { _, err = c.Images.List(t.Context(), aicontent.ImageListParams{}) })
			assert.ErrorContains(t, err, tt.wants)
			assert.Less(t, len(err.Error()), 1200)
			assert.Less(t, took, uint64(10*bombLimit+128<<20), "ten times the limit and a page full of records, garbage included")
		})
	}
}

// bombLimit is what the client allows a response to hold.
const bombLimit = 4 << 20

// slicedBomb is JSON of nearly the size that is read, packed.
func slicedBomb(open, unit, closing string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, open)
	block := strings.Repeat(unit, 1+(1<<16)/len(unit))
	for n := len(open); n+len(block) < bombLimit-1<<10; n += len(block) {
		_, _ = io.WriteString(z, block)
	}
	_, _ = io.WriteString(z, closing)
	_ = z.Close()
	return b.Bytes()
}

// piped is a client whose connections end in serve, within the bubble of a test.
func piped(t *testing.T, serve func(nc net.Conn)) *aicontent.Client {
	t.Helper()
	c, err := aicontent.NewClient("http://127.0.0.1/tenant", fakes.Key, aicontent.WithRetryPolicy(oneAttempt),
		aicontent.WithHTTPClient(&http.Client{Transport: fakes.Piped(t, serve)}))
	require.NoError(t, err)
	return c
}

// A service that dribbles must not hold a call for longer than its time for a response.
func TestSlowResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		start, drop string
		wants       string
	}{
		"nothing at all":    {"", "", "no complete response within 30s"},
		"body":              {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "1", "no complete response within 30s"},
		"an error's body":   {"HTTP/1.1 500 No\r\nContent-Length: 1000\r\n\r\nno", "o", "500: no"},
		"a 101 without end": {"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "x", "101"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := piped(t, func(nc net.Conn) {
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
				start := time.Now()
				_, err := c.Images.Show(t.Context(), "7")
				assert.ErrorContains(t, err, tt.wants)
				assert.LessOrEqual(t, time.Since(start), 30*time.Second)
			})
		})
	}
}

func TestWrongContentLength(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ response, wants string }{
		"too long":       {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":7}", "cut off"},
		"too short":      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{\"id\":7}", "ends too early"},
		"zero":           {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n{\"id\":7}", "the response is empty"},
		"negative":       {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{\"id\":7}", "images.show: "},
		"no number":      {"HTTP/1.1 200 OK\r\nContent-Length: seven\r\n\r\n{\"id\":7}", "images.show: "},
		"two of them":    {"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 9\r\n\r\n{\"id\":7}", "images.show: "},
		"beyond numbers": {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{\"id\":7}", "images.show: "},
		"too long a 404": {"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\n{\"message\":\"gone\"}", "404: gone"},
		"gzip by name":   {"HTTP/1.1 404 No\r\nContent-Encoding: gzip\r\nContent-Length: 18\r\n\r\n{\"message\":\"gone\"}", "404: gone"},
	} {
		baseURL, _ := hostile(t, func(w io.Writer) error { _, err := io.WriteString(w, tt.response); return err })
		c, err := aicontent.NewClient(baseURL, fakes.Key, aicontent.WithRetryPolicy(oneAttempt))
		require.NoError(t, err)
		_, err = c.Images.Show(t.Context(), "7")
		assert.ErrorContains(t, err, tt.wants, name)
	}
}

// An impostor in the service's place gets no byte of a request, and no second attempt.
func TestUntrustedServers(t *testing.T) {
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
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{tt.certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tt.version}
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
			c, err := aicontent.NewClient(srv.URL+"/tenant", fakes.Key, aicontent.WithHTTPClient(&http.Client{Transport: transport}), aicontent.WithRetryPolicy(quick))
			require.NoError(t, err)
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

// HTTP to a server that speaks HTTPS, and the reverse, reach no service.
func TestWrongScheme(t *testing.T) {
	t.Parallel()
	plain, _ := fakes.Counted(t, fakes.RespondToAll)
	c, err := aicontent.NewClient(strings.Replace(plain, "http:", "https:", 1), fakes.Key, aicontent.WithRetryPolicy(oneAttempt))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err))

	var requests atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	c, err = aicontent.NewClient(strings.Replace(srv.URL, "https:", "http:", 1), fakes.Key, aicontent.WithRetryPolicy(oneAttempt))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	assert.ErrorIs(t, err, aicontent.ErrBadRequest)
	assert.Zero(t, requests.Load())
}
