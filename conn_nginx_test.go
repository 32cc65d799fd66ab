package aicontent

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nginx is the proxy that most deployments stand behind.
type nginx struct {
	url    string
	client *http.Client // trusts its certificate, and speaks HTTP/2
}

// serveNginx starts nginx in front of the handler, with files of up to 1 MiB, or skips the test.
func serveNginx(t *testing.T, secure bool, handler http.Handler) *nginx {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is missing (Debian: nginx-light): ", err)
	}
	behind := httptest.NewServer(handler)
	t.Cleanup(behind.Close)
	certified := httptest.NewUnstartedServer(http.NotFoundHandler())
	certified.EnableHTTP2 = true
	certified.StartTLS()
	certified.Close()

	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	certificate := certified.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	cert := write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})))
	private := write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))

	// nginx takes over a socket that is bound already, so that its port is free and nobody waits for it.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	listener.Close()
	scheme, options, user := "http", "", ""
	if os.Geteuid() == 0 {
		// Its workers would else be nobody, who may not write here.
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
		location / { proxy_pass %[6]s; proxy_http_version 1.1; }
		location /denied/ { client_max_body_size 0; return 401 '{"message":"Unauthenticated."}'; default_type application/json; }
	}
}`, dir, listener.Addr(), options, cert, private, behind.URL, user))
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
	return &nginx{url: scheme + "://" + listener.Addr().String(), client: certified.Client()}
}

// own is a client with the SDK's transport, others is one with net/http's.
func (n *nginx) own(t *testing.T) *Client {
	c, err := NewClient(n.url+"/tenant", "test-key")
	require.NoError(t, err)
	transport := c.storing().Transport.(*http.Transport)
	if transport.TLSClientConfig == nil {
		transport.TLSClientConfig = &tls.Config{}
	}
	transport.TLSClientConfig.RootCAs = n.client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// nginx refuses what is larger than client_max_body_size, and what its own rules forbid, before it has read it.
func TestNginxRefusesEarly(t *testing.T) {
	path := sparse(t, 64<<20)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			n := serveNginx(t, secure, http.NotFoundHandler())
			c := n.own(t)
			others, err := NewClient(n.url+"/tenant", "test-key", WithHTTPClient(n.client))
			require.NoError(t, err)
			denied, err := NewClient(n.url+"/denied", "test-key", WithHTTPClient(&http.Client{Transport: c.storing().Transport}))
			require.NoError(t, err)
			clients := map[string]*Client{"own": c, "denied": denied}
			if secure {
				clients["HTTP/2"] = others
			}
			for name, c := range clients {
				for kind, file := range map[string]func() File{
					"exact": func() File { return FileFromPath(path) },
					"chunked": func() File {
						f, err := os.Open(path)
						require.NoError(t, err)
						t.Cleanup(func() { f.Close() })
						return FileFromReader("a.wav", onlyReader{f})
					},
				} {
					for i := range 20 {
						err := storeFile(t.Context(), c, file())
						if name == "denied" {
							require.ErrorIs(t, err, ErrUnauthorized, "%s, %s, time %d", name, kind, i)
						} else {
							require.ErrorIs(t, err, ErrTooLarge, "%s, %s, time %d", name, kind, i)
						}
						require.Equal(t, OutcomeRejected, OutcomeOf(err))
					}
				}
			}
		})
	}
}

// What nginx lets through arrives whole, whether its length was known or not.
func TestNginxPassesUploadsOn(t *testing.T) {
	data := recording(1 << 20)
	for _, secure := range []bool{false, true} {
		var in intake
		c := serveNginx(t, secure, &in).own(t)
		for kind, file := range map[string]File{"exact": FileFromBytes("a.wav", data), "chunked": FileFromReader("a.wav", onlyReader{bytes.NewReader(data)})} {
			require.NoError(t, storeFile(t.Context(), c, file), kind)
			assert.Equal(t, sum(data), in.last(t).sum, kind)
			require.NoError(t, storeFile(t.Context(), c, FileFromBytes("a.wav", data), WithHeader("Expect", "100-continue")))
			assert.Equal(t, sum(data), in.last(t).sum, kind)
		}
	}
}
