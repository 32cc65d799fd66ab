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
	Waiting    int // an error when the patience was over, and one record or none
	Hollow     int // success, no record
	GivenUp    int // an error, no record: a further attempt would have made it
	MadeUntold int // an error, one record: the caller does not know of it
	Requests   int
}

// faultsJob lets each operation meet its faults, all at once: each has a separate service and client, so that they do
// not disturb each other.
func faultsJob(ctx context.Context, j job) (any, error) {
	plans := service.Plans(seed, j.Times)
	ends := make([]ending, len(plans))
	var wg sync.WaitGroup
	for i, plan := range plans {
		wg.Go(func() { ends[i] = endOf(ctx, j, fmt.Sprintf("operation-%d", i), plan) })
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
	waiting        bool  // the patience was over before the call
	made, requests int
	broken         error // of the measurement itself
}

func endOf(ctx context.Context, j job, name string, plan service.Plan) ending {
	sdk, err := clients.Named(j.SDK)
	if err != nil {
		return ending{broken: err}
	}
	faulty, err := service.NewFaulty(sdk.Wire, plan)
	if err != nil {
		return ending{broken: err}
	}
	defer faulty.Close()
	j.URL = faulty.URL
	c, err := j.client()
	if err != nil {
		return ending{broken: err}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = c.Create(ctx, name)
	return ending{
		err: err, waiting: err != nil && ctx.Err() != nil, made: faulty.Made(name), requests: faulty.Requests(),
	}
}

func (r *faultsResult) count(e ending) {
	r.Requests += e.requests
	switch {
	case e.made > 1:
		r.Twice++
	case e.waiting:
		r.Waiting++
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

// The two ways in which retries are set, and the works that meet faults with them.
const (
	asItComes         = "as it comes"
	asDocumented      = "retries as documented"
	defaultRetries    = "faults, " + asItComes
	documentedRetries = "faults, " + asDocumented
)

// faults runs all SDKs at once: they mostly wait.
func (r *runner) faults(ctx context.Context) error {
	list := variants(r.sdks, true)
	return eachVariant(ctx, list, len(list), job{Kind: "faults", Times: r.plan.Operations}, r.addFaults)
}

func (r *runner) addFaults(v variant, result faultsResult) {
	for _, count := range []struct {
		of measure
		n  int
	}{
		{operations, result.Operations}, {doneOnce, result.Done}, {madeTwice, result.Twice},
		{waiting, result.Waiting}, {hollow, result.Hollow}, {givenUp, result.GivenUp},
		{madeUntold, result.MadeUntold}, {requests, result.Requests},
	} {
		r.samples.add("faults, "+v.setting(), v.name, 0, count.of, float64(count.n))
	}
}

// variant is an SDK with its default retries, or with those of its documentation.
type variant struct {
	name    string // in tables
	sdk     string
	retries bool
	settle  time.Duration // see [clients.Settings]
}

func (v variant) setting() string {
	if v.retries {
		return asDocumented
	}
	return asItComes
}

// The names of this SDK with package once, after the settle time: the service of the faults acts at once or never, so
// that a second is enough for it, and most services need more.
const (
	onceSecond  = clients.Ours + ", once 1 s"
	onceDefault = clients.Ours + ", once 15 min"
)

// variants has each SDK as it comes, and those with documented retries again. In a call that creates, the retries of
// this SDK are those of package once.
func variants(sdks []clients.SDK, creates bool) (list []variant) {
	for _, sdk := range sdks {
		list = append(list, variant{name: sdk.Name, sdk: sdk.Name})
	}
	for _, sdk := range sdks {
		switch v := (variant{name: sdk.Name, sdk: sdk.Name, retries: true}); {
		case sdk.Retries == "":
		case sdk.Name == clients.Ours && creates:
			second, standard := v, v
			second.name, second.settle, standard.name = onceSecond, time.Second, onceDefault
			list = append(list, second, standard)
		default:
			list = append(list, v)
		}
	}
	return list
}

// eachVariant does the job for each variant, some at once, and then adds the results in the order of the list.
func eachVariant[T any](ctx context.Context, list []variant, atOnce int, j job, add func(variant, T)) error {
	results := make([]T, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, v := range list {
		group.Go(func() (err error) {
			one := j
			one.SDK, one.Retries, one.Settle = v.sdk, v.retries, v.settle
			results[i], err = do[T](ctx, one)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, v := range list {
		add(v, results[i])
	}
	return nil
}
