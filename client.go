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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// Version is the SDK's version, which is part of the User-Agent header.
const Version = "0.1.0"

const apiPrefix = "/api/v1"

// Client calls the service at one base URL. Create one with [NewClient] and keep it: it owns the connections. It is
// safe for concurrent use. The methods of a zero Client return an error.
type Client struct {
	Images         *ImagesService
	Transcriptions *TranscriptionsService

	base         *url.URL              // without a trailing slash
	sender       func() *engine.Sender // a closure, as buffers of connections hold the key
	lastKeys     func() redact.Keys    // the latest key of the source; nil for none
	given        *http.Client          // of WithHTTPClient; nil when the client is made
	key          keySource             // a closure, so that fmt and reflection do not find the key
	keyFrom      string                // where the key comes from, for texts
	rotates      bool                  // the key comes from a source
	middleware   []func(http.RoundTripper) http.RoundTripper
	userAgent    string
	logger       *slog.Logger
	limiter      RateLimiter
	log          []attemptHook // called after all others; nil for none
	budget       *engine.Budget
	timeout      time.Duration // of the http.Client; 0 is none
	insecure     bool
	words        bool // booleans as true and false
	updateMethod string
	maxResponse  int64
	defaults     *settings // a pointer: headers may hold secrets, and printing a service stops there
}

// noClient stands in for a client that NewClient did not make: a call of it has a problem.
var noClient = &Client{
	base: &url.URL{}, defaults: newSettings(), lastKeys: func() redact.Keys { return nil },
}

// NewClient returns a client for the service at baseURL, the part before /api/v1, such as https://content.example.com
// or https://example.com/ai. An http:// URL is accepted for loopback hosts only, unless [WithInsecureHTTP] is given.
// The key is sent to that scheme, host and port only. It must have at least 8 characters, because a shorter one cannot
// be told from words, and masked, in responses.
//
// The proxy is [http.DefaultTransport]'s, by default from the environment (HTTPS_PROXY, NO_PROXY). Invalid arguments
// and options are a [*ValidationError] with a problem for each field. No error contains the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	c, problems := configure(opts)
	c.keyFrom = cmp.Or(c.keyFrom, "given to NewClient")
	return c.build("aicontent.NewClient", problems, baseURL, apiKey)
}

// NewClientFromEnv is [NewClient] with the base URL from AICONTENT_BASE_URL and the key from AICONTENT_API_KEY, which
// may be missing if [WithAPIKeySource] is given. The error names the variable.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	const (
		op    = "aicontent.NewClientFromEnv"
		base  = "AICONTENT_BASE_URL"
		key   = "AICONTENT_API_KEY"
		unset = "must be set in the environment"
	)
	c, problems := configure(opts)
	baseURL, apiKey := os.Getenv(base), os.Getenv(key)
	problems = slices.Concat(problems,
		check(baseURL != "", base, nil, unset),
		check(apiKey != "" || c.key != nil, key, nil, unset),
	)
	if err := invalid(op, problems); err != nil {
		return nil, err
	}
	c.keyFrom = cmp.Or(c.keyFrom, "in "+key)
	client, err := c.build(op, nil, baseURL, apiKey)
	if e, ok := errors.AsType[*ValidationError](err); ok {
		variables := map[string]string{"base_url": base, "api_key": key}
		for i, p := range e.Problems {
			e.Problems[i].Field = cmp.Or(variables[p.Field], p.Field)
		}
	}
	return client, err
}

func configure(opts []Option) (*Client, []FieldProblem) {
	const product = "aicontent-go/" + Version + " (%s; " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	c := &Client{
		given:        &http.Client{},
		userAgent:    fmt.Sprintf(product, runtime.Version()),
		updateMethod: "PATCH",
		maxResponse:  32 << 20,
		budget:       engine.NewBudget(engine.DefaultBudget),
		defaults:     newSettings(),
	}
	var problems []FieldProblem
	for _, opt := range opts {
		if opt == nil {
			problems = append(problems, problem("option", nil, "must not be nil")...)
			continue
		}
		problems = append(problems, opt.applyClient(c)...)
	}
	return c, problems
}

