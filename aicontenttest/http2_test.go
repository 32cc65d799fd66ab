package aicontenttest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

func TestRefusedStreamsAreRepeatedByNetHTTP(t *testing.T) {
	s := NewServer(t, HTTP2())
	hc := s.HTTPClient()
	s.FaultN(1, RefuseStream())
	req := signed(t, s, post("/api/v1/images", storeForm))
	resp, err := hc.Do(req)
	require.NoError(t, err, "net/http repeats a refused request, even a POST")
	resp.Body.Close()
	require.Len(t, s.Requests(), 2)
	assert.Equal(t, "refuse-stream", s.Requests()[0].Fault)
	assert.False(t, s.Requests()[0].Acted)
	assert.Len(t, s.Images(), 1)
	assert.Equal(t, s.Requests()[0].Connection, s.Requests()[1].Connection, "the connection stays")
}

func TestARefusedStreamMayBeOfARequestThatWasExecuted(t *testing.T) {
	s := NewServer(t, HTTP2())
	s.Fault(RefuseStream().Acting())
	assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status, "net/http repeats the request")
	assert.True(t, s.Requests()[0].Acted)
	assert.Len(t, s.Records(), 2)

	s = NewServer(t)
	s.Fault(RefuseStream().Acting())
	_, err := trySend(s, post("/api/v1/images", storeForm))
	assert.ErrorIs(t, err, io.EOF, "over HTTP/1.1 the response is lost")
	assert.Len(t, s.Records(), 1)
}

// http2Conn is an HTTP/2 client that shows the frames.
type http2Conn struct {
	t    *testing.T
	conn io.ReadWriter
}

func dialHTTP2(t *testing.T, s *Server) *http2Conn {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.Equal(t, "h2", conn.ConnectionState().NegotiatedProtocol)
	c := &http2Conn{t, conn}
	_, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	require.NoError(t, err)
	c.send(4, 0, 0, nil)
	return c
}

func (c *http2Conn) send(kind, flags byte, stream uint32, payload []byte) {
	frame := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	_, err := c.conn.Write(append(binary.BigEndian.AppendUint32(frame, stream), payload...))
	require.NoError(c.t, err)
}

// headers are the fields as HPACK literals.
func headers(fields ...string) []byte {
	var block []byte
	for i := 0; i < len(fields); i += 2 {
		block = append(append(block, 0, byte(len(fields[i]))), fields[i]...)
		block = append(append(block, byte(len(fields[i+1]))), fields[i+1]...)
	}
	return block
}

// reset reads to the next RST_STREAM.
func (c *http2Conn) reset() (stream, code uint32) {
	for {
		var header [9]byte
		_, err := io.ReadFull(c.conn, header[:])
		require.NoError(c.t, err)
		payload := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
		_, err = io.ReadFull(c.conn, payload)
		require.NoError(c.t, err)
		if header[3] == 3 {
			return binary.BigEndian.Uint32(header[5:]), binary.BigEndian.Uint32(payload)
		}
	}
}

func TestStreamsAreResetByTheirNumber(t *testing.T) {
	s := NewServer(t, HTTP2())
	c := dialHTTP2(t, s)
	block := headers(":method", "GET", ":scheme", "https", ":path", "/api/v1/images", ":authority", "x",
		"authorization", "Bearer "+s.APIKey, "accept", "application/json")
	const refused, closed = 7, 2
	for i, f := range []Fault{CloseBeforeRead(), RefuseStream(), RefuseStream(), CloseBeforeRead(), RefuseStream()} {
		s.Fault(f)
		stream := uint32(1 + 6*i) // streams may be left out
		switch i {
		case 2: // in several frames
			c.send(1, 1, stream, block[:20])
			c.send(9, 0, stream, block[20:30])
			c.send(9, 4, stream, block[30:])
		case 4: // padded
			c.send(1, 1|4|8, stream, append(append([]byte{200}, block...), make([]byte, 200)...))
		default:
			c.send(1, 1|4, stream, block)
		}
		gotStream, code := c.reset()
		assert.Equal(t, stream, gotStream)
		assert.Equal(t, map[string]uint32{"refuse-stream": refused, "close-before-read": closed}[f.Name], code, f.Name)
	}
	for _, r := range s.Requests() {
		assert.Len(t, r.Header, 2, "nothing is added to the header: %v", r.Header)
	}
}

func TestTrailersAreLeftAlone(t *testing.T) {
	s := NewServer(t, HTTP2())
	req := signed(t, s, request{method: "POST", path: "/api/v1/images", body: io.MultiReader(strings.NewReader(storeForm))})
	req.Trailer = http.Header{"X-Trailer": {"x"}}
	resp, err := s.HTTPClient().Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 201, resp.StatusCode)
	assert.Equal(t, 2, resp.ProtoMajor)
}

func TestHTTP2ServersSpeakHTTP1Too(t *testing.T) {
	s := NewServer(t, HTTP2())
	transport := s.HTTPClient().Transport.(*http.Transport)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	resp, err := transport.RoundTrip(signed(t, s, get("/api/v1/images")))
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 1, resp.ProtoMajor)
	page, err := s.Client().Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	assert.Empty(t, page.Items)
}

func TestConnectionCloseEndsAnHTTP2Connection(t *testing.T) {
	s := NewServer(t, HTTP2())
	hc := s.HTTPClient()
	s.Fault(Status(503, "").WithHeader("Connection", "close"))
	for range 2 {
		resp, err := hc.Do(signed(t, s, get("/api/v1/images")))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	assert.Equal(t, []int{1, 2}, []int{s.Requests()[0].Connection, s.Requests()[1].Connection})
}
