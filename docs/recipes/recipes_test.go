package recipes

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

func write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

func TestClientWithCATrustsItsAuthority(t *testing.T) {
	srv := aicontenttest.NewServer(t, aicontenttest.TLS())
	client, err := clientWithCA(srv.URL, srv.APIKey, write(t, "ca.pem", "CERTIFICATE", srv.Certificate().Raw))
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)

	_, err = clientWithCA(srv.URL, srv.APIKey, write(t, "ca.pem", "CERTIFICATE", nil))
	require.ErrorContains(t, err, "there is no certificate in ")
	other, err := aicontent.NewClient(srv.URL, srv.APIKey)
	require.NoError(t, err)
	_, err = other.Images.List(t.Context(), aicontent.ImageListParams{})
	assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), "without the CA: %v", err)
}

func TestClientWithCertificateShowsItToTheService(t *testing.T) {
	certificate, _ := fakes.Certificate(t, time.Now().Add(time.Hour), "gallery")
	private, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	certFile := write(t, "cert.pem", "CERTIFICATE", certificate.Certificate[0])
	keyFile := write(t, "key.pem", "PRIVATE KEY", private)

	var names []string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names = append(names, r.TLS.PeerCertificates[0].DNSNames...)
		fmt.Fprint(w, `{"data":{"id":7,"name":"Lighthouse"}}`)
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	client, err := clientWithCertificate(srv.URL, "test-key", certFile, keyFile, roots)
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	_, err = client.Images.Show(t.Context(), "7")
	require.NoError(t, err)
	_, err = client.Images.Store(t.Context(), image)
	require.NoError(t, err)
	assert.Equal(t, []string{"gallery", "gallery"}, names)
}

func TestThroughProxyLogsInToTheProxy(t *testing.T) {
	srv := aicontenttest.NewServer(t, aicontenttest.TLS())
	u, err := url.Parse(srv.URL)
	require.NoError(t, err)
	proxy := fakes.StartTunnel(t, u.Host)
	hc := throughProxy(proxy.Addr().String(), "gallery", "secret")
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	hc.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: u.Hostname()}
	client, err := aicontent.NewClient("https://content.example.com", srv.APIKey, aicontent.WithHTTPClient(hc))
	require.NoError(t, err)
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	client.CloseIdleConnections()
	credentials := base64.StdEncoding.EncodeToString([]byte("gallery:secret"))
	assert.Equal(t, []string{"CONNECT content.example.com:443 Basic " + credentials}, proxy.Requests())
}

func TestFromAddressDialsFromIt(t *testing.T) {
	addresses := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addresses <- r.RemoteAddr
		fmt.Fprint(w, `{"data":{"id":7,"name":"Lighthouse"}}`)
	}))
	defer srv.Close()
	client, err := aicontent.NewClient(srv.URL, "test-key", aicontent.WithHTTPClient(fromAddress("127.0.0.1")))
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	_, err = client.Images.Show(t.Context(), "7")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(<-addresses, "127.0.0.1:"))
}

var (
	image = aicontent.ImageStoreParams{
		Name: "Lighthouse", Description: "A lighthouse", Resolution: aicontent.Resolution512x512,
	}
	oneAttempt = aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})
)

// inMemory calls test in a bubble with a server.
func inMemory(t *testing.T, test func(*testing.T, *aicontenttest.Server), opts ...aicontenttest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, aicontenttest.NewServer(t, append(opts, aicontenttest.InMemoryNetwork())...))
	})
}

func TestSigningSignsAndDatesARequest(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	_, err := srv.Client(signing([]byte("secret"))).Images.Store(t.Context(), image)
	require.NoError(t, err)
	header := srv.Requests()[0].Header
	assert.Len(t, header.Get("X-Signature"), 64)
	_, err = http.ParseTime(header.Get("Date"))
	assert.NoError(t, err)
}

