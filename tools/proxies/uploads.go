package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aicontent/aicontent-go"
)

const (
	uploads    = 20
	uploadSize = 32 << 20
)

// refuse makes uploads through a proxy to a service that refuses them in mid-upload.
func refuse(ctx context.Context, p proxy) (rows []row, err error) {
	pair, roots, err := certificate()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: roots}
	for _, code := range []int{http.StatusUnauthorized, http.StatusRequestEntityTooLarge} {
		r, err := refuseWith(ctx, p, code, pair, &http.Client{Transport: &http.Transport{TLSClientConfig: config}})
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func refuseWith(ctx context.Context, p proxy, code int, pair string, hc *http.Client) (row, error) {
	service, err := startRefusing(code)
	if err != nil {
		return row{}, err
	}
	defer service.Close()
	r, err := p.start(ctx, service.Addr().String(), map[string]string{"pair.pem": pair})
	if err != nil {
		return row{}, err
	}
	defer r.stop()
	posts := 0
	count := func(context.Context, aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		posts++
		return nil, nil
	}
	c, err := aicontent.NewClient("https://"+r.address, "test-key",
		aicontent.WithHTTPClient(hc), aicontent.WithAttemptHook(count))
	if err != nil {
		return row{}, err
	}
	defer c.CloseIdleConnections()
	outcomes, data := map[string]int{}, make([]byte, uploadSize)
	for range uploads {
		_, err := job{op: aicontent.TranscriptionsStore, name: "interview"}.store(ctx, c, nil, data)
		outcomes[outcome(err)]++
	}
	return row{
		proxy: r.title, call: fmt.Sprintf("%d uploads of 32 MiB, refused with %d", uploads, code),
		posts: posts, records: -1,
		outcome: strings.Trim(fmt.Sprint(outcomes), "map[]"),
		right:   posts == uploads && outcomes[fmt.Sprint(code, " rejected")] == uploads,
	}, ctx.Err()
}

// startRefusing starts a service that refuses each upload when it has read some of it. Then it reads on, as nginx does,
// unless the client has said that it will not use the connection again.
func startRefusing(code int) (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			go respondEarly(nc, code)
		}
	}()
	return listener, nil
}

func respondEarly(nc net.Conn, code int) {
	defer nc.Close()
	req, err := http.ReadRequest(bufio.NewReader(nc))
	if err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, req.Body, 256<<10)
	const body = `{"message":"No."}`
	_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		code, http.StatusText(code), len(body), body)
	if !req.Close {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// certificate returns a key and its certificate for loopback, as PEM, and the pool that trusts it.
func certificate() (pair string, roots *x509.CertPool, err error) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	key, err := x509.MarshalPKCS8PrivateKey(srv.TLS.Certificates[0].PrivateKey)
	if err != nil {
		return "", nil, err
	}
	var text bytes.Buffer
	_ = pem.Encode(&text, &pem.Block{Type: "PRIVATE KEY", Bytes: key})
	_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	roots = x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return text.String(), roots, nil
}
