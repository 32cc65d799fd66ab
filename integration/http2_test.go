package integration

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// Frame types and error codes of RFC 9113.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7
	flagEndStream, flagAck, flagEndHeaders                                     = 1, 1, 4
	codeProtocolError, codeInternalError, codeRefusedStream                    = 1, 2, 7
)

// h2 is an HTTP/2 service made of bare frames, as no library's server refuses a stream on demand. do says what becomes of
// the nth complete request, over all connections.
type h2 struct {
	do func(c *h2conn, n int, stream uint32)

	mu       sync.Mutex
	requests int
	opened   int
	url      string
	client   *http.Client
}

type h2conn struct {
	w  *bufio.Writer
	nc net.Conn
}

func serveH2(t *testing.T, do func(c *h2conn, n int, stream uint32)) *h2 {
	// httptest has the certificate, and a client that trusts it.
	certified := httptest.NewUnstartedServer(http.NotFoundHandler())
	certified.EnableHTTP2 = true
	certified.StartTLS()
	t.Cleanup(certified.Close)
	config := certified.TLS.Clone()
	config.NextProtos = []string{"h2"}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	s := &h2{do: do, url: "https://" + listener.Addr().String() + "/tenant", client: certified.Client()}
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.opened++
			s.mu.Unlock()
			t.Cleanup(func() { nc.Close() })
			go s.serve(nc)
		}
	}()
	return s
}

func (s *h2) serve(nc net.Conn) {
	defer nc.Close()
	c := &h2conn{bufio.NewWriter(nc), nc}
	r := bufio.NewReader(nc)
	preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	if _, err := io.ReadFull(r, preface); err != nil {
		return
	}
	c.frame(frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			c.frame(frameSettings, flagAck, 0, nil)
		case (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0:
			s.mu.Lock()
			s.requests++
			n := s.requests
			s.mu.Unlock()
			s.do(c, n, stream)
		}
	}
}

func (c *h2conn) frame(kind, flags byte, stream uint32, payload []byte) {
	head := binary.BigEndian.AppendUint32([]byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}, stream)
	_, _ = c.w.Write(append(head, payload...))
	_ = c.w.Flush()
}

func (c *h2conn) reset(stream, code uint32) {
	c.frame(frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

// goAway says that streams above last were not looked at.
func (c *h2conn) goAway(last uint32) {
	c.frame(frameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), 0))
}

// answer sends 200, which is the eighth entry of HPACK's static table, and a record.
func (c *h2conn) answer(stream uint32) {
	c.frame(frameHeaders, flagEndHeaders, stream, []byte{0x88})
	c.frame(frameData, flagEndStream, stream, []byte(fakes.StoredImage))
}

func (s *h2) counts() (requests, connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.opened
}

// overHTTP2 hides the transport, so that it is used as it is: create requests go over HTTP/2 then.
func (s *h2) overHTTP2() aicontent.Option {
	return aicontent.WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(s.client.Transport.RoundTrip)})
}

// A service that is being restarted refuses what it has not looked at. A create request whose body was read cannot be
// sent again by net/http, which says so in a text alone: that proves nothing.
func TestHTTP2RefusalsAreSentAgain(t *testing.T) {
	for name, refuse := range map[string]func(*h2conn, uint32){
		"refused stream":   func(c *h2conn, stream uint32) { c.reset(stream, codeRefusedStream) },
		"graceful go away": func(c *h2conn, _ uint32) { c.goAway(0) },
	} {
		for _, operation := range []string{"show", "update", "delete"} {
			t.Run(name+"/"+operation, func(t *testing.T) {
				s := serveH2(t, func(c *h2conn, n int, stream uint32) {
					if n == 1 {
						refuse(c, stream)
						return
					}
					c.answer(stream)
				})
				c, err := aicontent.NewClient(s.url, "test-key", aicontent.WithHTTPClient(s.client), aicontent.WithRetryPolicy(quick))
				require.NoError(t, err)
				require.NoError(t, allTen(c)["images."+operation](t.Context()))
				requests, _ := s.counts()
				assert.Equal(t, 2, requests)
			})
		}
		t.Run(name+"/store", func(t *testing.T) {
			s := serveH2(t, func(c *h2conn, n int, stream uint32) {
				if n == 1 {
					refuse(c, stream)
					return
				}
				c.answer(stream)
			})
			c, err := aicontent.NewClient(s.url, "test-key", s.overHTTP2(), aicontent.WithRetryPolicy(quick))
			require.NoError(t, err)
			_, err = c.Images.Store(t.Context(), aStore)
			require.Error(t, err)
			assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			requests, _ := s.counts()
			assert.Equal(t, 1, requests)
		})
	}
}

// What the service may have acted on is not sent again by a store, and is by the others.
func TestHTTP2LostStreams(t *testing.T) {
	for name, lose := range map[string]func(*h2conn, uint32){
		"internal error":       func(c *h2conn, stream uint32) { c.reset(stream, codeInternalError) },
		"connection closed":    func(c *h2conn, _ uint32) { c.nc.Close() },
		"go away after acting": func(c *h2conn, stream uint32) { c.goAway(stream); c.nc.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := serveH2(t, func(c *h2conn, n int, stream uint32) {
				if n == 1 {
					lose(c, stream)
					return
				}
				c.answer(stream)
			})
			c, err := aicontent.NewClient(s.url, "test-key", s.overHTTP2(), aicontent.WithRetryPolicy(quick))
			require.NoError(t, err)
			_, err = c.Images.Store(t.Context(), aStore)
			require.Error(t, err)
			assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			requests, _ := s.counts()
			assert.Equal(t, 1, requests)
			_, err = c.Images.Show(t.Context(), "7")
			require.NoError(t, err)
		})
	}
}

// net/http repeats a stream that was reset with PROTOCOL_ERROR whatever the method. So the SDK's own stores use HTTP/1.1, with
// whichever protocols the default transport has been used before.
func TestStoresOfTheOwnTransportSpeakHTTP1(t *testing.T) {
	var mu sync.Mutex
	protocols := map[string]string{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		protocols[r.Method] = r.Proto
		mu.Unlock()
		_, _ = io.WriteString(w, fakes.StoredImage)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	c, err := aicontent.NewClient(srv.URL+"/tenant", "test-key", aicontent.WithHTTPClient(srv.Client()))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	for _, name := range []string{"show", "store", "update", "delete"} {
		require.NoError(t, allTen(c)["images."+name](t.Context()))
	}
	assert.Equal(t, map[string]string{"GET": "HTTP/2.0", "POST": "HTTP/1.1", "PATCH": "HTTP/2.0", "DELETE": "HTTP/2.0"}, protocols)
}
