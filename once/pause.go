package once

import (
	"cmp"
	"context"
	"time"
)

const (
	margin  = 2 * time.Minute // added to the settle time in an announcement
	cutOff  = margin - 15*time.Second
	renewal = 30 * time.Second

	firstPause = time.Second // between two rounds; it doubles
	lastPause  = 30 * time.Second
	glance     = time.Second // between two reads of the ledger in a pause
	lastLook   = 5 * time.Second
	replicaLag = 30 * time.Second // wait for a known record that Show does not find

	ledgerTime = 30 * time.Second // limit of a Get
	ownTime    = 5 * time.Second  // limit of a Get or Put after the context has ended
)

// until returns the time after which the request in the entry has either become a listed record or never will. It is
// zero for no request.
func (c *call[T]) until() time.Time { return c.entry.until(c.seen, margin+c.settle) }

// nextLook returns the time until the next look of another call, whose schedule begins with the write of the entry.
func (c *call[T]) nextLook() time.Duration { return untilNextLook(c.entry.age(c.seen, time.Now())) }

// untilNextLook returns the time until the next look of a schedule with this age. Looks are 1, 3, 7, 15 and 31 seconds
// after its beginning, then every 30 seconds.
func untilNextLook(age time.Duration) time.Duration {
	look := firstPause
	for step := 2 * firstPause; look <= age && step < lastPause; step *= 2 {
		look += step
	}
	if look <= age {
		look += ((age-look)/lastPause + 1) * lastPause
	}
	return look - age
}

// pause waits up to the given time, or until another call has written the entry. It returns an error if WithMaxWait or
// the context leaves no time to wait.
func (c *call[T]) pause(ctx context.Context, wait time.Duration) error {
	left, why := c.maxWait-c.waited, ErrMaxWait
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline)-lastLook < left {
		left, why = time.Until(deadline)-lastLook, context.DeadlineExceeded
	}
	if wait <= 0 {
		return nil
	}
	until := c.until()
	if c.waited == 0 && c.entry.Until.After(until.Add(time.Minute)) {
		c.log.WarnContext(ctx, "once: the clock of another process is ahead", "until", c.entry.Until)
	}
	if left <= 0 {
		return cmp.Or(whyEnded(ctx), why)
	}
	if c.waited == 0 {
		c.log.InfoContext(ctx, "once waits for what a create request may have become", "until", until)
	}
	wait = min(wait, left)
	start := time.Now()
	defer func() { c.waited += time.Since(start) }()
	own, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticks := time.NewTicker(glance)
	defer ticks.Stop()
	for {
		select {
		case <-own.Done():
			return whyEnded(ctx)
		case <-ticks.C:
		}
		e, version, err := c.read(own, wait)
		renewed := e.Call == c.entry.Call && e.Until.After(c.entry.Until)
		if err == nil && version != c.version && !renewed {
			return nil
		}
	}
}
