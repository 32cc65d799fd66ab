package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/bench/service"
)

// outageResult is how many requests an SDK made of the calls.
type outageResult struct {
	Requests int64
	Seconds  float64 // until the last call returned
}

// outageJob calls show many times at once while a gateway answers 502, with one client. All calls must fail.
func outageJob(ctx context.Context, j job) (any, error) {
	var sent atomic.Int64
	server := httptest.NewServer(service.Down(&sent))
	defer server.Close()
	j.URL = server.URL
	c, err := j.client()
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

func outageWork(calls int) string { return fmt.Sprintf("outage of %d calls", calls) }

// outage runs a few SDKs at once, as they mostly wait.
func (r *runner) outage(ctx context.Context) error {
	j := job{Kind: "outage", Times: r.plan.OutageCalls}
	return eachVariant(ctx, variants(r.sdks, false), 4, j, func(v variant, result outageResult) {
		work := outageWork(r.plan.OutageCalls) + ", " + v.setting()
		r.samples.add(work, v.name, 0, requests, float64(result.Requests))
		r.samples.add(work, v.name, 0, seconds, result.Seconds)
	})
}
