package parsers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
)

// cuttingProxy is in front of a service. It forwards so much of the first request's body and breaks both connections.
// Later requests pass.
type cuttingProxy struct {
	address  string
	requests atomic.Int64
}

func newCuttingProxy(t *testing.T, s *service, p parser, cut func(length int64) int64) *cuttingProxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	proxy := &cuttingProxy{address: listener.Addr().String()}
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			_ = nc.(*net.TCPConn).SetReadBuffer(64 << 10)
			upstream, err := net.Dial("tcp", s.address)
			if !assert.NoError(t, err) {
				return
			}
			if proxy.requests.Add(1) > 1 {
				cut = func(length int64) int64 { return length }
			}
			proxy.forward(t, nc, upstream.(*net.TCPConn), cut)
			s.idle(t, p)
			upstream.Close()
			nc.Close()
		}
	}()
	return proxy
}

func (*cuttingProxy) forward(t *testing.T, nc net.Conn, upstream *net.TCPConn, cut func(length int64) int64) {
	r := bufio.NewReader(nc)
	var length int64
	for {
		line, err := r.ReadString('\n')
		if !assert.NoError(t, err) {
			return
		}
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
		_, _ = io.WriteString(upstream, line)
		if strings.TrimSpace(line) == "" {
			break
		}
	}
	n := cut(length)
	_, _ = io.CopyN(upstream, r, n)
	if n < length {
		_ = upstream.CloseWrite()
		_, _ = io.Copy(io.Discard, upstream)
		return
	}
	_, _ = io.Copy(nc, upstream)
}

// A Store call whose upload breaks off is sent again where its closing delimiter was not handed to the network, and
// makes one record, whatever parses the form. Otherwise the outcome is unknown, and nothing is sent again.
func TestUploadThatBreaksOffMakesAtMostOneRecord(t *testing.T) {
	small := recording(1 << 20)
	// When half of it is through, the buffers of the connection do not hold the rest.
	large := recording(16 << 20)
	const delimiter = int64(len("\r\n--") + 26 + len("--\r\n"))
	for _, p := range parsers {
		t.Run(p.name, func(t *testing.T) {
			s := serviceOf(t, p)
			for name, c := range map[string]struct {
				cut      func(length int64) int64
				data     []byte
				requests int64
			}{
				"at 10 %":              {func(length int64) int64 { return length / 10 }, large, 2},
				"at 50 %":              {func(length int64) int64 { return length / 2 }, large, 2},
				"before the delimiter": {func(length int64) int64 { return length - delimiter }, small, 1},
				"inside the delimiter": {func(length int64) int64 { return length - int64(p.whole[0]) }, small, 1},
			} {
				before := len(s.all(t, p))
				proxy := newCuttingProxy(t, s, p, c.cut)
				client, err := aicontent.NewClient("http://"+proxy.address+"/"+p.name, "test-key",
					aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}))
				require.NoError(t, err)
				_, err = client.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
					Name: "Interview", File: aicontent.FileFromBytes("interview.wav", c.data),
				})
				client.CloseIdleConnections()
				made := s.all(t, p)[before:]
				outcome := aicontent.OutcomeOf(err)
				sent := proxy.requests.Load()
				t.Logf("%s: %d requests, %d records, outcome %v, %v", name, sent, len(made), outcome, err)
				for _, r := range made {
					assert.Equal(t, sum(c.data), r.Sum, name)
				}
				assert.Equal(t, c.requests, sent, name)
				if c.requests > 1 {
					require.NoError(t, err, name)
					assert.Len(t, made, 1, name)
					continue
				}
				// The whole form was handed to the network: a parser may have taken it for whole.
				assert.Equal(t, aicontent.OutcomeUnknown, outcome, name)
				assert.LessOrEqual(t, len(made), 1, name)
			}
		})
	}
}
