package main

import (
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const png = "\x89PNG\r\n\x1a\n and so on"

// picture fetches the picture at the address through the gallery.
func (f *fixture) picture(address string) (status int, content string) {
	f.t.Helper()
	resp, err := http.Get(f.url + f.gallery.pictureSource(aicontent.Image{URL: address}))
	content = f.page(resp, err)
	return resp.StatusCode, content
}

// Records can name any address. The gallery fetches none that only it can reach, whether a record names it or a host
// that it trusts redirects to it, unless the network was allowed.
func TestPicturesFromPrivateAddressesAreRefused(t *testing.T) {
	asked := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if to := r.FormValue("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		io.WriteString(w, png)
	}))
	t.Cleanup(inside.Close)
	f := newFixture(t)
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	require.NoError(t, err)
	refused := func(address, as string) {
		status, content := f.picture(address)
		assert.Equal(t, http.StatusBadGateway, status, address)
		assert.Equal(t, "The picture cannot be fetched.\n", content, address)
		assert.Contains(t, f.logged(), as+" is not a permitted destination")
	}
	f.allowPictures()
	refused(inside.URL, "127.0.0.1")
	refused("http://localhost:"+port, "127.0.0.1")
	refused("http://[::ffff:127.0.0.1]:"+port, "127.0.0.1")
	refused("http://0.0.0.0:"+port, "0.0.0.0")
	assert.Zero(t, asked)

	f.allowPictures(loopback)
	refused(inside.URL+"?to="+url.QueryEscape("http://169.254.169.254/latest/meta-data"), "169.254.169.254")
	for _, address := range []string{inside.URL, inside.URL + "?to=" + url.QueryEscape(inside.URL)} {
		status, content := f.picture(address)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, png, content)
	}
}

func TestPublicAddresses(t *testing.T) {
	reachable := func(address string, private ...netip.Prefix) bool {
		return guardian(private).SafeAddr(netip.MustParseAddr(address).Unmap()) == nil // as a dialer unmaps it
	}
	for _, address := range []string{
		"127.0.0.1", "127.8.9.10", "::1", "0.0.0.0", "0.1.2.3", "::", "10.0.0.1", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1",
		"100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16", "192.0.0.192", "198.18.0.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b:1::a00:1", "2001:0:1::1", "2002:7f00:1::1",
	} {
		assert.False(t, reachable(address), address)
	}
	for _, address := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
		"192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
		"::ffff:1.1.1.1",
	} {
		assert.True(t, reachable(address), address)
	}
	private := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}
	for _, address := range []string{"10.1.2.3", "::ffff:10.1.2.3", "fd00:1::7"} {
		assert.True(t, reachable(address, private...), address)
	}
	for _, address := range []string{"10.2.0.0", "fd00:2::7", "127.0.0.1"} {
		assert.False(t, reachable(address, private...), address)
	}
}

// The program fetches the pictures of the service in memory, and of a deployment on loopback only if told to.
func TestWhichPicturesTheProgramFetches(t *testing.T) {
	service := aicontenttest.NewServer(t, aicontenttest.FullRecords, aicontenttest.APIKey(testKey))
	service.AddImage(aicontenttest.Image{Name: "Fox", Description: "x", Resolution: "256x256"})
	for name, test := range map[string]struct {
		baseURL, key string
		args         []string
		status       int
	}{
		"demo":             {"", "", nil, http.StatusOK},
		"deployment":       {service.URL, testKey, nil, http.StatusBadGateway},
		"as the flag says": {service.URL, testKey, []string{"-private-pictures", "127.0.0.0/8"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AICONTENT_BASE_URL", test.baseURL)
			t.Setenv("AICONTENT_API_KEY", test.key)
			_, address := start(t, test.args...)
			f := &fixture{t: t, url: address}
			source := regexp.MustCompile(`src="(/picture-file[^"]*)"`).FindStringSubmatch(f.get("/pictures"))
			require.NotNil(t, source)
			resp, err := http.Get(address + html.UnescapeString(source[1]))
			f.page(resp, err)
			assert.Equal(t, test.status, resp.StatusCode)
		})
	}
}
