package wire

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// A company's proxy carries the requests, and never gets to see the key.
func TestHTTPSProxy(t *testing.T) {
	srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer the-key", r.Header.Get("Authorization"))
	})
	u, err := url.Parse(srv)
	require.NoError(t, err)
	p := fakes.StartTunnel(t, u.Host)
	base.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String(), User: url.UserPassword("agent", "pass")})
	transport := closing(t, New(base, false))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		got := send(t.Context(), transport, Limits{}, method, "https://example.com/tenant", nil)
		require.NoError(t, got.err)
		assert.True(t, got.wrote)
	}
	line := "CONNECT example.com:443 Basic " + base64.StdEncoding.EncodeToString([]byte("agent:pass"))
	assert.Equal(t, []string{line, line}, p.Requests())
	assert.NotContains(t, p.Seen(), "the-key")
}

// A proxy that refuses has let nothing through, so that a create request may be sent again.
func TestHTTPSProxyThatRefuses(t *testing.T) {
	p := fakes.StartTunnel(t, "")
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
			assert.EqualError(t, got.err, "Proxy Authentication Required", "the proxy's word")
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
	p := fakes.StartTunnel(t, "")
	proxy := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String()})}
	allowed := closing(t, New(proxy, true))
	for _, rt := range []http.RoundTripper{allowed, NewDownload(proxy)} {
		require.NoError(t, send(t.Context(), rt, Limits{}, http.MethodGet, "http://content.example.com/tenant", nil).err)
	}
	require.NoError(t, send(t.Context(), allowed, Limits{}, http.MethodPost, "http://content.example.com/tenant", nil).err)
	assert.Len(t, p.Requests(), 3)
	failing := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, io.ErrNoProgress }}
	assert.ErrorIs(t, send(t.Context(), New(failing, false), Limits{}, http.MethodGet, "http://127.0.0.1:1/", nil).err, io.ErrNoProgress)
}
