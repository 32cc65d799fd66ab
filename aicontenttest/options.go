package aicontenttest

import (
	"errors"
	"fmt"
	"net/url"
	pathpkg "path"
	"slices"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// An Option configures a server. By default a server is strict, listens on loopback and responds like most deployments.
// A [Personality] is an Option. Unlike the SDK's options, those of a server have names without With.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config holds the options. err is the error of the first invalid option.
type config struct {
	addr          string
	keys          []string // the first is [Server.APIKey]
	inspect       bool
	basePath      string
	inMemory      bool
	tls, http2    bool
	latency       map[aicontent.Operation]time.Duration // under "": of operations without their own
	dropAbandoned bool
	unusedFaults  bool
	uploadRate    int64 // bytes per second; 0 means no limit
	service       service.Config
	style         response.Style
	hooks         []func(*Response)
	onRequest     func(Request)
	onViolation   func(string)
	err           error
}

func newConfig(opts []Option) config {
	c := config{
		addr: "127.0.0.1:0", keys: []string{"aicontenttest-key"},
		latency: make(map[aicontent.Operation]time.Duration),
		service: service.Config{Allowed: make(map[string]bool)},
	}
	for _, opt := range opts {
		opt.apply(&c)
	}
	c.service.Cursors = c.style.Paging == response.ByCursor
	if c.inMemory && c.addr != "127.0.0.1:0" {
		c.fail(errors.New("Addr and InMemoryNetwork are mutually exclusive"))
	}
	return c
}

func (c *config) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Addr sets the address to listen on. The default is a free port on loopback.
func Addr(addr string) Option {
	return optionFunc(func(c *config) { c.addr = addr })
}

// APIKey replaces the default API key: see [Server.APIKey]. The server also accepts the other keys, to test their
// rotation. An empty key is an error.
func APIKey(key string, others ...string) Option {
	return optionFunc(func(c *config) {
		c.keys = append([]string{key}, others...)
		if slices.Contains(c.keys, "") {
			c.fail(errors.New("APIKey: must not be empty"))
		}
	})
}

// BasePath puts the service under a path, such as /tenant, to detect clients that drop the path of their base URL. A
// path with characters that a URL must escape is an error.
func BasePath(path string) Option {
	return optionFunc(func(c *config) {
		c.basePath = strings.TrimRight("/"+strings.Trim(path, "/"), "/")
		if !validBasePath(c.basePath) {
			c.fail(fmt.Errorf("BasePath: must be the path of a URL, without spaces, ?, #, .., and //, not %q", path))
		}
	})
}

func validBasePath(base string) bool {
	u, err := url.Parse(base)
	return base == "" || err == nil && u.EscapedPath() == base && pathpkg.Clean(base) == base
}

// Lenient makes the server ignore unknown names and values, as deployments do. It then reports no violations.
func Lenient() Option {
	return optionFunc(func(c *config) { c.service.Lenient = true })
}

// Allow accepts undocumented parameters and fields with these names, and any value of documented ones.
func Allow(names ...string) Option {
	return optionFunc(func(c *config) {
		for _, name := range names {
			c.service.Allowed[name] = true
		}
	})
}

// BooleanWords makes the server accept true and false instead of 1 and 0, as some stacks do. [Server.Client] sends
// them.
func BooleanWords() Option {
	return optionFunc(func(c *config) { c.service.BooleanWords = true })
}

// KeepUploads keeps the bytes of uploads in [Upload]. By default the server discards them.
func KeepUploads() Option {
	return optionFunc(func(c *config) { c.service.KeepUploads = true })
}

// Latency delays the service before it acts on a request or serves a picture. A negative d is an error.
//
// If a client disconnects meanwhile, the service still executes its request, as PHP does: see [DropAbandoned].
// [Server.Close] ends the latency.
func Latency(d time.Duration) Option {
	return optionFunc(func(c *config) { c.setLatency("", d) })
}

// LatencyOn replaces [Latency] for one operation. A negative d or an unknown operation is an error.
func LatencyOn(op aicontent.Operation, d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.setLatency(op, d)
		if !slices.Contains(contract.Operations, string(op)) {
			c.fail(fmt.Errorf("LatencyOn: unknown operation %q", op))
		}
	})
}

func (c *config) setLatency(op aicontent.Operation, d time.Duration) {
	c.latency[op] = d
	if d < 0 {
		c.fail(fmt.Errorf("latency: must not be negative: %v", d))
	}
}

// UnusedFaults permits queued faults that strike no request until the end of the test, as in tests that try each fault
// on each operation. By default, such a fault fails the test, which has not tested it.
func UnusedFaults() Option {
	return optionFunc(func(c *config) { c.unusedFaults = true })
}

// DropAbandoned makes the service drop a request if its client disconnects during the [Latency]. By default it executes
// the request. Programs must work with both.
func DropAbandoned() Option {
	return optionFunc(func(c *config) { c.dropAbandoned = true })
}

// SlowUpload limits the rate at which the server reads request bodies. The minimum is 1. The network buffers more: some
// MiB over loopback, 64 KiB in memory.
func SlowUpload(bytesPerSecond int64) Option {
	return optionFunc(func(c *config) {
		c.uploadRate = bytesPerSecond
		if bytesPerSecond < 1 {
			c.fail(fmt.Errorf("SlowUpload: must be at least 1 byte per second, not %d", bytesPerSecond))
		}
	})
}

// TLS serves HTTPS with a self-signed certificate, which [Server.Client] and [Server.HTTPClient] trust.
func TLS() Option {
	return optionFunc(func(c *config) { c.tls = true })
}

// HTTP2 serves HTTP/2 beside HTTP/1.1, over TLS.
func HTTP2() Option {
	return optionFunc(func(c *config) { c.tls, c.http2 = true, true })
}

// InMemoryNetwork connects clients through memory, so that a test can run in a testing/synctest bubble. Clients must
// come from [Server.Client] or use [Server.HTTPClient].
func InMemoryNetwork() Option {
	return optionFunc(func(c *config) { c.inMemory = true })
}

// OnResponse calls f with every response of the API, and every picture, before it is sent. f may change it. Concurrent
// requests call f concurrently.
func OnResponse(f func(*Response)) Option {
	return optionFunc(func(c *config) { c.hooks = append(c.hooks, f) })
}

// OnRequest calls f with each request at its end. Concurrent requests call f concurrently.
func OnRequest(f func(Request)) Option {
	return optionFunc(func(c *config) { c.onRequest = f })
}

// OnViolation calls f with each violation, for programs without a test: see [Server.Violations].
func OnViolation(f func(string)) Option {
	return optionFunc(func(c *config) { c.onViolation = f })
}
