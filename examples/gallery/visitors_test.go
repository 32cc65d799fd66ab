package main

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// request is one of the visitor with the address.
func request(method, path, address string, forwarded ...string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = address
	r.Header["X-Forwarded-For"] = forwarded
	return r
}

// Whoever has many requests under way gets no more until they end, and keeps nobody else from the gallery.
func TestRequestsAtOnce(t *testing.T) {
	v := newVisitors()
	var leaves []func()
	for range v.atOnce {
		leave, ok := v.enter(request("GET", "/pictures", "192.0.2.1:1"))
		require.True(t, ok)
		leaves = append(leaves, leave)
	}
	_, ok := v.enter(request("GET", "/pictures", "192.0.2.1:2"))
	assert.False(t, ok)
	_, ok = v.enter(request("GET", "/pictures", "192.0.2.2:1"))
	assert.True(t, ok)
	leaves[0]()
	_, ok = v.enter(request("GET", "/pictures", "192.0.2.1:3"))
	assert.True(t, ok)
}

// Forms with long texts count by their size, as they are held in memory. Uploads are not.
func TestLongFormsCountMore(t *testing.T) {
	for _, length := range []int64{maxForm, 1 << 40, -1} {
		v := newVisitors()
		long := request("POST", "/recordings/1", "192.0.2.1:1")
		long.ContentLength = length
		_, ok := v.enter(long)
		assert.True(t, ok)
		_, ok = v.enter(long)
		assert.False(t, ok)
		_, ok = v.enter(request("GET", "/recordings", "192.0.2.1:1"))
		assert.True(t, ok)
	}
	v := newVisitors()
	for range 10 {
		upload := request("POST", "/new-recording", "192.0.2.1:1")
		upload.ContentLength = 1 << 30
		_, ok := v.enter(upload)
		assert.True(t, ok)
	}
}

// In the long run a visitor has so many requests a second, and fewer that create. Nobody is remembered for long.
func TestRequestsInTheLongRun(t *testing.T) {
	for path, perMinute := range map[string]int{
		"/pictures": 60 * perSecond, "/new-picture": 60 * perSecond / formCost,
		"/pictures?page=2": 60 * perSecond / pageCost,
	} {
		synctest.Test(t, func(t *testing.T) {
			v := newVisitors()
			ask := func() bool {
				leave, ok := v.enter(request("POST", path, "192.0.2.1:1"))
				if ok {
					leave()
				}
				return ok
			}
			for ask() {
			}
			taken := 0
			for range 6000 {
				time.Sleep(10 * time.Millisecond)
				if ask() {
					taken++
				}
			}
			assert.InDelta(t, perMinute, taken, 1, path)
			time.Sleep(2 * time.Minute)
			v.enter(request("GET", "/pictures", "192.0.2.2:1"))
			assert.Len(t, v.known, 1)
		})
	}
}

// Visitors behind a proxy are told apart by what it says, and nobody else is believed.
func TestWhoTheVisitorIs(t *testing.T) {
	v := newVisitors()
	v.proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")}
	for _, test := range []struct {
		want, peer string
		forwarded  []string
	}{
		{"192.0.2.1", "192.0.2.1:1234", nil},
		{"192.0.2.1", "192.0.2.1:1234", []string{"198.51.100.7"}},
		{"198.51.100.7", "127.0.0.1:1234", []string{"198.51.100.7"}},
		{"198.51.100.7", "[::ffff:127.0.0.1]:1234", []string{"198.51.100.7:99"}},
		{"198.51.100.7", "10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.7"}},
		{"198.51.100.7", "10.0.0.1:1234", []string{"203.0.113.9", "198.51.100.7,10.2.3.4"}},
		{"10.0.0.1", "10.0.0.1:1234", nil},
		{"10.0.0.1", "10.0.0.1:1234", []string{"unknown"}},
		{"2001:db8:1:2::", "[2001:db8:1:2:3:4:5:6]:1234", nil},
		{"2001:db8:1:2::", "10.0.0.1:1234", []string{"2001:db8:1:2:ffff::1"}},
	} {
		assert.Equal(t, test.want, v.address(request("GET", "/", test.peer, test.forwarded...)).String())
	}
}

// Whoever is refused is told when to come back, and nothing reaches the service.
func TestTooManyRequests(t *testing.T) {
	f := newFixture(t)
	f.service.AddImage(aicontenttest.Image{Name: "Fox", Resolution: "256x256"})
	says(t, f.get("/pictures"), "Fox")
	f.gallery.visitors.atOnce = 0
	before := len(f.service.Requests())
	resp, err := http.Get(f.url + "/pictures")
	assert.Contains(t, f.page(resp, err), "Try again in a few seconds.")
	assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	assert.Equal(t, "10", resp.Header.Get("Retry-After"))
	assert.Len(t, f.service.Requests(), before)
}
