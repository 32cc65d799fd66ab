package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tunnel is a proxy that knows CONNECT, takes every name for one address, and keeps all that it sees.
type tunnel struct {
	net.Listener
	to     string // where every CONNECT leads; empty refuses it
	served sync.WaitGroup

	mu    sync.Mutex
	seen  bytes.Buffer
	lines []string // request lines and credentials
}

func startTunnel(t *testing.T, to string) *tunnel {
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

func (p *tunnel) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines
}

func (p *tunnel) serve(nc net.Conn) {
	defer nc.Close()
	r := bufio.NewReader(io.TeeReader(nc, p))
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.lines = append(p.lines, req.Method+" "+req.RequestURI+" "+req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if req.Method != http.MethodConnect {
		_, _ = io.WriteString(nc, response(200, "Connection: close\r\n"))
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
	both.Go(func() { _, _ = io.Copy(up, r); _ = up.(*net.TCPConn).CloseWrite() })
	both.Go(func() { _, _ = io.Copy(nc, up); _ = nc.(*net.TCPConn).CloseWrite() })
	both.Wait()
}

// A company's proxy carries the requests, and never gets to see the key.
func TestHTTPSProxy(t *testing.T) {
	srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer the-key", r.Header.Get("Authorization"))
	})
	u, err := url.Parse(srv)
	require.NoError(t, err)
	p := startTunnel(t, u.Host)
	base.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String(), User: url.UserPassword("agent", "pass")})
	transport := closing(t, New(base, false))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		got := send(t.Context(), transport, Limits{}, method, "https://example.com/tenant", nil)
		require.NoError(t, got.err)
		assert.True(t, got.wrote)
	}
	line := "CONNECT example.com:443 Basic " + base64.StdEncoding.EncodeToString([]byte("agent:pass"))
	assert.Equal(t, []string{line, line}, p.requests())
	assert.NotContains(t, p.seen.String(), "the-key")
}

// A proxy that refuses has let nothing through, so that a create request may be sent again.
func TestHTTPSProxyThatRefuses(t *testing.T) {
	p := startTunnel(t, "")
	var hooked int
	mine := errors.New("the caller's hook")
	for name, users := range map[string]func(context.Context, *url.URL, *http.Request, *http.Response) error{
		"no hook": nil,
		"a hook": func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			hooked = resp.StatusCode
			return nil
		},
		"a hook that refuses": func(context.Context, *url.URL, *http.Request, *http.Response) error { return mine },
	} {
		base := &http.Transport{
			Proxy:                  http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String(), User: url.UserPassword("agent", "pass")}),
			OnProxyConnectResponse: users,
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			hooked = 0
			got := send(t.Context(), closing(t, New(base, false)), Limits{}, method, "https://example.com/tenant", nil)
			assert.False(t, got.wrote, name)
			if name == "a hook that refuses" {
				assert.ErrorIs(t, got.err, mine)
				continue
			}
			assert.EqualError(t, got.err, fmt.Sprintf("proxyconnect tcp: the proxy %s refused to connect to example.com:443: 407 Proxy Authentication Required", p.Addr()))
			assert.True(t, NeverConnected(got.err))
			assert.Equal(t, users != nil, hooked == http.StatusProxyAuthRequired, name)
		}
	}
}

// Without TLS a proxy would see the key, so nothing is sent, unless that is allowed. Downloads carry no key.
func TestProxiesThatWouldSeeTheKey(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5"} {
		proxy := http.ProxyURL(&url.URL{Scheme: scheme, Host: "127.0.0.1:1"})
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			got := send(t.Context(), New(&http.Transport{Proxy: proxy}, false), Limits{}, method, "http://content.example.com/tenant", nil)
			assert.ErrorIs(t, got.err, ErrClearProxy, scheme)
			assert.False(t, got.wrote)
		}
	}
	p := startTunnel(t, "")
	proxy := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String()})}
	allowed := closing(t, New(proxy, true))
	for _, rt := range []http.RoundTripper{allowed, New(proxy, false).Download()} {
		require.NoError(t, send(t.Context(), rt, Limits{}, http.MethodGet, "http://content.example.com/tenant", nil).err)
	}
	require.NoError(t, send(t.Context(), allowed, Limits{}, http.MethodPost, "http://content.example.com/tenant", nil).err)
	assert.Len(t, p.requests(), 3)
	failing := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, io.ErrNoProgress }}
	assert.ErrorIs(t, send(t.Context(), New(failing, false), Limits{}, http.MethodGet, "http://127.0.0.1:1/", nil).err, io.ErrNoProgress)
}
