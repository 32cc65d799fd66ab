package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// net/http reads the proxy variables once in a process: so each case is a process of its own, this test binary started
// with childVariable set.
const childVariable = "AICONTENT_TEST_CHILD"

// childResult is what a child has to tell.
type childResult struct {
	Errors     map[string]string // of each operation; empty where it succeeded
	Outcomes   map[string]string
	ClearProxy map[string]bool
}

func init() {
	switch child := os.Getenv(childVariable); child {
	case "":
		return
	case "default", "client":
		opts := []Option{WithInsecureHTTP(), WithRetryPolicy(RetryPolicy{MaxAttempts: 1})}
		if child == "client" {
			opts = append(opts, WithHTTPClient(&http.Client{}))
		}
		c, err := NewClientFromEnv(opts...)
		if err != nil {
			panic(err)
		}
		result := childResult{map[string]string{}, map[string]string{}, map[string]bool{}}
		for op, call := range allTen(c) {
			err := call(context.Background())
			if err != nil {
				result.Errors[op] = err.Error()
			}
			result.Outcomes[op] = OutcomeOf(err).String()
			result.ClearProxy[op] = errors.Is(err, wire.ErrClearProxy)
		}
		_ = json.NewEncoder(os.Stdout).Encode(result)
	case "panic":
		c, err := NewClientFromEnv(WithProgress(func(Progress) { panic("the callback is at fault") }))
		if err != nil {
			panic(err)
		}
		err = allTen(c)["transcriptions.store"](context.Background())
		fmt.Println("still here:", err)
	}
	os.Exit(0)
}

// child runs this binary as a program with these variables and no others.
func child(t *testing.T, kind string, env ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append([]string{childVariable + "=" + kind, "AICONTENT_API_KEY=" + aKey}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func childCalls(t *testing.T, kind string, env ...string) childResult {
	t.Helper()
	stdout, stderr, err := child(t, kind, env...)
	require.NoError(t, err, stderr)
	var result childResult
	require.NoError(t, json.Unmarshal([]byte(stdout), &result), stdout)
	assert.NotContains(t, stdout+stderr, aKey)
	return result
}

// tunnel is a proxy that knows CONNECT, takes every name for one address, and keeps all that it sees.
type tunnel struct {
	net.Listener
	to     string // where every CONNECT leads; empty refuses it
	mu     sync.Mutex
	seen   bytes.Buffer
	asked  []string // request lines
	auth   []string
	served sync.WaitGroup
}

func startTunnel(t *testing.T, to string) *tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &tunnel{Listener: l, to: to}
	p.served.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p.served.Go(func() { p.serve(nc) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.served.Wait()
	})
	return p
}

// Write keeps what came from the client.
func (p *tunnel) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

func (p *tunnel) serve(nc net.Conn) {
	defer nc.Close()
	r := bufio.NewReader(io.TeeReader(nc, p))
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, req.Method+" "+req.RequestURI)
	p.auth = append(p.auth, req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if req.Method != http.MethodConnect || p.to == "" {
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
	both.Go(func() { _, _ = io.Copy(up, r); up.(*net.TCPConn).CloseWrite() })
	both.Go(func() { _, _ = io.Copy(nc, up); nc.(*net.TCPConn).CloseWrite() })
	both.Wait()
}

// secure is a TLS service for example.com, and the file with the certificate to trust.
func secure(t *testing.T, keys *sync.Map) (srv *httptest.Server, roots string) {
	t.Helper()
	srv = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys.Store(r.Method+" "+r.URL.Path, r.Header.Get("Authorization"))
		answerAll(w, r)
	}))
	t.Cleanup(srv.Close)
	roots = filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	require.NoError(t, os.WriteFile(roots, text, 0o600))
	return srv, roots
}

// A company's proxy carries the calls, and never gets to see the key.
func TestHTTPSProxy(t *testing.T) {
	var keys sync.Map
	srv, roots := secure(t, &keys)
	for _, kind := range []string{"default", "client"} {
		keys.Clear()
		p := startTunnel(t, srv.Listener.Addr().String())
		result := childCalls(t, kind, "AICONTENT_BASE_URL=https://example.com/tenant", "SSL_CERT_FILE="+roots, "SSL_CERT_DIR="+t.TempDir(),
			"HTTPS_PROXY=http://agent:pass@"+p.Addr().String())
		assert.Empty(t, result.Errors)
		count := 0
		keys.Range(func(request, key any) bool {
			count++
			assert.Equal(t, "Bearer "+aKey, key, request)
			return true
		})
		assert.Equal(t, 10, count, "the service was reached")
		p.mu.Lock()
		for i, line := range p.asked {
			assert.Equal(t, "CONNECT example.com:443", line)
			assert.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("agent:pass")), p.auth[i])
		}
		assert.NotEmpty(t, p.asked)
		assert.NotContains(t, p.seen.String(), aKey)
		assert.NotContains(t, p.seen.String(), "Bearer")
		p.mu.Unlock()
	}
}

// A proxy that refuses has let nothing through: a store may be sent again.
func TestHTTPSProxyThatRefuses(t *testing.T) {
	p := startTunnel(t, "")
	result := childCalls(t, "default", "AICONTENT_BASE_URL=https://example.com/tenant", "HTTPS_PROXY=http://agent:pass@"+p.Addr().String())
	assert.Len(t, result.Errors, 12)
	for op, text := range result.Errors {
		assert.Contains(t, text, "the proxy "+p.Addr().String()+" refused to connect to example.com:443: 407 Proxy Authentication Required", op)
		assert.NotContains(t, text, "pass@", op)
		assert.Equal(t, "not sent", result.Outcomes[op], op)
	}
	assert.NotContains(t, p.seen.String(), aKey)
}

// A transport's own proxy setting counts as the environment's does.
func TestProxyOfTheCallersTransport(t *testing.T) {
	baseURL, requests := counted(t, answerAll)
	p := startTunnel(t, "")
	proxied := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: p.Addr().String()}, nil }}
	defer proxied.CloseIdleConnections()
	c, err := NewClient(baseURL, aKey, WithHTTPClient(&http.Client{Transport: proxied}))
	require.NoError(t, err)
	for op, call := range allTen(c) {
		err := call(t.Context())
		assert.ErrorIs(t, err, wire.ErrClearProxy, op)
		assert.ErrorContains(t, err, "NO_PROXY", op)
		assert.Equal(t, OutcomeNotSent, OutcomeOf(err), op)
	}
	assert.Zero(t, requests.Load())
	p.mu.Lock()
	assert.Empty(t, p.asked)
	p.mu.Unlock()

	c, err = NewClient(baseURL, aKey, WithHTTPClient(&http.Client{Transport: proxied}), WithInsecureHTTP())
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7")
	require.Error(t, err, "the proxy of this test wants a password")
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.NotEmpty(t, p.asked, "the caller has allowed it")
}

// A callback that panics ends the program, as a panic on any goroutine does; the trace goes to a log.
func TestPanicInProgressShowsNoKey(t *testing.T) {
	baseURL, _ := counted(t, answerAll)
	stdout, stderr, err := child(t, "panic", "AICONTENT_BASE_URL="+baseURL, "GOTRACEBACK=all")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "the callback is at fault")
	assert.Contains(t, stderr, "goroutine ")
	for _, form := range spellings(aKey) {
		assert.NotContains(t, stderr, form)
	}
}
