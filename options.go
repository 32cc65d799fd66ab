package aicontent

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/aicontent/aicontent-go/internal/engine"
)

// Option configures a [Client]. A [CallOption] given to [NewClient] is the default for all calls, except
// [WithResponse], which is an error there.
type Option interface{ applyClient(*Client) []FieldProblem }

// CallOption configures one call, and overrides the same option given to [NewClient]. Only hooks, and values of names
// that end in [], add up.
type CallOption interface {
	Option
	applyCall(*settings) []FieldProblem
}

// RateLimiter delays attempts; a [golang.org/x/time/rate.Limiter] is one. Wait is called before each attempt, from many
// goroutines at once. An error ends the call before the attempt sends anything.
type RateLimiter interface{ Wait(context.Context) error }

// clientOption is an option of clients alone.
type clientOption struct {
	problems []FieldProblem // with its argument; it then sets nothing
	set      func(*Client)
}

func (o clientOption) applyClient(c *Client) []FieldProblem {
	if o.problems == nil {
		o.set(c)
	}
	return o.problems
}

// callOption is an option of calls, and for a client the default of its calls.
type callOption struct {
	problems []FieldProblem // with its argument; it then sets nothing
	set      func(*settings)
}

func (o callOption) applyClient(c *Client) []FieldProblem { return o.applyCall(c.defaults) }

func (o callOption) applyCall(s *settings) []FieldProblem {
	if o.problems == nil {
		o.set(s)
	}
	return o.problems
}

// RetryPolicy sets how often a call is retried and the pauses in between. Zero fields have their defaults:
// RetryPolicy{} is [DefaultRetryPolicy]. The table of [OutcomeOf] lists the failures that are retried.
type RetryPolicy struct {
	MaxAttempts   int           // attempts in all, except the one after a 401; 1 is no retry; negative is an error
	MinBackoff    time.Duration // upper bound of the first pause; doubles with each attempt; negative means no pause
	MaxBackoff    time.Duration // upper bound of every pause, also of the first; negative means no pause
	MaxRetryAfter time.Duration // longest Retry-After that is obeyed; negative means none
}

// DefaultRetryPolicy returns the policy of a client without [WithRetryPolicy]: four attempts, random pauses of up to
// 500 ms, 1 s and 2 s, never above 30 s, and a Retry-After of up to a minute.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MinBackoff:    500 * time.Millisecond,
		MaxBackoff:    30 * time.Second,
		MaxRetryAfter: time.Minute,
	}
}

// withDefaults replaces zero fields by their defaults, and negative durations by zero.
func (p RetryPolicy) withDefaults() RetryPolicy {
	d := DefaultRetryPolicy()
	return RetryPolicy{
		MaxAttempts:   cmp.Or(p.MaxAttempts, d.MaxAttempts),
		MinBackoff:    max(cmp.Or(p.MinBackoff, d.MinBackoff), 0),
		MaxBackoff:    max(cmp.Or(p.MaxBackoff, max(d.MaxBackoff, p.MinBackoff)), 0),
		MaxRetryAfter: max(cmp.Or(p.MaxRetryAfter, d.MaxRetryAfter), 0),
	}
}

// WithHTTPClient sends requests through a copy of hc. Nil is an error. Its Jar applies. Its CheckRedirect applies to
// Download alone, because the SDK follows no redirect of an API call.
//
// Leave its Timeout 0: it counts from the start of every attempt, upload included, so it would end Store calls that are
// billed. A Timeout below the store timeout is an error, of NewClient or of the Store whose WithStoreTimeout exceeds
// it.
//
// If its transport is nil or an [*http.Transport], two clones with its TLS, proxy and dial settings are used: one for
// create requests, each on a connection of its own over HTTP/1.1, the other for everything else. A limit such as
// MaxConnsPerHost applies to each clone. Protocols without HTTP/1 are an error.
//
// Any other RoundTripper is used as it is, and must send each request only once. The SDK cannot see its connections: a
// Store of an image without a response is Unknown, and may use an idle connection. To wrap a transport, use
// [WithMiddleware], where outcomes stay exact.
func WithHTTPClient(hc *http.Client) Option {
	return clientOption{
		checkHTTPClient(hc),
		func(c *Client) { c.sender().API = hc },
	}
}

