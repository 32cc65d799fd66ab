package fakes

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// RoundTripper is a transport in a function.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Limiter is a rate limiter in a function.
type Limiter func(context.Context) error

// Wait calls the function.
func (f Limiter) Wait(ctx context.Context) error { return f(ctx) }

// OK returns a transport that responds with status 200 and a body.
func OK(body string) func(*http.Request) (*http.Response, error) { return Respond(http.StatusOK, body) }

// Respond returns a transport that sends the same response to every request. The header alternates names and values.
func Respond(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		resp := &http.Response{
			StatusCode:    status,
			Header:        http.Header{},
			Body:          io.NopCloser(strings.NewReader(body)),
			ContentLength: int64(len(body)),
		}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

// Lose is a transport that loses every response.
func Lose(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection reset by peer")
}

// Hang is a transport that takes the request's body and waits until the request's context ends.
func Hang(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// HeaderLimit is the largest header, in bytes, of a response to [Piped].
const HeaderLimit = 1 << 20

// Piped returns a transport whose connections are pipes to serve, for tests in a synctest bubble. At the end of the
// test it waits for serve.
func Piped(t *testing.T, serve func(nc net.Conn)) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: PipeDialer(t, serve), MaxResponseHeaderBytes: HeaderLimit}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// PipeDialer returns the DialContext function of [Piped].
func PipeDialer(t *testing.T, serve func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		group.Go(func() {
			defer there.Close()
			serve(there)
		})
		return here, nil
	}
}

// Responses are the responses of a [Script].
type Responses = []func(*http.Request) (*http.Response, error)

// Script is a transport that sends one response after the other, and the last one for all further requests. It records
// its requests.
type Script struct {
	Responses Responses

	Asked  []time.Time // times of the requests
	Sent   []*http.Request
	Bodies []string
}

// RoundTrip records the request and returns the next response.
func (s *Script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.Asked = append(s.Asked, time.Now())
	s.Sent = append(s.Sent, r)
	body := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		body = string(text)
	}
	s.Bodies = append(s.Bodies, body)
	next := s.Responses[min(len(s.Asked), len(s.Responses))-1]
	resp, err := next(r)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// Pauses returns the pauses between the requests.
func (s *Script) Pauses() []time.Duration {
	var list []time.Duration
	for i := 1; i < len(s.Asked); i++ {
		list = append(list, s.Asked[i].Sub(s.Asked[i-1]))
	}
	return list
}