// build checks the arguments and puts the transport together.
func (c *Client) build(op Operation, problems []FieldProblem, baseURL, apiKey string) (*Client, error) {
	base, bad := parseBaseURL(baseURL, c.insecure)
	problems = append(problems, bad...)
	if c.given != nil {
		c.timeout = c.given.Timeout
		problems = append(problems, checkTimeout(c.timeout, c.defaults.storeWait)...)
	}
	if c.key == nil {
		bad = checkKey(apiKey)
		if base == nil && strings.Contains(apiKey, "://") {
			bad = problem("api_key", nil, "looks like a URL: the base URL is the first argument, the key the second")
		}
		problems = append(problems, bad...)
		key := engine.NewCredential(apiKey)
		c.key = func(context.Context) (*engine.Credential, error) { return key, nil }
	}
	if err := invalid(op, problems); err != nil {
		return nil, err
	}
	c.base = base
	if c.logger != nil {
		c.log = []attemptHook{logAttempts(c.logger)}
	}
	hc := new(*c.given)
	c.given = nil
	if t, ok := hc.Transport.(*http.Transport); ok && t == nil {
		hc.Transport = nil
	}
	transport := engine.NewTransport(hc.Transport, c.insecure)
	pictures := &http.Client{
		Transport:     engine.NewPictureTransport(hc.Transport),
		CheckRedirect: downloadRedirect(hc.CheckRedirect),
		Timeout:       hc.Timeout,
	}
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	hc.Transport = transport
	for _, wrap := range slices.Backward(c.middleware) {
		hc.Transport = wrap(hc.Transport)
		if isNil(hc.Transport) {
			return nil, invalid(op, problem("middleware", nil, "must return a RoundTripper, not nil"))
		}
	}
	sender := &engine.Sender{
		API: hc, Pictures: pictures, Transport: transport, UserAgent: c.userAgent, Limiter: c.limiter,
		Rotates: c.rotates, Budget: c.budget, MaxResponse: c.maxResponse,
	}
	sender.Key, c.lastKeys = remembering(c.key)
	if !c.rotates {
		_, _ = sender.Key(context.Background()) // so that the only key is masked from the first call on
	}
	c.sender = func() *engine.Sender { return sender }
	c.Images = &ImagesService{c}
	c.Transcriptions = &TranscriptionsService{c}
	return c, nil
}

// CloseIdleConnections closes idle connections. The client remains usable.
func (c *Client) CloseIdleConnections() {
	if c != nil && c.sender != nil {
		s := c.sender()
		s.API.CloseIdleConnections()
		s.Pictures.CloseIdleConnections()
		s.Transport.CloseIdleConnections() // A middleware may not pass it on.
	}
}

// BaseURL returns the base URL without a trailing slash. It is empty for a Client that [NewClient] did not create.
func (c *Client) BaseURL() string {
	if c == nil || c.base == nil {
		return ""
	}
	return c.base.String()
}

// String describes the client by its base URL, without the key.
func (c Client) String() string { return fmt.Sprintf("aicontent.Client(%s)", c.base) }

// GoString returns the same as String, so that %#v prints no internals.
func (c Client) GoString() string { return c.String() }

// versioned matches the API's own path at the end of a base URL, with any path copied behind it.
var versioned = regexp.MustCompile(`/api/v[12](/.*)?$`)

