package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

const uploads, uploadSize = 20, 32 << 20

// refuse makes uploads through a proxy to a service that refuses them in mid-upload.
func refuse(ctx context.Context, p proxy) ([]row, error) {
	pair, hc, err := certificate()
	if err != nil {
		return nil, err
	}
	service, err := aicontenttest.Start()
	if err != nil {
		return nil, err
	}
	defer service.Close()
	const body = `{"message":"No."}`
	early := aicontenttest.TakeOver(func(nc net.Conn) {
		_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			p.refuses, http.StatusText(p.refuses), len(body), body)
		// It reads on, as nginx does.
		_, _ = io.Copy(io.Discard, nc)
	})
	early.Place, early.Bytes = aicontenttest.MidUpload, 256<<10
	service.FaultN(uploads, early)

	p.files["pair.pem"] = pair
	r, err := p.start(ctx, strings.TrimPrefix(service.URL, "http://"))
	if err != nil {
		return nil, err
	}
	defer r.stop()
	c, err := aicontent.NewClient("https://"+r.address, service.APIKey, aicontent.WithHTTPClient(hc))
	if err != nil {
		return nil, err
	}
	defer c.CloseIdleConnections()
	outcomes, data := map[string]int{}, make([]byte, uploadSize)
	for range uploads {
		_, err := job{op: aicontent.TranscriptionsStore, name: "interview"}.store(ctx, c, nil, data)
		outcomes[outcome(err)]++
	}
	posts := len(service.Requests())
	return []row{{
		proxy: r.title, call: fmt.Sprintf("%d uploads of 32 MiB, refused with %d", uploads, p.refuses),
		posts: posts, records: len(service.Records()),
		outcome: strings.Trim(fmt.Sprint(outcomes), "map[]"),
		right:   posts == uploads && outcomes[fmt.Sprint(p.refuses, " rejected")] == uploads,
	}}, ctx.Err()
}

// certificate returns a key and its certificate for loopback, as PEM, and a client that trusts it.
func certificate() (pair string, client *http.Client, err error) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	key, err := x509.MarshalPKCS8PrivateKey(srv.TLS.Certificates[0].PrivateKey)
	if err != nil {
		return "", nil, err
	}
	pair = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	return pair, srv.Client(), nil
}
