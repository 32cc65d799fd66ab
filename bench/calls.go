package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
	"github.com/aicontent/aicontent-go/bench/service"
)

// callResult is one SDK's figures of one call in one round.
type callResult struct {
	Work, SDK string
	Round     int
	Cost      cost // of one call
}

// callsJob measures show and list with the stub and over loopback, and create over loopback, all SDKs in one process,
// in rotating order.
func callsJob(ctx context.Context, j job) (any, error) {
	var results []callResult
	for _, via := range []struct {
		name string
		ops  []string
	}{
		{"stub", []string{"show", "list"}}, {"loopback", []string{"show", "list", "create"}},
		{"loopback with TLS", []string{"create"}},
	} {
		made := map[string]clients.Client{}
		for _, sdk := range clients.All() {
			settings := clients.Settings{URL: j.URL}
			switch via.name {
			case "stub":
				settings.Transport = newStub(sdk.Wire)
			case "loopback with TLS":
				transport, err := trusting(j.CA)
				if err != nil {
					return nil, err
				}
				settings.URL, settings.Transport = j.Secure, transport
			}
			c, err := sdk.New(settings)
			if err != nil {
				return nil, err
			}
			made[sdk.Name] = c
		}
		for _, op := range via.ops {
			err := rotate(clients.All(), j.Rounds, func(round int, sdk clients.SDK) error {
				one, err := perCall(j.Time, func() error { return callOnce(ctx, made[sdk.Name], op) })
				results = append(results, callResult{op + ", " + via.name, sdk.Name, round, one})
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

func callOnce(ctx context.Context, c clients.Client, op string) error {
	switch op {
	case "show":
		return c.Show(ctx)
	case "create":
		return c.Create(ctx, "one")
	}
	n, err := c.List(ctx)
	if err == nil && n != service.PageSize {
		err = fmt.Errorf("%d records came in place of %d", n, service.PageSize)
	}
	return err
}

// perCall calls again and again for a while, after a few calls that warm up, and returns the cost of one.
func perCall(d time.Duration, call func() error) (cost, error) {
	for range 3 {
		if err := call(); err != nil {
			return cost{}, err
		}
	}
	runtime.GC()
	before, n := used(), 0
	for end := before.at.Add(d); n == 0 || time.Now().Before(end); n++ {
		if err := call(); err != nil {
			return cost{}, err
		}
	}
	return before.since().each(n), nil
}

func (r *runner) calls(ctx context.Context) error {
	s, err := startServer(ctx, serving{Records: records})
	if err != nil {
		return err
	}
	defer s.stop()
	secure, err := startServer(ctx, serving{Records: records, TLS: true})
	if err != nil {
		return err
	}
	defer secure.stop()
	results, err := do[[]callResult](ctx, job{
		Kind: "calls", URL: s.URL, Secure: secure.URL, CA: secure.CA, Rounds: r.plan.CallRounds, Time: r.plan.CallTime,
	})
	for _, one := range results {
		r.samples.add(one.Work, one.SDK, one.Round, nanoseconds, one.Cost.Seconds*1e9)
		r.samples.add(one.Work, one.SDK, one.Round, cpuNanoseconds, one.Cost.CPU*1e9)
		r.samples.add(one.Work, one.SDK, one.Round, allocated, one.Cost.Bytes)
		r.samples.add(one.Work, one.SDK, one.Round, allocations, one.Cost.Objects)
	}
	return err
}

// manyResult is the number of successful shows, and their cost together.
type manyResult struct {
	Calls int64
	Cost  cost
}

// manyJob calls show from many goroutines for a while, with the default client of the SDK.
func manyJob(ctx context.Context, j job) (any, error) {
	c, err := j.client()
	if err != nil {
		return nil, err
	}
	var calls atomic.Int64
	errs := make([]error, j.Times)
	before := used()
	end := before.at.Add(j.Time)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil && time.Now().Before(end) {
				errs[i] = c.Show(ctx)
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	return manyResult{calls.Load(), before.since()}, errors.Join(errs...)
}

func (r *runner) goroutines(ctx context.Context) error {
	return r.rotate(r.plan.ManyRounds, func(round int, sdk clients.SDK) error {
		s, err := startServer(ctx, serving{Records: records})
		if err != nil {
			return err
		}
		defer s.stop()
		j := job{Kind: "many", SDK: sdk.Name, URL: s.URL, Times: goroutines, Time: r.plan.ManyTime}
		result, err := do[manyResult](ctx, j)
		if err != nil {
			return err
		}
		work := fmt.Sprintf("show from %d goroutines", goroutines)
		r.samples.add(work, sdk.Name, round, rate, float64(result.Calls)/result.Cost.Seconds)
		r.samples.add(work, sdk.Name, round, cpuNanoseconds, result.Cost.CPU/float64(result.Calls)*1e9)
		return nil
	})
}

// walkResult is the cost of a walk over all records.
type walkResult struct {
	Cost cost
	Peak int64
}

func walkJob(ctx context.Context, j job) (any, error) {
	c, err := j.client()
	if err != nil {
		return nil, err
	}
	runtime.GC()
	start, before := startMemory(), used()
	n, err := c.Walk(ctx)
	if err == nil && n != j.Records {
		err = fmt.Errorf("the walk gave %d records of %d", n, j.Records)
	}
	return walkResult{before.since(), readMemory().peak - start.now}, err
}

func (r *runner) walk(ctx context.Context) error {
	return r.rotate(r.plan.WalkRounds, func(round int, sdk clients.SDK) error {
		s, err := startServer(ctx, serving{Records: r.plan.WalkRecords})
		if err != nil {
			return err
		}
		defer s.stop()
		result, err := do[walkResult](ctx, job{Kind: "walk", SDK: sdk.Name, URL: s.URL, Records: r.plan.WalkRecords})
		if err != nil {
			return err
		}
		work := fmt.Sprintf("walk over %d records", r.plan.WalkRecords)
		r.samples.add(work, sdk.Name, round, seconds, result.Cost.Seconds)
		r.samples.add(work, sdk.Name, round, allocated, result.Cost.Bytes)
		r.samples.add(work, sdk.Name, round, allocations, result.Cost.Objects)
		r.samples.add(work, sdk.Name, round, peak, float64(result.Peak))
		return nil
	})
}
