package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	scheduleKey = "schedule"
	// ahead is how early a request may reserve its time, and so how long an old rate lasts after a change.
	ahead = time.Second
)

// A schedule spaces the requests of the whole fleet. It is the value of one key, changed by compare-and-set.
type schedule struct {
	PerSecond float64   `json:"per_second"` // 0 stops the fleet
	Next      time.Time `json:"next"`       // the next request is not sent before
}

// reserve returns the time for one request, and the schedule after it, or the time to call reserve again.
func (s schedule) reserve(now time.Time) (at time.Time, after schedule, ok bool) {
	if s.PerSecond <= 0 {
		return now.Add(ahead), s, false
	}
	at = s.Next
	if at.Before(now) {
		at = now
	}
	if at.After(now.Add(ahead)) {
		return at.Add(-ahead), s, false
	}
	s.Next = at.Add(time.Duration(float64(time.Second) / s.PerSecond))
	return at, s, true
}

// A limiter makes a worker's requests follow the schedule.
type limiter struct {
	bucket jetstream.KeyValue
	stop   context.Context // when it ends, no request waits any longer
	turn   sync.Mutex      // lets one of this worker's requests reserve at a time
}

// Wait returns when the request may be sent. It waits while the queue is unreachable.
func (l *limiter) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.stop, cancel)()
	at, err := l.reserve(ctx)
	if err != nil {
		return err
	}
	return pause(ctx, time.Until(at))
}

func (l *limiter) reserve(ctx context.Context) (time.Time, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	for wait := time.Duration(0); pause(ctx, wait) == nil; {
		s, revision, err := read[schedule](ctx, l.bucket, scheduleKey)
		at, after, ok := s.reserve(time.Now())
		if err == nil && !ok {
			wait = time.Until(at)
			continue
		}
		if err == nil {
			_, err = l.bucket.Update(ctx, scheduleKey, encode(after), revision)
		}
		if err == nil {
			return at, nil
		}
		// Another worker was first, or the queue is unreachable.
		wait = 100 * time.Millisecond
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			wait = rand.N(2 * time.Millisecond)
		}
	}
	return time.Time{}, ctx.Err()
}

func checkRate(perSecond float64) error {
	if perSecond != 0 && !(perSecond >= 0.001 && perSecond <= 1e6) {
		return fmt.Errorf("-rate must be 0 or from 0.001 to 1000000, not %g", perSecond)
	}
	return nil
}

// setRate changes the rate of the whole fleet.
func setRate(ctx context.Context, bucket jetstream.KeyValue, perSecond float64) error {
	for {
		s, revision, err := read[schedule](ctx, bucket, scheduleKey)
		if err != nil {
			return err
		}
		s.PerSecond = perSecond
		// A low rate may have put the next request far ahead.
		if soon := time.Now().Add(ahead); s.Next.After(soon) {
			s.Next = soon
		}
		_, err = bucket.Update(ctx, scheduleKey, encode(s), revision)
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return err
		}
	}
}
