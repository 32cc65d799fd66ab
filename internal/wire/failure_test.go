package wire

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveFrames is an HTTP/2 server made of bare frames, as no library's refuses a stream on demand. do handles each
// complete request.
func serveFrames(nc net.Conn, do func(c *frames, stream uint32)) {
	const headers, data, settings, endStream, ack = 1, 0, 4, 1, 1
	// A pipe has no buffer, and a client that writes does not read.
	c := &frames{make(chan []byte, 100)}
	defer close(c.out)
	go func() {
		for frame := range c.out {
			_, _ = nc.Write(frame)
		}
	}()
	r := bufio.NewReader(nc)
	if _, err := io.CopyN(io.Discard, r, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	c.frame(settings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, r, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return
		}
		kind, flags := head[3], head[4]
		switch {
		case kind == settings && flags&ack == 0:
			c.frame(settings, ack, 0, nil)
		case (kind == headers || kind == data) && flags&endStream != 0:
			do(c, binary.BigEndian.Uint32(head[5:]))
		}
	}
}

type frames struct{ out chan []byte }

func (c *frames) frame(kind, flags byte, stream uint32, payload []byte) {
	head := binary.BigEndian.AppendUint32([]byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}, stream)
	c.out <- append(head, payload...)
}

func (c *frames) reset(stream, code uint32) {
	c.frame(3, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

// A server over its limit says that it did not look at a stream. That is known by the error's type alone: a text that
// mentions it may speak of what net/http has repeated.
func TestRefused(t *testing.T) {
	pair, roots := certificate()
	for name, tt := range map[string]struct {
		code    uint32
		header  bool // is sent before the reset
		body    io.Reader
		want    bool
		repeats bool
	}{
		"refused":                {code: 7, header: true, want: true},
		"refused, body was read": {code: 7, body: io.LimitReader(zero{}, 10)},
		"refused without end":    {code: 7, repeats: true},
		"internal error":         {code: 2},
		// How often net/http repeats this one depends on its version.
		"protocol error": {code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
				requests := 0
				transport := piped(t, base, func(nc net.Conn) {
					secure := tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
					serveFrames(secure, func(c *frames, stream uint32) {
						requests++
						if tt.header {
							// 200 is the eighth entry of HPACK's static table.
							c.frame(1, 4, stream, []byte{0x88})
						}
						c.reset(stream, tt.code)
					})
				})
				got := send(t.Context(), transport, Limits{}, http.MethodPatch, "https://example.com/tenant", tt.body)
				require.Error(t, got.err)
				assert.Equal(t, tt.want, Refused(got.err), "%v", got.err)
				assert.Equal(t, tt.want, Refused(fmt.Errorf("wrapped: %w", got.err)))
				assert.True(t, got.wrote)
				if tt.repeats {
					assert.Equal(t, errRepeats, got.late)
					assert.EqualError(t, got.late, "the request was repeated 30 times over HTTP/2, as the server reset it each time")
					assert.Equal(t, 30, requests)
				}
			})
		})
	}
	assert.False(t, Refused(errors.New("stream error: stream ID 1; REFUSED_STREAM")))
	assert.False(t, Refused(nil))
}

// signed is a certificate for these names and this time, signed by itself.
func signed(t *testing.T, notAfter time.Time, names ...string) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: notAfter.Add(-1000 * time.Hour), NotAfter: notAfter, DNSNames: names,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// Whoever answers in the server's place gets no byte of a request.
func TestUntrusted(t *testing.T) {
	good, trusted := signed(t, time.Now().Add(100*time.Hour))
	expired, expiredRoots := signed(t, time.Now().Add(-time.Hour))
	other, otherRoots := signed(t, time.Now().Add(100*time.Hour), "other.example")
	for name, tt := range map[string]struct {
		certificate tls.Certificate
		roots       *x509.CertPool
		version     uint16
		untrusted   bool
	}{
		"unknown authority": {good, x509.NewCertPool(), 0, true},
		"expired":           {expired, expiredRoots, 0, true},
		"another name":      {other, otherRoots, 0, true},
		"too old a version": {good, trusted, tls.VersionTLS11, false},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
				Certificates: []tls.Certificate{tt.certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tt.version})
			require.NoError(t, err)
			requests := make(chan int64, 2)
			go func() {
				for {
					nc, err := listener.Accept()
					if err != nil {
						return
					}
					n, _ := io.Copy(io.Discard, nc)
					nc.Close()
					requests <- n
				}
			}()
			defer listener.Close()
			base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: tt.roots}}
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				got := send(t.Context(), closing(t, New(base, false)), Limits{}, method, "https://"+listener.Addr().String(), nil)
				require.Error(t, got.err)
				assert.False(t, got.wrote)
				assert.Equal(t, tt.untrusted, Untrusted(got.err))
				assert.Zero(t, <-requests)
			}
		})
	}
	assert.False(t, Untrusted(io.EOF))
}

// With a RoundTripper that tells of no connection, the error alone says whether there was one.
func TestNeverConnected(t *testing.T) {
	dns := &net.DNSError{Err: "no such host", Name: "content.example.com"}
	for _, err := range []error{
		&net.OpError{Op: "dial", Err: errors.New("refused")}, &net.OpError{Op: "proxyconnect", Err: io.EOF}, dns, fmt.Errorf("wrapped: %w", dns),
		x509.HostnameError{Certificate: &x509.Certificate{}}, x509.UnknownAuthorityError{}, x509.CertificateInvalidError{},
		&tls.CertificateVerificationError{Err: io.EOF}, ErrClearProxy, ErrDialedHTTP2,
	} {
		assert.True(t, NeverConnected(err), "%T", err)
		_, a := Watch(t.Context(), Limits{})
		assert.False(t, a.Wrote(err), "%T", err)
		a.Stop()
	}
	for _, err := range []error{io.EOF, &net.OpError{Op: "read", Err: io.EOF}, &net.OpError{Op: "write", Err: io.EOF}, &TimeoutError{}} {
		assert.False(t, NeverConnected(err), "%v", err)
		_, a := Watch(t.Context(), Limits{})
		assert.True(t, a.Wrote(err), "%v", err)
		a.Stop()
	}
}
