package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Version is the SDK's version, as it stands in the User-Agent header.
const Version = "0.1.0"

// The environment variables that [NewClientFromEnv] reads.
const (
	envBaseURL = "AICONTENT_BASE_URL"
	envAPIKey  = "AICONTENT_API_KEY"
)

// maxRedirects is how many redirects within the origin one call follows.
const maxRedirects = 10

// Client calls one deployment of the service. Make one with [NewClient] and keep it: it holds the
// connections. It is safe for concurrent use. The zero value is not usable.
type Client struct {
	Images         *ImagesService
	Transcriptions *TranscriptionsService

	config
}

// config is what NewClient settles once and for all.
type config struct {
	base         *url.URL                              // without a trailing slash
	root         string                                // what every path begins with
	escapedRoot  string                                // the same, escaped
	http         func() *http.Client                   // behind a closure too: net/http's buffers hold the request that was sent last
	storing      func() *http.Client                   // for stores; the same where the user gave one
	key          func(context.Context) (string, error) // a closure holds the key, where no reflection finds it
	rotates      bool                                  // the key comes from a source
	userAgent    string
	logger       *slog.Logger
	limiter      RateLimiter
	insecure     bool
	words        bool // booleans as true and false
	updateMethod string
	maxResponse  int64
	defaults     *settings // behind a pointer: headers may hold secrets, and what prints a service stops there
}

// NewClient returns a client of the deployment at baseURL, such as https://content.example.com or
// https://example.com/ai: the part before /api/v1. Plain http:// is for loopback hosts, unless
// [WithInsecureHTTP] is given. The key goes to that scheme, host and port alone.
//
// Bad arguments and options give a [ValidationError] that names all of them; no error ever holds the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	c := &Client{config: config{
		userAgent:    fmt.Sprintf("aicontent-go/%s (%s; %s/%s)", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		updateMethod: http.MethodPatch,
		maxResponse:  32 << 20,
		defaults:     &settings{stall: 60 * time.Second, retry: DefaultRetryPolicy()},
	}}
	var p problems
	for _, opt := range opts {
		if opt == nil {
			p.add("option", nil, "must not be nil")
			continue
		}
		opt.applyClient(&c.config, &p)
	}
	c.base = parseBaseURL(baseURL, c.insecure, &p)
	if c.key == nil {
		if c.base == nil && strings.Contains(apiKey, "://") {
			p.add("api_key", nil, "looks like a URL: the base URL comes first, the key second")
		}
		p.apiKey(apiKey)
		c.key = func(context.Context) (string, error) { return apiKey, nil }
	}
	if err := p.err("aicontent.NewClient"); err != nil {
		return nil, err
	}
	if c.http == nil {
		c.http = holding(&http.Client{Transport: newTransport()})
		c.storing = holding(&http.Client{Transport: storeTransport(), CheckRedirect: sameOrigin(c.base, nil)})
	}
	c.http().CheckRedirect = sameOrigin(c.base, c.http().CheckRedirect)
	if c.storing == nil {
		c.storing = c.http
	}
	c.root, c.escapedRoot = c.base.Path+apiPrefix+"/", c.base.EscapedPath()+apiPrefix+"/"
	c.Images = &ImagesService{c}
	c.Transcriptions = &TranscriptionsService{c}
	return c, nil
}

// NewClientFromEnv is [NewClient] with the base URL of AICONTENT_BASE_URL and the key of
// AICONTENT_API_KEY. One that is missing is an error that names it; the key may be missing where
// [WithAPIKeySource] is given.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	var p problems
	given := config{defaults: &settings{}}
	for _, opt := range opts {
		if opt != nil {
			opt.applyClient(&given, &problems{})
		}
	}
	for _, name := range []string{envBaseURL, envAPIKey} {
		if os.Getenv(name) == "" && (name == envBaseURL || given.key == nil) {
			p.add(name, nil, "must be set in the environment")
		}
	}
	if err := p.err("aicontent.NewClientFromEnv"); err != nil {
		return nil, err
	}
	return NewClient(os.Getenv(envBaseURL), os.Getenv(envAPIKey), opts...)
}

// CloseIdleConnections closes the connections that are not in use. The client can be used on.
func (c *Client) CloseIdleConnections() {
	c.http().CloseIdleConnections()
	c.storing().CloseIdleConnections()
}

// holding hides hc from what prints or walks over a client.
func holding(hc *http.Client) func() *http.Client { return func() *http.Client { return hc } }

