package fakes

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Pages is a transport for lists of images that records its requests.
type Pages struct {
	Respond func(query url.Values) (status int, body string)
	Delay   func(query url.Values) time.Duration // nil means none
	Header  http.Header                          // of every response

	mu             sync.Mutex
	Asked          []string // encoded queries
	InFlight, Most int      // requests in flight now, and the most at once
	Ended          int      // requests ended by their context
}

// RoundTrip waits and responds.
func (p *Pages) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "content.example.com" || r.URL.Path != "/tenant/api/v1/images" {
		return nil, fmt.Errorf("a stranger was asked: %s", r.URL)
	}
	query := r.URL.Query()
	p.count(func() {
		p.Asked = append(p.Asked, query.Encode())
		p.InFlight++
		p.Most = max(p.Most, p.InFlight)
	})
	defer p.count(func() { p.InFlight-- })
	if err := p.wait(r, query); err != nil {
		p.count(func() { p.Ended++ })
		return nil, err
	}
	status, body := p.Respond(query)
	resp, err := Respond(status, body)(r)
	for name, values := range p.Header {
		resp.Header[name] = values
	}
	resp.Header.Set("X-Request-Id", "page "+query.Get("page"))
	resp.Request = r
	return resp, err
}

func (p *Pages) wait(r *http.Request, query url.Values) error {
	if err := r.Context().Err(); err != nil || p.Delay == nil {
		return err
	}
	select {
	case <-time.After(p.Delay(query)):
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (p *Pages) count(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Requests returns the number of requests.
func (p *Pages) Requests() (n int) {
	p.count(func() { n = len(p.Asked) })
	return n
}
