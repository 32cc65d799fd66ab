package integration

import (
	"crypto/tls"
	"io"
	"maps"
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

// h2 is a service that is written frame by frame. It treats the first complete request in a way of its own.
type h2 struct {
	first func(c *fakes.Frames, stream uint32)

	mu       sync.Mutex
	requests int
	url      string
	client   *http.Client
}

func serveH2(t *testing.T, first func(c *fakes.Frames, stream uint32)) *h2 {
	certificate, roots := fakes.LoopbackCertificate()
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	s := &h2{first: first, client: &http.Client{Transport: transport}}
	listener := fakes.Listen(t, func(nc net.Conn) {
		// A client keeps a connection for some time after the server said that it goes away.
		t.Cleanup(func() { nc.Close() })
		s.serve(tls.Server(nc, config))
	})
	s.url = "https://" + listener.Addr().String() + "/tenant"
	return s
}

func (s *h2) serve(nc net.Conn) {
	fakes.ServeFrames(nc, func(c *fakes.Frames, stream uint32) {
		s.mu.Lock()
		s.requests++
		n := s.requests
		s.mu.Unlock()
		if n == 1 {
			s.first(c, stream)
			return
		}
		c.Respond(stream, fakes.StoredImage)
	})
}

func (s *h2) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// overHTTP2 hides the transport, so that it is used as it is: create requests go over HTTP/2 then.
func (s *h2) overHTTP2() aicontent.Option {
	return over(fakes.RoundTripper(s.client.Transport.RoundTrip))
}

// refusals are those of a service that is being restarted, of requests that it has not read.
var refusals = map[string]func(*fakes.Frames, uint32){
	"refused stream":   func(c *fakes.Frames, stream uint32) { c.Reset(stream, fakes.CodeRefusedStream) },
	"graceful go away": func(c *fakes.Frames, _ uint32) { c.GoAway(0) },
}

func TestHTTP2RefusalsAreSentAgain(t *testing.T) {
	t.Parallel()
	for name, refuse := range refusals {
		for _, operation := range []string{"show", "update", "delete"} {
			t.Run(name+"/"+operation, func(t *testing.T) {
				s := serveH2(t, refuse)
				c := newClient(t, s.url, fakes.Key, aicontent.WithHTTPClient(s.client), quick)
				require.NoError(t, allTen(c)["images."+operation](t.Context()))
				assert.Equal(t, 2, s.count())
			})
		}
	}
}

// A create request that the service may have executed is not sent again, a Show call is. Of a refusal, net/http says in
// a text alone that it cannot send a request again whose body was read, which proves nothing.
func TestHTTP2StoresAreSentOnce(t *testing.T) {
	t.Parallel()
	firsts := map[string]func(*fakes.Frames, uint32){
		"internal error":       func(c *fakes.Frames, stream uint32) { c.Reset(stream, fakes.CodeInternalError) },
		"connection closed":    func(c *fakes.Frames, _ uint32) { c.Close() },
		"go away after acting": func(c *fakes.Frames, stream uint32) { c.GoAway(stream); c.Close() },
	}
	maps.Copy(firsts, refusals)
	for name, first := range firsts {
		t.Run(name, func(t *testing.T) {
			s := serveH2(t, first)
			c := newClient(t, s.url, fakes.Key, s.overHTTP2(), quick)
			_, err := c.Images.Store(t.Context(), aStore)
			require.Error(t, err)
			assert.Equal(t, aicontent.OutcomeUnknown, aicontent.OutcomeOf(err), "%v", err)
			assert.Equal(t, 1, s.count())
			_, err = c.Images.Show(t.Context(), "7")
			require.NoError(t, err)
		})
	}
}

// net/http repeats a stream that was reset with PROTOCOL_ERROR whatever the method. So create requests use HTTP/1.1,
// whichever protocols the transport has used before.
func TestStoresOfTheOwnTransportSpeakHTTP1(t *testing.T) {
	t.Parallel()
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
	c := newClient(t, srv.URL+"/tenant", "test-key", aicontent.WithHTTPClient(srv.Client()))
	defer c.CloseIdleConnections()
	for _, name := range []string{"show", "store", "update", "delete"} {
		require.NoError(t, allTen(c)["images."+name](t.Context()))
	}
	want := map[string]string{"GET": "HTTP/2.0", "POST": "HTTP/1.1", "PATCH": "HTTP/2.0", "DELETE": "HTTP/2.0"}
	assert.Equal(t, want, protocols)
}
