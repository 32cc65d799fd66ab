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

// by returns the Proxy function for a proxy.
func by(p *fakes.Tunnel, user *url.Userinfo) func(*http.Request) (*url.URL, error) {
	return http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String(), User: user})
}

// A company's proxy carries the requests, and never gets to see the key.
func TestHTTPSProxy(t *testing.T) {
	srv, base := serveHTTP(t, true, func(_ http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer the-key", r.Header.Get("Authorization"))
	})
	u, err := url.Parse(srv)
	require.NoError(t, err)
	p := fakes.StartTunnel(t, u.Host)
	base.Proxy = by(p, url.UserPassword("agent", "pass"))
	transport := opened(t, base)
	for _, got := range []sent{
		get(t, transport, "https://example.com/tenant"), post(t, transport, "https://example.com/tenant", nil),
	} {
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
	hooked := 0
	refusal := errors.New("the caller's hook")
	hook := func(err error) func(context.Context, *url.URL, *http.Request, *http.Response) error {
		return func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			hooked = resp.StatusCode
			return err
		}
	}
	for name, tt := range map[string]struct {
		hook func(context.Context, *url.URL, *http.Request, *http.Response) error
		text string // the proxy's word, or the hook's
		told int
	}{
		"no hook":             {nil, "Proxy Authentication Required", 0},
		"a hook":              {hook(nil), "Proxy Authentication Required", http.StatusProxyAuthRequired},
		"a hook that refuses": {hook(refusal), refusal.Error(), http.StatusProxyAuthRequired},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			hooked = 0
			base := &http.Transport{Proxy: by(p, nil), OnProxyConnectResponse: tt.hook}
			got := send(t.Context(), opened(t, base), Limits{}, method, "https://example.com/tenant", nil)
			assert.EqualError(t, got.err, tt.text, name)
			assert.False(t, got.wrote, name)
			assert.Equal(t, tt.told, hooked, name)
		}
	}
}

// Without TLS a proxy would see the key, so nothing is sent, unless that is allowed. Downloads carry no key.
func TestProxiesThatWouldSeeTheKey(t *testing.T) {
	const clear = "http://content.example.com/tenant"
	for _, scheme := range []string{"http", "https", "socks5"} {
		transport := New(&http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: "127.0.0.1:1"})}, false)
		for _, got := range []sent{get(t, transport, clear), post(t, transport, clear, nil)} {
			assert.ErrorIs(t, got.err, ErrClearProxy, scheme)
			assert.False(t, got.wrote)
		}
	}
	p := fakes.StartTunnel(t, "")
	proxy := &http.Transport{Proxy: by(p, nil)}
	allowed := closing(t, New(proxy, true))
	require.NoError(t, get(t, allowed, clear).err)
	require.NoError(t, post(t, allowed, clear, nil).err)
	require.NoError(t, get(t, NewDownload(proxy), clear).err)
	assert.Len(t, p.Requests(), 3)
	failing := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, io.ErrNoProgress }}
	assert.ErrorIs(t, get(t, New(failing, false), "http://127.0.0.1:1/").err, io.ErrNoProgress)
}
