package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patiently calls do until it succeeds or fails for good, for up to a minute: NATS may be electing a leader, or be
// unreachable. Without a deadline, a JetStream request times out after five seconds.
func patiently(ctx context.Context, do func(context.Context) error) error {
	for end := time.Now().Add(time.Minute); ; {
		err := do(ctx)
		if err == nil || !transient(err) || time.Now().After(end) || pause(ctx, 250*time.Millisecond) != nil {
			return err
		}
	}
}

// transient reports whether a JetStream request that failed with err may succeed later.
func transient(err error) bool {
	if api, ok := errors.AsType[jetstream.JetStreamError](err); ok && api.APIError() != nil {
		return api.APIError().Code == 503 && !full(err)
	}
	is := func(target error) bool { return errors.Is(err, target) }
	return slices.ContainsFunc([]error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse}, is)
}

// full reports whether NATS has no room: the codes mean a failed write, a server's limit and an account's limit.
func full(err error) bool {
	api, ok := errors.AsType[jetstream.JetStreamError](err)
	return ok && api.APIError() != nil &&
		slices.Contains([]jetstream.ErrorCode{10077, 10023, 10047}, api.APIError().ErrorCode)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
