package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// slow is a service that takes its time for create requests, and goes on when the client has gone, as many do.
type slow struct {
	address string
	kit     *aicontenttest.Server
	server  *http.Server
}

func startSlow(store time.Duration) (*slow, error) {
	kit, err := aicontenttest.Start()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		kit.Close()
		return nil, err
	}
	target, _ := url.Parse(kit.URL)
	forward := httputil.NewSingleHostReverseProxy(target)
	quiet := log.New(io.Discard, "", 0)
	forward.ErrorLog = quiet
	s := &slow{address: listener.Addr().String(), kit: kit}
	s.server = &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
			defer cancel()
			r = r.WithContext(ctx)
			r.Body = io.NopCloser(bytes.NewReader(body))
			time.Sleep(store)
		}
		forward.ServeHTTP(w, r)
	})}
	go s.server.Serve(listener)
	return s, nil
}

// drain waits for what the service still works on.
func (s *slow) drain(ctx context.Context) { _ = s.server.Shutdown(ctx) }

func (s *slow) close() {
	s.server.Close()
	s.kit.Close()
}

// count returns the create requests that came for a job, and the records that they made.
func (s *slow) count(j job) (posts, records int) {
	made := map[int]bool{}
	for _, r := range s.kit.Records() {
		made[r.Request] = true
	}
	for _, r := range s.kit.Requests() {
		if r.Operation == j.op && r.Form.Get("name") == j.name {
			posts++
			if made[r.Number] {
				records++
			}
		}
	}
	return posts, records
}
