package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
	"github.com/aicontent/aicontent-go/bench/service"
)

// outageCalls is how many calls there are at once in an outage. The retry budget of this SDK allows a hundred requests
// more.
const (
	outageCalls = 3200
	outageMost  = 3300
)

// The outages: what each request meets.
const (
	badGateway  = "502"
	unavailable = "503"
	refused     = "connection refused"
)

var outages = []string{badGateway, unavailable, refused}

func outageWork(outage string) string {
	return fmt.Sprintf("outage of %d calls, %s", outageCalls, outage)
}

// outageResult is how many requests an SDK made of the calls.
type outageResult struct {
	Requests int64
	Seconds  float64 // until the last call returned
}

// outageJob calls show many times at once while the service is down, with one client. All calls must fail.
func outageJob(ctx context.Context, j job) (any, error) {
	sdk, err := clients.Named(j.SDK)
	if err != nil {
		return nil, err
	}
	var sent atomic.Int64
	settings := clients.Settings{Retries: j.Retries}
	if j.Outage == refused {
		// Nothing listens on port 1. A request that is refused is a dial, which only the client sees.
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			sent.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}
		settings.URL, settings.Transport = "http://127.0.0.1:1", &http.Transport{DialContext: dial}
	} else {
		status := map[string]int{badGateway: 502, unavailable: 503}[j.Outage]
		server := httptest.NewServer(service.Down(sdk.Wire, status, &sent))
		defer server.Close()
		settings.URL = server.URL
	}
	c, err := sdk.New(settings)
	if err != nil {
		return nil, err
	}
	var succeeded atomic.Int64
	var calls sync.WaitGroup
	start := time.Now()
	for range j.Times {
		calls.Go(func() {
			if c.Show(ctx) == nil {
				succeeded.Add(1)
			}
		})
	}
	calls.Wait()
	if succeeded.Load() > 0 {
		return nil, errors.New("a call succeeded in the outage")
	}
	return outageResult{sent.Load(), time.Since(start).Seconds()}, nil
}

// outage runs a few SDKs at once, as they mostly wait, one outage after the other.
func (r *runner) outage(ctx context.Context) error {
	for _, outage := range r.plan.Outages {
		j := job{Kind: "outage", Outage: outage, Times: outageCalls}
		cells, err := eachWithRetries[outageResult](ctx, r.sdks, 4, j)
		if err != nil {
			return err
		}
		for _, c := range cells {
			count, took := requests, seconds
			if c.retries {
				count, took = requestsDocumented, secondsDocumented
			}
			r.samples.add(outageWork(outage), c.sdk, 0, count, float64(c.result.Requests))
			r.samples.add(outageWork(outage), c.sdk, 0, took, c.result.Seconds)
		}
	}
	return nil
}
