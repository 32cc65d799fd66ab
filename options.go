package aicontent

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Option changes a [Client] when it is made. Every [CallOption] is one too: what
// [NewClient] is given holds for all calls.
type Option interface {
	applyClient(*config, *problems)
}

// CallOption changes one call. It wins over the same option given to [NewClient].
type CallOption interface {
	Option
	applyCall(*settings, *problems)
}

// RateLimiter holds attempts back: [golang.org/x/time/rate.Limiter] is one. Wait is called before each
// attempt, from many goroutines at once; an error ends the call before anything of the attempt is sent.
type RateLimiter interface {
	Wait(context.Context) error
}

type clientOption func(*config, *problems)

func (o clientOption) applyClient(c *config, p *problems) { o(c, p) }

type callOption func(*settings, *problems)

func (o callOption) applyClient(c *config, p *problems) { o(c.defaults, p) }
func (o callOption) applyCall(s *settings, p *problems) { o(s, p) }

// settings is what a call may choose for itself.
type settings struct {
	timeout   *time.Duration // nil is the operation's own
	stall     time.Duration
	retry     RetryPolicy
	unchecked bool
	header    []pair
	query     []pair
	form      []pair
	response  **Response
	progress  func(Progress)
	once      bool
}

type pair struct{ key, value string }

// with returns a list of its own, so that a call never writes into its client's.
func with(list []pair, key, value string) []pair { return append(slices.Clip(list), pair{key, value}) }

// apply lays a call's options over the client's.
func (s *settings) apply(opts []CallOption, p *problems) {
	for _, opt := range opts {
		if opt == nil {
			p.add("option", nil, "must not be nil")
			continue
		}
		opt.applyCall(s, p)
	}
	p.lenient = s.unchecked
}

// WithHTTPClient sends requests through a copy of hc, which is itself never changed. Its transport is used as it is, its
// timeout too; its redirect policy may only be stricter than the SDK's. nil is an error.
//
// The SDK's own transport proves more: whether a byte was written is then read off the connection, and an answer
// that comes before the upload ends is never lost.
func WithHTTPClient(hc *http.Client) Option {
	return clientOption(func(c *config, p *problems) {
		if hc == nil {
			p.add("http_client", nil, "must not be nil")
			return
		}
		copied := *hc
		c.http = holding(&copied)
	})
}

// WithAPIKeySource asks source for the key before each attempt, in place of the key given to [NewClient], which may then be
// empty. It is called from many goroutines at once and should keep the key for as long as it is good. After a
// 401 it is asked once more, and the call is tried again, a store too, when it gives another key. Its error ends the call.
func WithAPIKeySource(source func(context.Context) (string, error)) Option {
	return clientOption(func(c *config, p *problems) {
		if source == nil {
			p.add("api_key_source", nil, "must not be nil")
			return
		}
		c.key, c.rotates = source, true
	})
}

// WithUserAgent puts a product, such as "gallery/2.1", before the SDK's own in the User-Agent header.
func WithUserAgent(product string) Option {
	return clientOption(func(c *config, p *problems) {
		trimmed := strings.TrimSpace(product)
		p.headerValue("user_agent", trimmed, false)
		if trimmed != "" {
			c.userAgent = trimmed + " " + c.userAgent
		}
	})
}

// WithLogger writes a line at debug level for each attempt: operation, path, status, duration, outcome, the pause
// before the next one. Never keys, bodies or query values. nil writes nothing.
func WithLogger(l *slog.Logger) Option {
	return clientOption(func(c *config, _ *problems) { c.logger = l })
}

// WithRateLimiter asks l before each attempt. nil asks nobody.
func WithRateLimiter(l RateLimiter) Option {
	return clientOption(func(c *config, _ *problems) { c.limiter = l })
}

// WithInsecureHTTP allows a base URL with http:// for hosts other than loopback. The key and all content then cross the
// network in clear.
func WithInsecureHTTP() Option {
	return clientOption(func(c *config, _ *problems) { c.insecure = true })
}

// WithBooleanWords sends booleans as true and false. By default they go as 1 and 0, which more deployments read.
func WithBooleanWords() Option {
	return clientOption(func(c *config, _ *problems) { c.words = true })
}