// WithMiddleware wraps the client's transport, for tracing, signing or caching. Nil is an error. NewClient calls wrap
// once; the first middleware given is the outermost. A middleware sees each attempt, with the Authorization header. To
// refuse attempts, use [WithAttemptHook].
//
// A middleware must send a request with next, and only once: the SDK cannot observe requests that it sends by other
// means, and a repeated create request is billed twice. The request that it gives to next must have the context of the
// attempt. If it has another one, and no response comes, the outcome is Unknown, unless the upload was incomplete.
func WithMiddleware(wrap func(next http.RoundTripper) http.RoundTripper) Option {
	return clientOption{
		check(wrap != nil, "middleware", nil, "must not be nil"),
		func(c *Client) { c.middleware = append(c.middleware, wrap) },
	}
}

// WithAPIKeySource calls source for the key before each attempt, in place of the key given to NewClient, which may be
// empty. Source is called from many goroutines at once and should cache the key. After a 401 it is called once more,
// and if it returns another key, the call is retried, even a Store. An error ends the call.
func WithAPIKeySource(source func(context.Context) (string, error)) Option {
	return clientOption{
		check(source != nil, "api_key_source", nil, "must not be nil"),
		func(c *Client) { c.source, c.keyFrom = source, "of WithAPIKeySource" },
	}
}

// WithUserAgent puts product, such as "gallery/2.1", before the SDK's own in the User-Agent header. Empty adds nothing.
func WithUserAgent(product string) Option {
	product = strings.TrimSpace(product)
	return clientOption{
		checkHeaderValue("user_agent", product, product),
		func(c *Client) { c.sender().UserAgent = strings.TrimSpace(product + " " + c.sender().UserAgent) },
	}
}

// WithLogger logs each attempt at debug level, with attributes that docs/production.md lists, but no keys, bodies or
// query values. Nil logs nothing.
func WithLogger(l *slog.Logger) Option {
	return clientOption{nil, func(c *Client) { c.log = logAttempts(l) }}
}

// WithRateLimiter calls l.Wait before each attempt, except for Download, which contacts other hosts: an attempt hook
// can limit it. Nil is no limit.
func WithRateLimiter(l RateLimiter) Option {
	return clientOption{nil, func(c *Client) { c.sender().Limiter = l }}
}

// maxBudget is the largest retry budget, which is no limit in practice. It leaves room for counting in fractions.
const maxBudget = 100_000_000

// WithRetryBudget limits the retries of all calls of the client together, so that they do not worsen an outage. The
// budget starts full; the default is 100, and 0 is no limit. Each retry takes one, except after a Retry-After or a 401.
// A call that succeeds after retries returns them; one that succeeds without a retry adds a tenth. More than 100
// million count as 100 million.
func WithRetryBudget(retries int) Option {
	return clientOption{
		check(retries >= 0, "retry_budget", retries, "must not be negative"),
		func(c *Client) { c.sender().Budget = engine.NewBudget(min(retries, maxBudget)) },
	}
}

// WithInsecureHTTP allows an http:// base URL for hosts other than loopback, and a proxy for it. The key and all
// content then cross the network unencrypted.
func WithInsecureHTTP() Option {
	return clientOption{nil, func(c *Client) { c.insecure = true }}
}

// WithBooleanWords sends booleans as true and false. The default is 1 and 0, which more services read.
func WithBooleanWords() Option {
	return clientOption{nil, func(c *Client) { c.words = true }}
}

// WithUpdateMethod sends updates with [http.MethodPatch], the default, or [http.MethodPut]; any other is an error. Both
// carry only the fields that are set.
func WithUpdateMethod(method string) Option {
	return clientOption{
		check(method == "PATCH" || method == "PUT", "update_method", method, "must be PATCH or PUT"),
		func(c *Client) { c.updateMethod = method },
	}
}

// WithMaxResponseSize limits the size of a response, after decompression. The default is 32 MiB; less than 1 is an
// error. A larger response is a [*DecodeError]. Download has no limit.
func WithMaxResponseSize(bytes int64) Option {
	return clientOption{
		check(bytes > 0, "max_response_size", bytes, "must be above 0"),
		func(c *Client) { c.sender().MaxResponse = bytes },
	}
}