func TestCachingSparesRequestsAndKeepsNothingStale(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		srv.AddImage(aicontent.Image{ID: "7", Name: "Lighthouse"})
		client := srv.Client(caching(time.Minute))
		show := func() *aicontent.Image {
			image, err := client.Images.Show(t.Context(), "7")
			require.NoError(t, err)
			return image
		}
		srv.Fault(aicontenttest.HTMLPage(http.StatusOK))
		_, err := client.Images.Show(t.Context(), "7")
		require.Error(t, err, "a proxy's page")
		show()
		require.Equal(t, "Lighthouse", show().Name)
		require.Len(t, srv.Requests(), 2)
		_, err = client.Images.Update(t.Context(), "7", aicontent.ImageUpdateParams{Name: new("Beacon")})
		require.NoError(t, err)
		assert.Equal(t, "Beacon", show().Name)
		show()
		require.Len(t, srv.Requests(), 4)
		time.Sleep(2 * time.Minute)
		show()
		assert.Len(t, srv.Requests(), 5)

		// What looks for a record must see what is there.
		_, err = srv.Client().Images.Update(t.Context(), "7", aicontent.ImageUpdateParams{Name: new("Pier")})
		require.NoError(t, err, "by another program")
		renamed, err := client.Images.FindByName(t.Context(), "Pier")
		require.NoError(t, err)
		require.Equal(t, "Pier", renamed.Name)
	})
}

func TestClientsWithLimitsPatienceAndLogsWork(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	client, err := limitedClient(srv.URL, srv.APIKey)
	require.NoError(t, err)
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	names, err := patient(srv.URL, srv.APIKey)
	require.NoError(t, err)
	_, _, err = names.Images.Store(t.Context(), image)
	require.NoError(t, err)
	client, err = loggingClient(srv.URL, srv.APIKey)
	require.NoError(t, err)
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
}

func TestRotatingReadsTheKeyAgainAfterA401(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("the-old-key"), 0o600))
	rotate := aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Status == http.StatusUnauthorized {
			assert.NoError(t, os.WriteFile(path, []byte("the-new-key\n"), 0o600))
		}
	})
	srv := aicontenttest.NewServer(t, aicontenttest.APIKey("the-new-key"), rotate)
	client, err := rotating(srv.URL, path)
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	_, err = client.Images.Store(t.Context(), image)
	require.NoError(t, err)
	assert.Len(t, srv.Requests(), 2)
}

func TestRowsKeepTheWholeRecord(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	sent, err := srv.Client().Images.Store(t.Context(), image)
	require.NoError(t, err)
	got, err := fromRow(toRow(sent))
	require.NoError(t, err)
	assert.True(t, got.Equal(*sent))
	assert.JSONEq(t, string(sent.Raw()), string(got.Raw()))
}

// withStudies returns a server with so many images.
func withStudies(t *testing.T, number int) *aicontenttest.Server {
	srv := aicontenttest.NewServer(t)
	for n := range number {
		srv.AddImage(aicontent.Image{Name: fmt.Sprintf("Study no. %d", n+1)})
	}
	return srv
}

func TestExportContinuesWhereAnotherRunStopped(t *testing.T) {
	srv := withStudies(t, 230)
	client := srv.Client(oneAttempt)
	saved := map[aicontent.ID]bool{}
	save := func(images []*aicontent.Image) error {
		for _, image := range images {
			saved[image.ID] = true
		}
		return nil
	}

	full := errors.New("the disk is full")
	at, err := export(t.Context(), client, 1, func([]*aicontent.Image) error { return full })
	require.ErrorIs(t, err, full)
	require.Equal(t, 1, at, "nothing of page 1 was saved")
	third := func(r *aicontenttest.Request) bool { return r.Query.Get("page") == "3" }
	srv.FaultWhen(third, 1, aicontenttest.Status(http.StatusBadGateway, ""))
	at, err = export(t.Context(), client, at, save)
	require.ErrorIs(t, err, aicontent.ErrServer)
	require.Len(t, saved, 200)
	srv.AddImage(aicontent.Image{Name: "a new one"})
	at, err = export(t.Context(), client, at, save)
	require.NoError(t, err)
	assert.Len(t, saved, 231)
	assert.Equal(t, 3, at, "the last page may grow")
}

func TestEverythingCollectsAllPagesInOrder(t *testing.T) {
	srv := withStudies(t, 230)
	all, err := everything(t.Context(), srv.Client())
	require.NoError(t, err)
	require.Len(t, all, 230)
	for n, image := range all {
		require.Equal(t, fmt.Sprintf("Study no. %d", n+1), image.Name)
	}
	plain := aicontenttest.NewServer(t, aicontenttest.SimplePaginator)
	plain.AddImage(aicontent.Image{Name: "Study"})
	all, err = everything(t.Context(), plain.Client())
	require.NoError(t, err)
	assert.Len(t, all, 1, "pages without numbers of the last come one by one")
}
