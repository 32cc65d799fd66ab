package aicontenttest

import (
	"errors"
	"net"
	"strings"
	"time"
)

// An Option changes a server from the default: strict, on loopback, answering records under
// data. A [Personality] is one too.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config is what the options say; err is the first of them that cannot be met.
type config struct {
	addr         string
	apiKey       string
	basePath     string
	inMemory     bool
	tls, http2   bool
	lenient      bool
	allowed      map[string]bool
	booleanWords bool
	keepUploads  bool
	latency      time.Duration
	shape        shape
	hooks        []func(*Answer)
	onRequest    func(Request)
	onViolation  func(Violation)
	err          error
}

func newConfig(opts []Option) config {
	c := config{addr: "127.0.0.1:0", apiKey: "aicontenttest-key", allowed: make(map[string]bool)}
	for _, opt := range opts {
		opt.apply(&c)
	}
	if c.inMemory && c.addr != "127.0.0.1:0" {
		c.err = errors.New("a server in memory has no address of its own: leave out Addr or InMemoryNetwork")
	}
	return c
}

// Addr is the address to listen on. The default is a free port of the loopback interface.
func Addr(addr string) Option {
	return optionFunc(func(c *config) {
		c.addr = addr
		if _, _, err := net.SplitHostPort(addr); err != nil {
			c.err = err
		}
	})
}

// WithAPIKey sets the one key that the server accepts.
func WithAPIKey(key string) Option {
	return optionFunc(func(c *config) { c.apiKey = key })
}

// BasePath puts the whole service under a path, such as /tenant, so that a client which loses
// the path of its base URL is found out.
func BasePath(path string) Option {
	return optionFunc(func(c *config) {
		c.basePath = strings.TrimRight("/"+strings.Trim(path, "/"), "/")
	})
}

// Lenient makes the server do what deployments do: overlook what they do not know. Nothing is
// a violation then.
func Lenient() Option {
	return optionFunc(func(c *config) { c.lenient = true })
}

// Allow names query parameters and form fields that the interface does not list and that are
// no violation here. For one that it does list, any value is taken.
func Allow(names ...string) Option {
	return optionFunc(func(c *config) {
		for _, name := range names {
			c.allowed[name] = true
		}
	})
}

// BooleanWords is a deployment on another stack: booleans are true and false in queries and
// forms, and 1 and 0 are refused.
func BooleanWords() Option {
	return optionFunc(func(c *config) { c.booleanWords = true })
}

// KeepUploads keeps the bytes of uploaded files. Without it only their size and hash are kept,
// so that a test may upload more than fits into memory.
func KeepUploads() Option {
	return optionFunc(func(c *config) { c.keepUploads = true })
}

// Latency is how long the service thinks about each request before it acts.
func Latency(d time.Duration) Option {
	return optionFunc(func(c *config) { c.latency = d })
}

// TLS serves https with a certificate made for this server. [Server.Client] and
// [Server.HTTPClient] trust it.
func TLS() Option {
	return optionFunc(func(c *config) { c.tls = true })
}

// HTTP2 serves HTTP/2 over TLS, as TLS does otherwise.
func HTTP2() Option {
	return optionFunc(func(c *config) { c.tls, c.http2 = true, true })
}

// InMemoryNetwork connects clients through memory instead of the loopback interface. A whole
// test can then run in a bubble of testing/synctest, where waiting takes no time. Clients must
// come from [Server.Client] or use [Server.HTTPClient]. In a bubble, [HTTP2] needs Go 1.26.
func InMemoryNetwork() Option {
	return optionFunc(func(c *config) { c.inMemory = true })
}

// OnResponse lets f change every answer of the API before it is sent: a personality of the
// caller's own. It runs after the service has acted, concurrently for concurrent requests.
func OnResponse(f func(*Answer)) Option {
	return optionFunc(func(c *config) { c.hooks = append(c.hooks, f) })
}

// OnRequest calls f with each request once it has been dealt with, as it stands in the book.
func OnRequest(f func(Request)) Option {
	return optionFunc(func(c *config) { c.onRequest = f })
}

// OnViolation calls f with each violation when it is found, for programs that have no test to
// fail.
func OnViolation(f func(Violation)) Option {
	return optionFunc(func(c *config) { c.onViolation = f })
}
