package once

import (
	"cmp"
	"context"
	"time"
)

const (
	margin  = 2 * time.Minute // how far an announcement is ahead of the settle time
	cutOff  = margin - 15*time.Second
	renewal = 30 * time.Second

	firstPause = time.Second // between two rounds; it doubles
	lastPause  = 30 * time.Second
	glance     = time.Second // between two looks into the ledger in a pause
	lastLook   = 5 * time.Second
	replicaLag = 30 * time.Second // how long a call waits for a record that Show does not show

	ledgerTime = 30 * time.Second // for a Get
	ownTime    = 5 * time.Second  // for the ledger after the call's context has ended
)

// until returns the time after which the requests in the entry have either become a listed record or never will. It is
// zero for no request.
func (c *call[T]) until() time.Time { return c.entry.until(c.seen, margin+c.settle) }

// nextLook returns how long the next look of another call is away: its schedule begins when the entry was written.
func (c *call[T]) nextLook() time.Duration { return untilNextLook(c.entry.age(c.seen, time.Now())) }

// untilNextLook returns how long the next look is away: looks are 1, 3, 7, 15 and 31 seconds after the beginning of a
// schedule, and then every 30 seconds.
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

// pause waits, but no longer than WithMaxWait and the context allow, or until another call has written the entry. The
// error says why nothing is left to wait.
func (c *call[T]) pause(ctx context.Context, wait time.Duration) error {
	left, why := c.maxWait-c.waited, ErrMaxWait
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline)-lastLook < left {
		left, why = time.Until(deadline)-lastLook, context.DeadlineExceeded
	}
	switch {
	case wait <= 0:
		return nil
	case left <= 0:
		return cmp.Or(whyEnded(ctx), why)
	}
	if until := c.until(); c.waited == 0 {
		c.log.InfoContext(ctx, "once waits for what a create request may have become", "until", until)
		if c.entry.Until.After(until.Add(time.Minute)) {
			c.log.WarnContext(ctx, "once: the clock of another process is ahead", "until", c.entry.Until)
		}
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
