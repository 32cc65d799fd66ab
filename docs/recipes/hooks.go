package recipes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// done is called with the result of an attempt.
type done = func(aicontent.AttemptResult)

// limitDownloads makes only downloads wait for a limiter.
func limitDownloads(l *rate.Limiter) aicontent.Option {
	return aicontent.WithAttemptHook(func(ctx context.Context, a aicontent.Attempt) (done, error) {
		if a.Operation != aicontent.ImagesDownload {
			return nil, nil
		}
		return nil, l.Wait(ctx)
	})
}

var errSpent = errors.New("the limit of create requests for today is reached")

// dailyLimit limits the create requests of a client to n a day, in UTC. Requests that were certainly not billed do not
// count.
func dailyLimit(n int) aicontent.Option {
	var mu sync.Mutex
	var day string
	var sent int
	return aicontent.WithAttemptHook(func(_ context.Context, a aicontent.Attempt) (done, error) {
		if a.Operation != aicontent.ImagesStore && a.Operation != aicontent.TranscriptionsStore {
			return nil, nil // is not billed
		}
		mu.Lock()
		defer mu.Unlock()
		today := time.Now().UTC().Format(time.DateOnly)
		if today != day {
			day, sent = today, 0
		}
		if sent >= n {
			return nil, errSpent
		}
		sent++
		return func(r aicontent.AttemptResult) {
			mu.Lock()
			defer mu.Unlock()
			billed := r.Outcome == aicontent.OutcomeExecuted || r.Outcome == aicontent.OutcomeUnknown
			if !billed && day == today {
				sent--
			}
		}, nil
	})
}

// breaker sends a service nothing for half a minute after it failed five attempts in a row.
func breaker() aicontent.Option {
	circuit := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     30 * time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
		// A caller who gives up and an unreadable file say nothing about the service.
		IsExcluded: func(err error) bool {
			return errors.Is(err, context.Canceled) || errors.Is(err, aicontent.ErrFile)
		},
		// A service that rejects a request is up.
		IsSuccessful: func(err error) bool {
			var refused *aicontent.APIError
			return err == nil || errors.As(err, &refused) && refused.StatusCode < 500
		},
	})
	return aicontent.WithAttemptHook(func(ctx context.Context, a aicontent.Attempt) (done, error) {
		if once.IsSearch(ctx) || a.Operation == aicontent.ImagesDownload {
			return nil, nil // a search may find a billed record; pictures come from other hosts
		}
		report, err := circuit.Allow()
		if err != nil {
			return nil, err
		}
		return func(r aicontent.AttemptResult) { report(r.Err) }, nil
	})
}

// metrics measures each attempt. Paths and request IDs are left out: each value of an attribute makes a time series.
func metrics(meter metric.Meter) (aicontent.Option, error) {
	seconds, err := meter.Float64Histogram("aicontent.attempt.duration", metric.WithUnit("s"))
	if err != nil {
		return nil, err
	}
	return aicontent.WithAttemptHook(func(ctx context.Context, a aicontent.Attempt) (done, error) {
		return func(r aicontent.AttemptResult) {
			seconds.Record(ctx, r.Duration.Seconds(), metric.WithAttributes(
				attribute.String("operation", string(a.Operation)),
				attribute.Int("status", r.StatusCode), // 0 for no response
				attribute.String("outcome", r.Outcome.String()),
				attribute.Bool("failed", r.Err != nil), // success is Executed, too
				attribute.Bool("retried", r.WillRetry),
			))
		}, nil
	}), nil
}
