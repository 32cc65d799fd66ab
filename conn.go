package aicontent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleConns is how many idle connections are kept for one host: net/http's own 2 make many goroutines dial anew.
	idleConns = 256
	// storeIdle is how long a connection may have been idle that a store is sent on. Services close idle connections after some
	// seconds, and a store that meets that moment is one of which nobody knows what became of it.
	storeIdle = time.Second
	// maxHeaderBytes bounds an answer's header, informational answers included.
	maxHeaderBytes = 1 << 20
	// lateAnswer is how long a write that the peer has refused waits for what the peer said before.
	lateAnswer = time.Second
)

var (
	errGoneIdle   = errors.New("the service closed the idle connection")
	errClearProxy = errors.New("a proxy would see the API key of an http:// base URL; use https://, or name the host in NO_PROXY")
)

// newTransport is a clone of the default transport with room for many goroutines, on connections that
// know what was written to them.
func newTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if ok {
		t = t.Clone()
	} else {
		t = &http.Transport{ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	}
	t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConns, idleConns
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.Proxy = encryptedProxy
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: nc, gone: make(chan struct{})}, nil
	}
	return t
}

// storeTransport is for requests that must not be sent twice: over HTTP/1.1 alone, where what was written to the
// connection is the request. Over HTTP/2 net/http would by itself repeat a stream that was reset with PROTOCOL_ERROR,
// which does not prove that the service did not act.
func storeTransport() *http.Transport {
	t := newTransport()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	// A clone offers what the default transport does, whatever its own protocols are.
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{}
	}
	t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	t.IdleConnTimeout = storeIdle
	return t
}

// encryptedProxy takes the proxy of the environment, unless the key would go through it in clear.
func encryptedProxy(req *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(req)
	if proxy != nil && req.URL.Scheme == "http" {
		return nil, errClearProxy
	}
	return proxy, err
}

// conn counts what is written, so that "no byte of the request was sent" is known and not guessed.
type conn struct {
	net.Conn
	written atomic.Int64
	idle    atomic.Bool // to be looked at before the next write
	refused atomic.Bool // it was, and the peer had closed it
	leaving atomic.Bool // what follows is TLS saying goodbye, and no request
	once    sync.Once
	gone    chan struct{} // closed by Close
}

// Write refuses to start a request on a connection that the peer has closed while it was idle: net/http then takes
// another one.
//
// A peer that answers early and closes makes the write fail before its answer is read, and
// net/http would return the failure. So the failure waits for the answer: net/http closes the connection when
// it has read either. Systems that drop what was received when the peer resets, as Windows does, lose the answer all the same.
func (c *conn) Write(p []byte) (int, error) {
	if c.idle.CompareAndSwap(true, false) && readable(c.Conn) {
		c.refused.Store(true)
	}
	if c.refused.Load() {
		return 0, errGoneIdle
	}
	n, err := c.Conn.Write(p)
	if !c.leaving.Load() {
		c.written.Add(int64(n))
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		timer := time.NewTimer(lateAnswer)
		defer timer.Stop()
		select {
		case <-c.gone:
		case <-timer.C:
		}
	}
	return n, err
}

// SetWriteDeadline is called by crypto/tls alone, before it says goodbye on a connection that it closes.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.leaving.Store(true)
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// connOf finds the counting connection of an HTTP/1 request. HTTP/2 shares a connection, so that its
// count says nothing of one request; a transport given by the user has none.
func connOf(nc net.Conn) (c *conn, shared bool) {
	if t, ok := nc.(*tls.Conn); ok {
		if t.ConnectionState().NegotiatedProtocol == "h2" {
			return nil, true
		}
		nc = t.NetConn()
	}
	c, _ = nc.(*conn)
	return c, false
}