// String names the deployment, and never the key.
func (c Client) String() string { return fmt.Sprintf("aicontent.Client(%s)", c.base) }

// GoString is String: %#v would print what the client is made of.
func (c Client) GoString() string { return c.String() }

// parseBaseURL refuses what cannot be the part before /api/v1, and says how to write it.
func parseBaseURL(raw string, insecure bool, p *problems) *url.URL {
	const field = "base_url"
	if raw == "" {
		p.add(field, nil, "is required, such as https://content.example.com")
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		// What is no URL may be the key, and what looks like one may hold a password: it is not shown.
		p.add(field, nil, "must be an absolute URL that begins with https:// (or http:// for a loopback host), such as https://content.example.com")
		return nil
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	port, err := strconv.Atoi(cmp.Or(u.Port(), "443"))
	switch {
	case strings.TrimSpace(raw) != raw:
		p.add(field, shown, "must not begin or end with white space")
	case u.User != nil:
		p.add(field, shown, "must not hold a user name or password; the API key is an argument of its own")
	case u.Hostname() == "":
		p.add(field, shown, "must name a host, such as https://content.example.com")
	case err != nil || port < 1 || port > 65535:
		p.add(field, shown, "must have a port between 1 and 65535, or none")
	case u.RawQuery != "" || u.ForceQuery:
		p.add(field, shown, "must not have a query; use WithQuery for a parameter of every call")
	case strings.Contains(raw, "#"):
		p.add(field, shown, "must not have a fragment")
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		p.add(field, shown, "must begin with https://, as http:// would show the API key to the network (WithInsecureHTTP allows it)")
	}
	escaped := strings.TrimRight(u.EscapedPath(), "/")
	u.RawPath = escaped
	// It was parsed before.
	u.Path, _ = url.PathUnescape(escaped)
	if before, found := strings.CutSuffix(u.Path, apiPrefix); found {
		p.add(field, shown, "must end before "+apiPrefix+", which the SDK adds: write "+(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: before}).String())
	}
	return u
}

// loopback reports whether the host is this machine by its name alone, without asking a resolver.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// apiKey refuses a key that cannot be sent. Its value goes into no problem.
func (p *problems) apiKey(key string) {
	if strings.TrimSpace(key) == "" {
		p.add("api_key", nil, "is required")
		return
	}
	p.headerValue("api_key", key, true)
	if strings.ContainsFunc(key, func(r rune) bool { return r == ' ' || r == '\t' || r > '~' }) {
		p.add("api_key", nil, "must be printable ASCII without spaces")
	}
}

// sameOrigin follows a redirect for GET alone, within the base URL's origin and a bounded number of times, and
// then only where the user's own client would. A redirect that is not followed is the answer.
func sameOrigin(base *url.URL, own func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if via[0].Method != http.MethodGet || origin(req.URL) != origin(base) || len(via) > maxRedirects {
			return http.ErrUseLastResponse
		}
		if own == nil {
			return nil
		}
		if err := own(req, via); err != nil {
			return err
		}
		if origin(req.URL) != origin(base) {
			return http.ErrUseLastResponse
		}
		return nil
	}
}

// clearProxy asks the transport's proxy setting, the caller's own too: an http:// request goes through a proxy in
// clear, with the key in it. A RoundTripper of another kind cannot be asked.
func (c *Client) clearProxy() error {
	if c.base.Scheme != "http" {
		return nil
	}
	rt := c.http().Transport
	if rt == nil {
		rt = http.DefaultTransport
	}
	t, ok := rt.(*http.Transport)
	if !ok || t.Proxy == nil {
		return nil
	}
	proxy, err := t.Proxy(&http.Request{URL: c.base, Host: c.base.Host, Header: http.Header{}})
	if err == nil && proxy != nil {
		err = errClearProxy
	}
	return err
}

// origin is scheme, host and port, the port also where it goes without saying.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port))
}

// token asks the rate limiter and then the key source: what an attempt needs before it may be made.
func (c *Client) token(ctx context.Context) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", ended(ctx)
	}
	if err := c.clearProxy(); err != nil {
		return "", err
	}
	if c.limiter != nil {
		if err := c.limiter.Wait(ctx); err != nil {
			return "", fmt.Errorf("rate limiter: %w", err)
		}
	}
	key, err := c.key(ctx)
	if err != nil {
		return "", fmt.Errorf("API key source: %w", presentable(err, key))
	}
	var p problems
	p.apiKey(key)
	if len(p.list) > 0 {
		return "", errors.New("API key source: the key " + p.list[0].Reason)
	}
	return key, nil
}
