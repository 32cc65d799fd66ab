package recipes

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aicontent/aicontent-go"
)

func clientWithCA(baseURL, apiKey, caFile string) (*aicontent.Client, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("there is no certificate in %s", caFile)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	return aicontent.NewClient(baseURL, apiKey, aicontent.WithHTTPClient(&http.Client{Transport: transport}))
}

func clientWithCertificate(baseURL, apiKey, certFile, keyFile string, roots *x509.CertPool) (*aicontent.Client, error) {
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots}
	return aicontent.NewClient(baseURL, apiKey, aicontent.WithHTTPClient(&http.Client{Transport: transport}))
}

func throughProxy(address, user, password string) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address, User: url.UserPassword(user, password)})
	return &http.Client{Transport: transport}
}

func fromAddress(ip string) *http.Client {
	dialer := &net.Dialer{
		Timeout:   10 * time.Second,
		LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)},
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = dialer.DialContext
	return &http.Client{Transport: transport}
}
