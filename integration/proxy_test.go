package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// net/http reads the proxy variables once in a process: so each case is a process of its own, this test binary started
// with childVariable set. It trusts the certificate in the file that rootsVariable names.
const (
	childVariable = "AICONTENT_TEST_CHILD"
	rootsVariable = "AICONTENT_TEST_ROOTS"
)

// childResult is what a child has to tell.
type childResult struct {
	Errors   map[string]string // of the operations that failed
	Outcomes map[string]string
}

func init() {
	child := os.Getenv(childVariable)
	if child == "" {
		return
	}
	trustRoots()
	opts := []aicontent.Option{aicontent.WithInsecureHTTP(), oneAttempt}
	if child == "client" {
		opts = append(opts, aicontent.WithHTTPClient(&http.Client{}))
	}
	c, err := aicontent.NewClientFromEnv(opts...)
	if err != nil {
		panic(err)
	}
	result := childResult{map[string]string{}, map[string]string{}}
	for op, call := range allTen(c) {
		err := call(context.Background())
		if err != nil {
			result.Errors[op] = err.Error()
		}
		result.Outcomes[op] = aicontent.OutcomeOf(err).String()
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
	os.Exit(0)
}

// trustRoots has the transport that clients begin with trust a certificate. SSL_CERT_FILE would not do on every system.
func trustRoots() {
	text, err := os.ReadFile(os.Getenv(rootsVariable))
	if err != nil {
		return
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
}

// childCalls runs this binary as a program with these variables and no others.
func childCalls(t *testing.T, kind string, env ...string) (result childResult) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append([]string{childVariable + "=" + kind, "AICONTENT_API_KEY=" + fakes.Key}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &result), stdout.String())
	assert.NotContains(t, stdout.String()+stderr.String(), fakes.Key)
	return result
}

// secure is a TLS service for example.com, and the file with the certificate to trust.
func secure(t *testing.T, keys *sync.Map) (srv *httptest.Server, roots string) {
	t.Helper()
	srv = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys.Store(r.Method+" "+r.URL.Path, r.Header.Get("Authorization"))
		fakes.RespondToAll(w, r)
	}))
	t.Cleanup(srv.Close)
	roots = filepath.Join(t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	require.NoError(t, os.WriteFile(roots, text, 0o600))
	return srv, roots
}

// A company's proxy carries the calls, and never gets to see the key.
func TestHTTPSProxyCarriesTheCallsAndSeesNoKey(t *testing.T) {
	t.Parallel()
	var keys sync.Map
	srv, roots := secure(t, &keys)
	for _, kind := range []string{"default", "client"} {
		keys.Clear()
		p := fakes.StartTunnel(t, srv.Listener.Addr().String())
		result := childCalls(t, kind, "AICONTENT_BASE_URL=https://example.com/tenant", rootsVariable+"="+roots,
			"HTTPS_PROXY=http://agent:pass@"+p.Addr().String())
		assert.Empty(t, result.Errors)
		count := 0
		keys.Range(func(request, key any) bool {
			count++
			assert.Equal(t, "Bearer "+fakes.Key, key, request)
			return true
		})
		assert.Equal(t, 10, count, "the service was reached")
		credentials := base64.StdEncoding.EncodeToString([]byte("agent:pass"))
		for _, line := range p.Requests() {
			assert.Equal(t, "CONNECT example.com:443 Basic "+credentials, line)
		}
		assert.NotEmpty(t, p.Requests())
		assert.NotContains(t, p.Seen(), fakes.Key)
		assert.NotContains(t, p.Seen(), "Bearer")
	}
}

// A proxy that refuses has let nothing through: a create request may be sent again.
func TestHTTPSProxyThatRefusesLetsNothingThrough(t *testing.T) {
	t.Parallel()
	p := fakes.StartTunnel(t, "")
	result := childCalls(t, "default",
		"AICONTENT_BASE_URL=https://example.com/tenant",
		"HTTPS_PROXY=http://agent:pass@"+p.Addr().String())
	assert.Len(t, result.Errors, 12)
	for op, text := range result.Errors {
		assert.Contains(t, text, "Proxy Authentication Required", op)
		assert.NotContains(t, text, "pass@", op)
		assert.Equal(t, "not executed", result.Outcomes[op], op)
	}
	assert.NotContains(t, p.Seen(), fakes.Key)
}

// A transport's own proxy setting counts as the environment's does.
func TestProxyOfTheCallersTransportSeesNoKeyUnlessAllowed(t *testing.T) {
	t.Parallel()
	baseURL, requests := fakes.Counted(t, fakes.RespondToAll)
	p := fakes.StartTunnel(t, "")
	proxied := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr().String()})}
	defer proxied.CloseIdleConnections()
	c := newClient(t, baseURL, fakes.Key, over(proxied))
	for op, call := range allTen(c) {
		err := call(t.Context())
		assert.ErrorContains(t, err, "a proxy would see the API key", op)
		assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), op)
	}
	assert.Zero(t, requests.Load())
	assert.Empty(t, p.Requests())

	c = newClient(t, baseURL, fakes.Key, over(proxied), aicontent.WithInsecureHTTP())
	_, err := c.Images.Show(t.Context(), "7")
	require.Error(t, err, "the proxy of this test has no record")
	assert.NotEmpty(t, p.Requests(), "the caller has allowed it")
}