// WithResponseTimeout limits the wait of one attempt, from the last byte sent until the response is read, or for
// Download until its header. The default is 30 seconds; 0 is no limit; less than a millisecond is an error. Store has
// [WithStoreTimeout] instead.
func WithResponseTimeout(d time.Duration) CallOption {
	return callOption{
		checkDuration("response_timeout", d),
		func(s *settings) { s.wait = d },
	}
}

// WithStoreTimeout is [WithResponseTimeout] for Store, which returns when the service has done the work. The default is
// 10 minutes; 0 is no limit; less than a millisecond is an error. A Store call that ends because of it is Unknown: the
// service may still be working.
func WithStoreTimeout(d time.Duration) CallOption {
	return callOption{
		checkDuration("store_timeout", d),
		func(s *settings) { s.storeWait = d },
	}
}

// WithStallTimeout aborts an attempt if, for d, no byte of its body is sent or no byte of a picture received. An upload
// that makes progress may take as long as it needs. The default is 60 seconds; 0 is no limit; less than a millisecond
// is an error.
func WithStallTimeout(d time.Duration) CallOption {
	return callOption{
		checkDuration("stall_timeout", d),
		func(s *settings) { s.stall = d },
	}
}

// WithRetryPolicy sets how often and how patiently a call is retried.
func WithRetryPolicy(policy RetryPolicy) CallOption {
	return callOption{
		check(policy.MaxAttempts >= 0, "max_attempts", policy.MaxAttempts, "must not be negative"),
		func(s *settings) { s.policy = policy.withDefaults() },
	}
}

// WithoutValidation leaves values to the service, such as newer resolutions, a language in place of a country, or a
// file that does not look like audio. Required fields stay required, and text must be UTF-8.
func WithoutValidation() CallOption {
	return callOption{nil, func(s *settings) { s.unchecked = true }}
}

// WithHeader sets a request header. Authorization, Host, Content-Type, Content-Length, Expect and connection headers
// such as Upgrade are errors, and so are values with control characters or surrounding white space.
func WithHeader(key, value string) CallOption {
	return callOption{
		checkHeader(key, value),
		func(s *settings) { s.moreHeader = appended(s.moreHeader, http.CanonicalHeaderKey(key), value) },
	}
}

// WithQuery sets a query parameter, documented or not. It overrides a documented parameter of the same name. Of
// several, the last one counts; values of a name that ends in [] add up. With "page", a list begins at that page,
// except on a service with cursors: then Current of [PageInfo] is another number.
func WithQuery(key, value string) CallOption {
	return callOption{
		check(key != "", "query", key, "must have a name"),
		func(s *settings) { s.moreQuery = appended(s.moreQuery, key, value) },
	}
}

// WithFormField sets a form field of a Store or Update call, such as one that the API does not document. It overrides a
// documented field of the same name, and can supply a required one. Of several, the last one counts; values of a name
// that ends in [] add up. The field "file" of a transcription is an error. So is "name" if params has a Name, because
// FindByName would not find the record by it.
func WithFormField(key, value string) CallOption {
	clean := key != "" && !strings.ContainsFunc(key, unicode.IsControl)
	return callOption{
		check(clean, "form_field", key, "must have a name, without control characters and line breaks"),
		func(s *settings) { s.moreForm = appended(s.moreForm, key, value) },
	}
}

// WithResponse stores the last response of the call in *dst, even if the call fails, or nil if none came. Concurrent
// calls must not share dst, so NewClient refuses the option. A nil dst stores nothing.
func WithResponse(dst **Response) CallOption {
	return callOption{nil, func(s *settings) { s.response = dst }}
}

// WithProgress calls f during an upload, one call at a time, at most 20 times a second and at the end of each attempt.
// The upload waits for f, which must not block or panic. Given to NewClient, f is called for all uploads, concurrently.
// Nil reports nothing.
func WithProgress(f func(Progress)) CallOption {
	return callOption{nil, func(s *settings) { s.progress = f }}
}