// parseBaseURL accepts the part of a URL before /api/v1, and says how to write it otherwise.
func parseBaseURL(raw string, insecure bool) (*url.URL, []FieldProblem) {
	const field = "base_url"
	if reason, hint := unreadableURL(raw); reason != "" {
		return nil, problem(field, nil, reason, hint) // The value may be the key or hold a password.
	}
	u, _ := url.Parse(raw) // It was parsed before.
	server := u.Scheme + "://" + u.Host
	path := strings.TrimRight(u.Path, "/")
	prefix := versioned.ReplaceAllString(path, "")
	port, err := strconv.Atoi(cmp.Or(u.Port(), "443"))
	// By its name alone, without asking a resolver.
	loopback := strings.EqualFold(u.Hostname(), "localhost") || net.ParseIP(u.Hostname()).IsLoopback()
	var reason, hint string
	switch {
	case u.Hostname() == "":
		reason = "must name a host, " + exampleURL
	case err != nil || port < 1 || port > 65535:
		reason = "must have a port between 1 and 65535, or none"
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		reason = "must have a host in ASCII: write an international name in its xn-- form"
	case u.RawQuery != "" || u.ForceQuery:
		reason, hint = "must not have a query", "use WithQuery for a parameter of every call"
	case strings.Contains(raw, "#"):
		reason = "must not have a fragment"
	case slices.ContainsFunc(strings.Split(u.Path, "/"), isDots):
		reason = "must not have the path segment . or .."
	case u.Scheme == "http" && !insecure && !loopback:
		reason = "must begin with https://: http:// would show the API key to the network"
		hint = "WithInsecureHTTP allows it"
	case prefix != path:
		reason = "must end before " + apiPrefix + ", which the SDK adds: write " + server + prefix
	default:
		u.RawPath = strings.TrimRight(u.EscapedPath(), "/")
		u.Path, _ = url.PathUnescape(u.RawPath) // It was parsed before, so it can be unescaped.
		return u, nil
	}
	return u, problem(field, server+u.EscapedPath(), reason, hint)
}

const exampleURL = "such as https://content.example.com"

// unreadableURL returns the reason why raw is no URL of a server, if it is none. It shows nothing of raw but one
// character that no URL holds.
func unreadableURL(raw string) (reason, hint string) {
	_, rest, _ := strings.Cut(raw, "://")
	authority, _, _ := strings.Cut(rest, "/")
	begin := strings.ToLower(raw)
	reason, hint = unexpected(raw, notInURL)
	u, err := url.Parse(raw)
	switch {
	case strings.TrimSpace(raw) == "":
		return "is required, " + exampleURL, ""
	case strings.Contains(authority, "@"):
		return "must not contain a user name or password; the API key is given apart from it", ""
	case reason != "":
		return reason, hint
	case !strings.HasPrefix(begin, "https://") && !strings.HasPrefix(begin, "http://"):
		return "must be an absolute URL that begins with https:// (or http:// for a loopback host), " + exampleURL, ""
	case errors.As(err, new(url.EscapeError)):
		return "must have two hexadecimal digits after each %", ""
	case err != nil:
		return "must have a valid host, and after it a port number or none, " + exampleURL, ""
	case u.Host == "":
		return "must name a host, " + exampleURL, ""
	}
	return "", ""
}

// notInURL reports whether r must be escaped in a URL, and stands in one by mistake.
func notInURL(r rune) bool {
	return strings.ContainsRune("\"'`<>\\{}", r) || invisible(r) || unicode.In(r, unicode.Pi, unicode.Pf)
}

// keySource returns the key for an attempt.
type keySource = func(context.Context) (*engine.Credential, error)

// checkedKeys checks each key of a source.
func checkedKeys(source func(context.Context) (string, error)) keySource {
	return func(ctx context.Context) (*engine.Credential, error) {
		key, err := source(ctx)
		if err != nil {
			return nil, redact.Keys{redact.Key(key)}.Error(err)
		}
		if bad := checkKey(key); bad != nil {
			return nil, errors.New("the key " + bad[0].Reason)
		}
		return engine.NewCredential(key), nil
	}
}

// remembering returns a source, and a function that returns its latest key. A picture is fetched without a key, but its
// URL or its host's response may hold one.
func remembering(source keySource) (keySource, func() redact.Keys) {
	var last atomic.Pointer[engine.Credential]
	remember := func(ctx context.Context) (*engine.Credential, error) {
		key, err := source(ctx)
		if err == nil {
			last.Store(key)
		}
		return key, err
	}
	return remember, func() redact.Keys { return last.Load().Keys() }
}
