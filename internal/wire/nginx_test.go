package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// serveNginx starts nginx in front of the handler, or skips the test: with files of up to 1 MiB, and dropping clients
// without a response when the handler is slow.
func serveNginx(t *testing.T, secure bool, handler http.HandlerFunc) (url string, base *http.Transport) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is missing (Debian: nginx-light): ", err)
	}
	upstream := httptest.NewServer(handler)
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	pair, roots := fakes.LoopbackCertificate()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	cert := write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	key := write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))

	// nginx takes over a socket that is bound already, so that its port is free and connections wait for it.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	listener.Close()
	scheme, options, user := "http", "", ""
	if os.Geteuid() == 0 {
		// Its workers would be another user, who may not write here.
		user = "user root;"
	}
	if secure {
		scheme, options = "https", "ssl http2"
	}
	config := write("nginx.conf", fmt.Sprintf(`
daemon off; worker_processes 1; %[7]s pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	ssl_certificate %[4]s; ssl_certificate_key %[5]s;
	server {
		listen %[2]s %[3]s;
		client_max_body_size 1100k;
		location / { proxy_pass %[6]s; proxy_http_version 1.1; proxy_read_timeout 100ms; error_page 504 /drop; }
		location /drop { internal; return 444; }
		location /denied/ { client_max_body_size 0; return 401 denied; }
	}
}`, dir, listener.Addr(), options, cert, key, upstream.URL, user))
	command := exec.Command(program, "-p", dir, "-c", config, "-e", filepath.Join(dir, "error.log"))
	command.Env = append(os.Environ(), "NGINX=3;")
	command.ExtraFiles = []*os.File{socket}
	require.NoError(t, command.Start())
	socket.Close()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			t.Logf("nginx: %s", log[max(len(log)-2000, 0):])
		}
	})
	base = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	return scheme + "://" + listener.Addr().String(), base
}

// An nginx that gives up on a slow service drops its client. Over HTTP/2 net/http sends the request again, without
// end, and each of them may make a record. With any transport of the caller's, a POST arrives once.
func TestNginxThatDropsItsClientGetsAPOSTOnce(t *testing.T) {
	var posts atomic.Int64
	over := make(chan struct{})
	url, base := serveNginx(t, true, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		posts.Add(1)
		<-over
	})
	defer close(over)
	defaultTransport(t, base)
	dialing := base.Clone()
	dialing.DialContext = new(net.Dialer).DialContext
	for name, caller := range map[string]http.RoundTripper{
		"the default":     nil,
		"the caller's":    base.Clone(),
		"of another kind": otherKind{base.Clone()},
		"that dials":      dialing,
		"that dials for TLS": &http.Transport{
			DialTLSContext: tlsDialer(&tls.Config{RootCAs: base.TLSClientConfig.RootCAs}),
		},
	} {
		posts.Store(0)
		limits := Limits{Upload: true, Wait: 20 * time.Second}
		body := strings.NewReader("name=n") // with a GetBody, as middleware sets it that makes requests anew
		got := send(t.Context(), opened(t, caller), limits, http.MethodPost, url, body)
		require.Error(t, got.err, name)
		assert.True(t, got.wrote, name)
		assert.EqualValues(t, 1, posts.Load(), name)
	}
}

// nginx refuses a body that is larger than client_max_body_size, or that its rules forbid, before it has read it.
func TestEarlyRefusalOfNginxReachesTheCaller(t *testing.T) {
	for _, secure := range []bool{false, true} {
		url, base := serveNginx(t, secure, http.NotFound)
		transport := opened(t, base)
		for path, status := range map[string]int{"/tenant": 413, "/denied/tenant": 401} {
			for range 10 {
				got := post(t, transport, url+path, zeros(64<<20))
				require.NoError(t, got.err)
				require.Equal(t, status, got.status)
			}
		}
	}
}
