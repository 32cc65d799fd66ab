package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
	"github.com/aicontent/aicontent-go/bench/service"
	"golang.org/x/sync/errgroup"
)

// patience bounds one operation, its waits included.
const patience = 20 * time.Second

// faultsResult counts how the operations ended.
type faultsResult struct {
	Operations int
	Done       int // success, one record
	Twice      int // more than one record, whatever the caller was told
	Hollow     int // success, no record
	GivenUp    int // an error, no record: a further attempt would have made it
	MadeUntold int // an error, one record: the caller does not know of it
	Requests   int
}

// faultsJob lets each operation meet its faults, all at once: each has a separate service and client, so that they do
// not disturb each other.
func faultsJob(ctx context.Context, j job) (any, error) {
	sdk, err := clients.Named(j.SDK)
	if err != nil {
		return nil, err
	}
	plans := service.Plans(seed, j.Times)
	ends := make([]ending, len(plans))
	var wg sync.WaitGroup
	for i, plan := range plans {
		wg.Go(func() { ends[i] = endOf(ctx, sdk, j.Retries, fmt.Sprintf("operation-%d", i), plan) })
	}
	wg.Wait()
	result := faultsResult{Operations: len(plans)}
	for _, end := range ends {
		if end.broken != nil {
			return nil, end.broken
		}
		result.count(end)
	}
	return result, nil
}

// ending is how one operation ended.
type ending struct {
	err            error // as the caller sees it
	made, requests int
	broken         error // of the measurement itself
}

func endOf(ctx context.Context, sdk clients.SDK, retries bool, name string, plan service.Plan) ending {
	faulty, err := service.NewFaulty(sdk.Wire, plan)
	if err != nil {
		return ending{broken: err}
	}
	defer faulty.Close()
	c, err := sdk.New(clients.Settings{URL: faulty.URL, Retries: retries})
	if err != nil {
		return ending{broken: err}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = c.Create(ctx, name)
	return ending{err: err, made: faulty.Made(name), requests: faulty.Requests()}
}

func (r *faultsResult) count(e ending) {
	r.Requests += e.requests
	switch {
	case e.made > 1:
		r.Twice++
	case e.err == nil && e.made == 1:
		r.Done++
	case e.err == nil:
		r.Hollow++
	case e.made == 0:
		r.GivenUp++
	default:
		r.MadeUntold++
	}
}

// The two ways in which retries are set.
const (
	defaultRetries    = "faults, as it comes"
	documentedRetries = "faults, retries as documented"
)

// faults runs all SDKs at once: they mostly wait.
func (r *runner) faults(ctx context.Context) error {
	j := job{Kind: "faults", Times: r.plan.Operations}
	cells, err := eachWithRetries[faultsResult](ctx, r.sdks, 2*len(r.sdks), j)
	for _, c := range cells {
		work := defaultRetries
		if c.retries {
			work = documentedRetries
		}
		for _, count := range []struct {
			of measure
			n  int
		}{
			{operations, c.result.Operations}, {doneOnce, c.result.Done}, {madeTwice, c.result.Twice},
			{hollow, c.result.Hollow}, {givenUp, c.result.GivenUp}, {madeUntold, c.result.MadeUntold},
			{requests, c.result.Requests},
		} {
			r.samples.add(work, c.sdk, 0, count.of, float64(count.n))
		}
	}
	return err
}

// outcome is the result of an SDK with its default retries, or with those that its documentation shows.
type outcome[T any] struct {
	sdk     string
	retries bool
	result  T
}

// eachWithRetries does the job for each SDK, and again with documented retries where it has them, some at once.
func eachWithRetries[T any](ctx context.Context, sdks []clients.SDK, atOnce int, j job) ([]outcome[T], error) {
	var cells []outcome[T]
	for _, sdk := range sdks {
		cells = append(cells, outcome[T]{sdk: sdk.Name})
		if sdk.Retries != "" {
			cells = append(cells, outcome[T]{sdk: sdk.Name, retries: true})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range cells {
		group.Go(func() (err error) {
			one := j
			one.SDK, one.Retries = cells[i].sdk, cells[i].retries
			cells[i].result, err = do[T](ctx, one)
			return err
		})
	}
	return cells, group.Wait()
}
