package recipes

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// tracing makes a span for each attempt. otelhttp exports the URL, so the query is hidden from it: searches have the
// record's name there, which may be a visitor's secret.
func tracing() aicontent.Option {
	type query struct{}
	return aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		traced := otelhttp.NewTransport(roundTrip(func(req *http.Request) (*http.Response, error) {
			return next.RoundTrip(withQuery(req, req.Context().Value(query{}).(string)))
		}))
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			ctx := context.WithValue(req.Context(), query{}, req.URL.RawQuery)
			return traced.RoundTrip(withQuery(req.WithContext(ctx), ""))
		})
	})
}

// withQuery returns the request with another query.
func withQuery(req *http.Request, query string) *http.Request {
	req = req.Clone(req.Context())
	req.URL.RawQuery = query
	return req
}

// roundTrip is a function as a RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// signer signs each request's method, URL and time. It cannot sign the body, which is streamed.
type signer struct {
	next   http.RoundTripper
	secret []byte
}

func (s signer) RoundTrip(req *http.Request) (*http.Response, error) {
	date := time.Now().UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, s.secret)
	io.WriteString(mac, req.Method+"\n"+req.URL.RequestURI()+"\n"+date)
	req = req.Clone(req.Context()) // a RoundTripper must not modify its request
	req.Header.Set("Date", date)
	req.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	return s.next.RoundTrip(req)
}

func signing(secret []byte) aicontent.Option {
	return aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper { return signer{next, secret} })
}

// cache keeps the responses to Show for a while; any change to a record clears it. It leaves out the searches of
// package once, and requests that ask for no cache, as those of FindByName and Wait do: they look for recent changes.
type cache struct {
	next http.RoundTripper
	keep time.Duration

	mu      sync.Mutex
	kept    map[string]keptResponse
	changes int
}

type keptResponse struct {
	header http.Header
	body   []byte
	until  time.Time
}

func (c *cache) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		c.forget()
		defer c.forget() // responses read while the record changed
		return c.next.RoundTrip(req)
	}
	last, fresh := path.Base(req.URL.Path), req.Header.Get("Cache-Control") == "no-cache"
	if last == "images" || last == "transcriptions" || fresh || once.IsSearch(req.Context()) {
		return c.next.RoundTrip(req)
	}
	c.mu.Lock()
	kept, changes := c.kept[req.URL.String()], c.changes
	c.mu.Unlock()
	if time.Now().Before(kept.until) {
		return &http.Response{
			StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: kept.header.Clone(), Body: io.NopCloser(bytes.NewReader(kept.body)),
			ContentLength: int64(len(kept.body)),
		}, nil
	}
	resp, err := c.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	const limit = 1 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err == nil && len(body) < limit && json.Valid(body) { // a proxy's page must not stay
		c.store(req.URL.String(), changes, keptResponse{resp.Header.Clone(), body, time.Now().Add(c.keep)})
	}
	// First the bytes read here, then the rest.
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return resp, nil
}

// store keeps a response unless a record has changed since its request.
func (c *cache) store(url string, changes int, r keptResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(c.kept, func(_ string, old keptResponse) bool { return now.After(old.until) })
	if changes == c.changes {
		c.kept[url] = r
	}
}

func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.kept)
	c.changes++
}

func caching(keep time.Duration) aicontent.Option {
	return aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return &cache{next: next, keep: keep, kept: map[string]keptResponse{}}
	})
}
