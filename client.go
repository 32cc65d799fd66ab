package aicontent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/redact"
)

// Version is the SDK's version, which is part of the User-Agent header.
const Version = "0.1.0"

const apiPrefix = "/api/v1"

// Client calls the service at one base URL. Create one with [NewClient] and keep it: it owns the connections. It is
// safe for concurrent use.
type Client struct {
	Images         *ImagesService
	Transcriptions *TranscriptionsService

	base         *url.URL // without a trailing slash
	updateMethod string
	words        bool // booleans as true and false
	insecure     bool
	timeout      time.Duration // of the http.Client; 0 is none
	middleware   []func(http.RoundTripper) http.RoundTripper
	log          []attemptHook // of WithLogger, called after all others; nil for none
	keyFrom      string        // where the key comes from, for texts

	// These lead to the key. They are closures, because fmt prints the fields of structs, even behind pointers.
	source   func(context.Context) (string, error) // of WithAPIKeySource; nil for one key
	sender   func() *engine.Sender
	lastKeys func() redact.Keys // the latest key of the source; nil for none

	defaults *settings // a pointer: headers may hold secrets, and printing a service stops there
}

// NewClient returns a client for the service at baseURL, the part before /api/v1, such as https://content.example.com
// or https://example.com/ai. An http:// URL is accepted for loopback hosts only, unless [WithInsecureHTTP] is given.
// The key is sent to that scheme, host and port only. It must have at least 8 characters, because a shorter one cannot
// be told from words, and masked, in responses.
//
// The proxy is [http.DefaultTransport]'s, by default from the environment (HTTPS_PROXY, NO_PROXY). Invalid arguments
// and options are a [*ValidationError] with a problem for each field. No error contains the key.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	return newClient("aicontent.NewClient", argument{"base_url", baseURL},
		argument{"api_key", apiKey}, "given to NewClient", opts)
}

// NewClientFromEnv is [NewClient] with the base URL from AICONTENT_BASE_URL and the key from AICONTENT_API_KEY, which
// may be missing if [WithAPIKeySource] is given. The error names the variable.
func NewClientFromEnv(opts ...Option) (*Client, error) {
	const base, key = "AICONTENT_BASE_URL", "AICONTENT_API_KEY"
	return newClient("aicontent.NewClientFromEnv", argument{base, os.Getenv(base)},
		argument{key, os.Getenv(key)}, "in "+key, opts)
}

// argument is an argument with its name in errors.
type argument struct{ field, value string }