// WithUpdateMethod sends updates with [http.MethodPatch], the default, or [http.MethodPut]: the interface allows both,
// and both carry only the fields that are set.
func WithUpdateMethod(method string) Option {
	return clientOption(func(c *config, p *problems) {
		if method != http.MethodPatch && method != http.MethodPut {
			p.add("update_method", method, "must be PATCH or PUT")
			return
		}
		c.updateMethod = method
	})
}

// WithMaxResponseSize bounds what is read of an answer, after decompression. The default is 32 MiB. A longer
// answer is a [DecodeError].
func WithMaxResponseSize(bytes int64) Option {
	return clientOption(func(c *config, p *problems) {
		if bytes <= 0 {
			p.add("max_response_size", bytes, "must be above 0")
			return
		}
		c.maxResponse = bytes
	})
}

// WithTimeout bounds one attempt's wait, from its last byte sent to its answer read. The default is 10 minutes for a
// store and 30 seconds for every other operation; 0 is no limit. Only the context bounds the whole call.
func WithTimeout(d time.Duration) CallOption {
	return callOption(func(s *settings, p *problems) {
		if d < 0 {
			p.add("timeout", d, "must not be negative")
		}
		s.timeout = &d
	})
}

// WithStallTimeout ends an attempt when nothing of its body was taken for d while it was sent. The default is 60
// seconds; 0 is no limit. An upload that moves may take as long as it needs.
func WithStallTimeout(d time.Duration) CallOption {
	return callOption(func(s *settings, p *problems) {
		if d < 0 {
			p.add("stall_timeout", d, "must not be negative")
		}
		s.stall = d
	})
}

// WithRetryPolicy replaces [DefaultRetryPolicy] whole: start from that and change what is to differ.
func WithRetryPolicy(policy RetryPolicy) CallOption {
	return callOption(func(s *settings, p *problems) {
		policy.check(p)
		s.retry = policy
	})
}

// WithoutValidation leaves values to the deployment's judgement: newer resolutions, a language instead of a country, a
// file that does not look like audio or is empty. What is required stays required.
func WithoutValidation() CallOption {
	return callOption(func(s *settings, _ *problems) { s.unchecked = true })
}

// WithHeader sets a request header. Authorization, Host, Content-Type, Content-Length and what speaks of the connection, such
// as Upgrade, are the SDK's, and refused. So is a value with a control character, or with a space at either end, which
// HTTP would drop. For Expect: 100-continue see [File].
func WithHeader(key, value string) CallOption {
	return callOption(func(s *settings, p *problems) {
		name := http.CanonicalHeaderKey(key)
		if p.headerName(key) {
			p.headerValue(name, value, true)
		}
		s.header = with(s.header, name, value)
	})
}

// WithQuery sets a query parameter that the interface does not list. It wins over a documented one of the same name.
func WithQuery(key, value string) CallOption {
	return callOption(func(s *settings, p *problems) {
		if key == "" {
			p.add("query", key, "must have a name")
		}
		s.query = with(s.query, key, value)
	})
}

// WithFormField sets a form field of a store or update that the interface does not list, such as a newer deployment's
// quality. It wins over a documented one of the same name, and its name must have no control characters. Other operations
// have no form and do not send it.
func WithFormField(key, value string) CallOption {
	return callOption(func(s *settings, p *problems) {
		p.formName(key)
		s.form = with(s.form, key, value)
	})
}

// WithResponse stores the last answer of the call in *dst, also when the call fails; nil when no answer came. As an
// option of a client it would be shared by calls that run at once: give it to a call.
func WithResponse(dst **Response) CallOption {
	return callOption(func(s *settings, p *problems) {
		if dst == nil {
			p.add("response", nil, "must not be nil")
			return
		}
		*dst = nil
		s.response = dst
	})
}

// WithProgress calls f while a file is sent, at most 20 times a second and once at the end, from another goroutine but
// never twice at once and never after the call has returned. f may be slow: the upload does not wait for it.
func WithProgress(f func(Progress)) CallOption {
	return callOption(func(s *settings, _ *problems) { s.progress = f })
}

// WithOnce makes a store safe to repeat by the documented operations alone: see [ImagesService.Store]. On other operations
// it does nothing.
func WithOnce() CallOption {
	return callOption(func(s *settings, _ *problems) { s.once = true })
}
