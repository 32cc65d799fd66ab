package aicontenttest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	pathpkg "path"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// An Option changes a server, which by default is strict, on loopback, and in the style of most deployments. A
// [Personality] is an Option. Options are named for what they set, without a prefix; On… calls a function.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config holds the options; err is the error of the first invalid one.
type config struct {
	addr          string
	apiKey        string
	otherKey      string   // empty for none
	moreKeys      []string // of the first account
	inspect       bool
	basePath      string
	inMemory      bool
	tls, http2    bool
	latency       time.Duration
	latencyOn     map[Operation]time.Duration // instead of latency
	dropAbandoned bool
	given         []Personality
	gzipHeader    bool
	gzipBody      bool
	uploadRate    int64 // bytes a second; 0 is no limit
	service       service.Config
	style         response.Style
	hooks         []func(*Response)
	onRequest     func(Request)
	onViolation   func(Violation)
	err           error
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
		c.fail(errors.New("Addr and InMemoryNetwork are mutually exclusive"))
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

// APIKey replaces the default API key: see [Server.APIKey].
func APIKey(key string) Option {
	return optionFunc(func(c *config) { c.apiKey = key })
}

// AnotherAPIKey accepts one more API key for the same account, as services do while a key is rotated. It may be given
// several times. An empty key is an error.
func AnotherAPIKey(key string) Option {
	return optionFunc(func(c *config) {
		c.moreKeys = append(c.moreKeys, key)
		if key == "" {
			c.fail(errors.New("AnotherAPIKey: must not be empty"))
		}
	})
}

// OtherAccount adds a second account with its own API key. Neither account sees the other's records; those that a test
// adds belong to the first. With an empty key there is no second account.
func OtherAccount(key string) Option {
	return optionFunc(func(c *config) { c.otherKey = key })
}

// BasePath puts the service under a path, such as /tenant, to reveal clients that drop the path of their base URL. The
// default is none. A path that a URL cannot have as it stands is an error.
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

// Lenient makes the server ignore unknown names and values, as deployments do. Nothing is a violation then.
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

// BooleanWords makes the server accept true and false instead of 1 and 0, as some stacks other than Laravel do.
// [Server.Client] sends them.
func BooleanWords() Option {
	return optionFunc(func(c *config) { c.service.BooleanWords = true })
}

// KeepUploads keeps the bytes of uploads in [Upload]. Without it only size and hash are kept, and uploads may be larger
// than memory.
func KeepUploads() Option {
	return optionFunc(func(c *config) { c.service.KeepUploads = true })
}

// Latency sets how long the service takes before it acts on a request or serves a picture. The default is 0. A negative
// d is an error.
//
// A client that disconnects meanwhile does not stop the service, which executes the request all the same, as PHP does:
// see [DropAbandoned]. [Server.Close] ends the latency.
func Latency(d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.latency = d
		if d < 0 {
			c.fail(fmt.Errorf("Latency: must not be negative: %v", d))
		}
	})
}

// LatencyOn replaces [Latency] for one operation. A negative d or an unknown operation is an error.
func LatencyOn(op Operation, d time.Duration) Option {
	return optionFunc(func(c *config) {
		c.latencyOn[op] = d
		switch {
		case d < 0:
			c.fail(fmt.Errorf("LatencyOn: must not be negative: %v", d))
		case !slices.Contains(operations, op):
			c.fail(fmt.Errorf("LatencyOn: unknown operation %q", op))
		}
	})
}

// DropAbandoned makes the service drop a request whose client disconnects before its [Latency] is over, as services do
// that watch their connections. By default it executes the request. Programs must work with both.
func DropAbandoned() Option {
	return optionFunc(func(c *config) { c.dropAbandoned = true })
}

// SlowUpload makes the server read request bodies at this rate, at least 1, instead of as fast as it can. The network's
// buffers accept more at once: some MiB over loopback, 64 KiB in memory.
func SlowUpload(bytesPerSecond int64) Option {
	return optionFunc(func(c *config) {
		c.uploadRate = bytesPerSecond
		if bytesPerSecond < 1 {
			c.fail(fmt.Errorf("SlowUpload: must be at least 1 byte per second, not %d", bytesPerSecond))
		}
	})
}

// TLS serves HTTPS with a self-signed certificate, [Server.Certificate], that [Server.Client] and [Server.HTTPClient]
// trust.
func TLS() Option {
	return optionFunc(func(c *config) { c.tls = true })
}

// HTTP2 serves HTTP/2 beside HTTP/1.1, over TLS.
func HTTP2() Option {
	return optionFunc(func(c *config) { c.tls, c.http2 = true, true })
}

// InMemoryNetwork connects clients through memory, so that a test can run in a testing/synctest bubble. They must come
// from [Server.Client] or use [Server.HTTPClient].
func InMemoryNetwork() Option {
	return optionFunc(func(c *config) { c.inMemory = true })
}

// OnResponse calls f with every response of the API, and every picture, after the service has acted and before it is
// sent. f may change it. Concurrent requests call f concurrently.
func OnResponse(f func(*Response)) Option {
	return optionFunc(func(c *config) { c.hooks = append(c.hooks, f) })
}

// OnRequest calls f with each of the [Server.Requests] when it has ended. Concurrent requests call f concurrently.
func OnRequest(f func(Request)) Option {
	return optionFunc(func(c *config) { c.onRequest = f })
}

// OnViolation calls f with each violation, for programs: they have no test to fail.
func OnViolation(f func(Violation)) Option {
	return optionFunc(func(c *config) { c.onViolation = f })
}