// newClient makes a client of the arguments, and checks them together. KeyFrom says in texts where the key comes from.
func newClient(op Operation, baseURL, apiKey argument, keyFrom string, opts []Option) (*Client, error) {
	sender := &engine.Sender{
		API:         &http.Client{},
		Budget:      engine.NewBudget(engine.DefaultBudget),
		MaxResponse: 32 << 20,
		UserAgent: fmt.Sprintf("aicontent-go/%s (%s; %s/%s)",
			Version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
	}
	c := &Client{
		updateMethod: http.MethodPatch,
		keyFrom:      keyFrom,
		sender:       func() *engine.Sender { return sender },
		defaults:     newSettings(),
	}
	var problems []FieldProblem
	for _, opt := range opts {
		problems = append(problems, opt.applyClient(c)...)
	}
	base, bad := parseBaseURL(baseURL, c.insecure)
	if base == nil && strings.Contains(apiKey.value, "://") {
		bad[0].Hint = "are the base URL and the key in the wrong order?"
	}
	problems = append(problems, bad...)
	if c.source == nil {
		problems = append(problems, checkKey(apiKey)...)
	}
	c.base, c.timeout = base, sender.API.Timeout
	problems = append(problems, checkTimeout(c.timeout, c.defaults.storeWait)...)
	problems = append(problems, check(c.defaults.response == nil, "option", "WithResponse",
		"must be given to a call, not to NewClient")...)
	if err := newValidationError(op, problems); err != nil {
		return nil, err
	}
	c.connect(sender)
	if sender.API.Transport == nil { // for which net/http would use its own, past every check of this package
		return nil, newValidationError(op, problem("middleware", nil, "must return a RoundTripper, not nil"))
	}
	sender.Key, sender.Keys = c.keys(apiKey.value)
	sender.Rotates = c.source != nil
	c.lastKeys = sender.Keys
	c.Images = &ImagesService{c}
	c.Transcriptions = &TranscriptionsService{c}
	return c, nil
}

// connect gives a sender its transports. They replace the one of its http.Client, which may be the caller's.
func (c *Client) connect(sender *engine.Sender) {
	api := new(*sender.API)
	base := cmp.Or(api.Transport, http.DefaultTransport)
	sender.Transport = engine.NewTransport(base, c.insecure)
	sender.Pictures = &http.Client{
		Transport:     engine.NewPictureTransport(base),
		CheckRedirect: downloadRedirect(api.CheckRedirect),
		Timeout:       api.Timeout,
	}
	api.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	api.Transport = sender.Transport
	for _, wrap := range slices.Backward(c.middleware) {
		api.Transport = wrap(api.Transport)
	}
	sender.API = api
}

// keys returns two functions: next returns the key for an attempt, and latest the last one that next returned. A
// picture is fetched without a key, but its URL or its host's response may hold one.
func (c *Client) keys(apiKey string) (
	next func(context.Context) (*engine.Credential, error), latest func() redact.Keys,
) {
	if c.source == nil {
		key := engine.NewCredential(apiKey)
		return func(context.Context) (*engine.Credential, error) { return key, nil }, key.Keys
	}
	var last atomic.Pointer[engine.Credential]
	next = func(ctx context.Context) (*engine.Credential, error) {
		key, err := c.source(ctx)
		credential := engine.NewCredential(key)
		if err != nil {
			return nil, credential.Keys().Error(err)
		}
		if bad := checkKey(argument{"key", key}); bad != nil {
			return nil, errors.New("the key " + bad[0].Reason)
		}
		last.Store(credential)
		return credential, nil
	}
	return next, func() redact.Keys { return last.Load().Keys() }
}

// CloseIdleConnections closes idle connections. The client remains usable.
func (c *Client) CloseIdleConnections() {
	s := c.sender()
	s.API.CloseIdleConnections()
	s.Pictures.CloseIdleConnections()
	s.Transport.CloseIdleConnections() // A middleware may not pass it on.
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

var (
	// baseURLs matches the characters of a base URL. Its host is in ASCII, its path may have letters of any script.
	baseURLs = regexp.MustCompile(`^(?i:https?)://([\w.-]+|\[[\w.:%]+\])(:\d*)?(/[\pL\pM\pN._~!$&()*+,;=:@%-]*)*$`)
	// wrongPaths matches the API's own path, and segments that lead out of the base URL.
	wrongPaths = regexp.MustCompile(`/api/v[12](/|$)|/\.\.?(/|$)`)
)

// parseBaseURL reads the part of a URL before /api/v1. The problem does not show it: it may be the key, or hold a
// password.
func parseBaseURL(given argument, insecure bool) (*url.URL, []FieldProblem) {
	const reason = "must be like https://content.example.com, with a path before /api/v1 or none"
	u, err := url.Parse(strings.TrimRight(given.value, "/"))
	if err != nil || !baseURLs.MatchString(given.value) || wrongPaths.MatchString(u.Path) {
		return nil, problem(given.field, nil, reason)
	}
	// By its name alone, without asking a resolver.
	loopback := strings.EqualFold(u.Hostname(), "localhost") || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme == "http" && !insecure && !loopback {
		const hint = "http:// would show the key to the network: WithInsecureHTTP allows it"
		return u, problem(given.field, nil, reason, hint)
	}
	return u, nil
}
