package aicontenttest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// An Option changes a server from the default: strict, on loopback, responding in the style of most
// deployments. A [Personality] is an Option too.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config is what the options say; err says what is wrong with the first one that is invalid.
type config struct {
	addr        string
	apiKey      string
	otherKey    string // empty for none
	basePath    string
	inMemory    bool
	tls, http2  bool
	latency     time.Duration
	latencyOn   map[Operation]time.Duration // instead of latency
	given       []Personality
	uploadRate  int64 // bytes a second; 0 is no limit
	service     service.Config
	style       response.Style
	hooks       []func(*Response)
	onRequest   func(Request)
	onViolation func(Violation)
	err         error
}

func newConfig(opts []Option) config {
	c := config{
		addr: "127.0.0.1:0", apiKey: "aicontenttest-key", latencyOn: make(map[Operation]time.Duration),
		service: service.Config{Allowed: make(map[string]bool)},
	}
	for i, opt := range opts {
		if opt == nil {
			c.fail(fmt.Errorf("option %d of %d is nil", i+1, len(opts)))
			continue
		}
		opt.apply(&c)
	}
	if c.inMemory && c.addr != "127.0.0.1:0" {
		c.fail(errors.New("Addr and InMemoryNetwork exclude each other"))
	}
	c.checkPersonalities()
	return c
}

func (c *config) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Addr sets the address to listen on. The default is a free port on loopback.
func Addr(addr string) Option {
	return optionFunc(func(c *config) {
		c.addr = addr
		if _, _, err := net.SplitHostPort(addr); err != nil {
			c.fail(fmt.Errorf("Addr: %w", err))
		}
	})
}

// WithAPIKey sets the API key that the server accepts: [Server.APIKey]. There is a default.
func WithAPIKey(key string) Option {
	return optionFunc(func(c *config) { c.apiKey = key })
}

// OtherAccount adds a second account with its own API key. To each account, the other's records do not exist.
// Records that a test adds belong to the first. With an empty key there is no second account.
func OtherAccount(key string) Option {
	return optionFunc(func(c *config) { c.otherKey = key })
}

// BasePath puts the whole service under a path, such as /tenant. It reveals clients that drop the path of
// their base URL. The default is none.
func BasePath(path string) Option {
	return optionFunc(func(c *config) {
		c.basePath = strings.TrimRight("/"+strings.Trim(path, "/"), "/")
	})
}

// Lenient makes the server ignore what it does not know, as deployments do. Nothing is a violation then.
func Lenient() Option {
	return optionFunc(func(c *config) { c.service.Lenient = true })
}

// Allow accepts undocumented query parameters and form fields with these names. For documented ones, it
// accepts any value.
func Allow(names ...string) Option {
	return optionFunc(func(c *config) {
		for _, name := range names {
			c.service.Allowed[name] = true
		}
	})
}

// BooleanWords makes the server accept true and false in queries and forms instead of 1 and 0, as some stacks
// other than Laravel do. [Server.Client] sends them.
func BooleanWords() Option {
	return optionFunc(func(c *config) { c.service.BooleanWords = true })
}

// KeepUploads keeps the bytes of uploaded files in [Upload]. Without it only size and hash are kept, and an
// upload may be larger than memory.
func KeepUploads() Option {
	return optionFunc(func(c *config) { c.service.KeepUploads = true })
}

// Latency sets how long the service takes for each request before it acts, downloads of pictures included. The
// default is 0. A negative d is an error.
func Latency(d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.latency = d
		if d < 0 {
			c.fail(fmt.Errorf("Latency: must not be negative, but is %v", d))
		}
	})
}

// LatencyOn sets how long the service takes for each request of the operation before it acts. For this operation
// it replaces [Latency]. A negative d is an error, and so is an unknown operation.
func LatencyOn(op Operation, d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.latencyOn[op] = d
		switch {
		case d < 0:
			c.fail(fmt.Errorf("LatencyOn: must not be negative, but is %v", d))
		case !slices.Contains(operations, op):
			c.fail(fmt.Errorf("LatencyOn: there is no operation %q", op))
		}
	})
}

// SlowUpload makes the server read each request body at this rate, which must be at least 1. By default it reads as
// fast as it can. The network's buffers take more at once: some MiB over loopback, 64 KiB in memory.
func SlowUpload(bytesPerSecond int64) Option {
	return optionFunc(func(c *config) {
		c.uploadRate = bytesPerSecond
		if bytesPerSecond < 1 {
			c.fail(errors.New("SlowUpload: must be at least 1 byte per second"))
		}
	})
}

// TLS serves HTTPS with a self-signed certificate: see [Server.Certificate]. [Server.Client] and
// [Server.HTTPClient] trust it.
func TLS() Option {
	return optionFunc(func(c *config) { c.tls = true })
}

// HTTP2 serves HTTP/2 beside HTTP/1.1, over TLS.
func HTTP2() Option {
	return optionFunc(func(c *config) { c.tls, c.http2 = true, true })
}

// InMemoryNetwork connects clients through memory instead of loopback, so that a test can run in a
// testing/synctest bubble, where waiting takes no time. Clients must come from [Server.Client] or use
// [Server.HTTPClient].
func InMemoryNetwork() Option {
	return optionFunc(func(c *config) { c.inMemory = true })
}

// OnResponse calls f with every response of the API, and every picture, before it is sent. f may change it. It is
// called after the service has acted, and concurrently for concurrent requests.
func OnResponse(f func(*Response)) Option {
	return optionFunc(func(c *config) { c.hooks = append(c.hooks, f) })
}

// OnRequest calls f with each of the [Server.Requests] when it has ended. f is called concurrently for concurrent
// requests.
func OnRequest(f func(Request)) Option {
	return optionFunc(func(c *config) { c.onRequest = f })
}

// OnViolation calls f with each violation, for programs, which have no test that could fail.
func OnViolation(f func(Violation)) Option {
	return optionFunc(func(c *config) { c.onViolation = f })
}
