package wire

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// by returns the Proxy function for a proxy.
func by(p *fakes.Tunnel) func(*http.Request) (*url.URL, error) {
	return http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String()})
}

// Without TLS a proxy would see the key, so nothing is sent, unless that is allowed. Downloads carry no key.
func TestProxyThatWouldSeeTheKeyGetsNothingUnlessAllowed(t *testing.T) {
	const clear = "http://content.example.com/tenant"
	for _, scheme := range []string{"http", "https", "socks5"} {
		transport := New(&http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: "127.0.0.1:1"})}, false)
		for _, got := range []sent{get(t, transport, clear), post(t, transport, clear, nil)} {
			assert.ErrorIs(t, got.err, ErrClearProxy, scheme)
			assert.False(t, got.wrote)
		}
	}
	p := fakes.StartTunnel(t, "")
	proxy := &http.Transport{Proxy: by(p)}
	allowed := closing(t, New(proxy, true))
	require.NoError(t, get(t, allowed, clear).err)
	require.NoError(t, post(t, allowed, clear, nil).err)
	require.NoError(t, get(t, NewDownload(proxy), clear).err)
	assert.Len(t, p.Requests(), 3)
	failing := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, io.ErrNoProgress }}
	assert.ErrorIs(t, get(t, New(failing, false), "http://127.0.0.1:1/").err, io.ErrNoProgress)
}
