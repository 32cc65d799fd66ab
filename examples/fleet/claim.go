package main

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

type state string

const (
	queued  state = "queued" // again, by a producer, after it was dead
	running state = "running"
	waiting state = "waiting" // for a retry
	done    state = "done"
	dead    state = "dead" // a dead letter: no retry can succeed
)

// A record holds the state of a job. Every change but the one to done is a compare-and-set.
type record struct {
	State  state        `json:"state"`
	File   string       `json:"file"`
	Worker string       `json:"worker"`         // of the latest run
	Until  time.Time    `json:"until"`          // no run sends anything after this time, unless it moves it first
	Runs   int          `json:"runs"`           // how many were started
	Lost   int          `json:"lost,omitempty"` // how many of them ended without reporting
	Reason string       `json:"reason,omitempty"`
	ID     aicontent.ID `json:"id,omitempty"`
	Text   string       `json:"text,omitempty"`
	Long   bool         `json:"long,omitempty"` // the text is in the bucket of texts
}

func (r record) ended() bool { return r.State == done || r.State == dead }

// inline is the longest text in a record. NATS accepts messages of 1 MiB, and JSON may make a text six times as long.
const inline = 64 << 10

// A claim is one worker's right to run a job. It lapses unless it is renewed, and it tells the next worker until when
// this one may have been sending.
type claim struct {
	q      *queue
	id     string
	before time.Time     // no earlier run has sent anything after this time
	lasts  time.Duration // unless renewed; less than the time after which the queue delivers the job again

	record   record
	revision uint64
}

// claim claims a job for a worker. If c and err are nil, another worker has the job for the next wait, or, if wait is
// zero, the job has ended.
func (q *queue) claim(ctx context.Context, j job, worker string) (c *claim, wait time.Duration, err error) {
	r, revision, err := q.read(ctx, j.ID)
	if err != nil || r.ended() {
		return nil, 0, err
	}
	if wait := time.Until(r.Until); r.State == running && wait > 0 {
		return nil, wait, nil
	}
	lasts := q.pending.CachedInfo().Config.AckWait * 2 / 3
	c = &claim{q: q, id: j.ID, before: r.Until, lasts: lasts, record: r, revision: revision}
	err = c.write(ctx, func(r *record) {
		if r.State == running {
			r.Lost++
		}
		r.State, r.File, r.Worker, r.Until = running, j.File, worker, time.Now().Add(c.lasts)
		r.Runs++
	})
	if err != nil {
		return nil, 0, err
	}
	return c, 0, nil
}

// write changes the record by compare-and-set: it fails if another worker has changed it.
func (c *claim) write(ctx context.Context, change func(*record)) error {
	next := c.record
	change(&next)
	revision, err := c.q.jobs.Update(ctx, c.id, encode(next), c.revision)
	if err != nil {
		return err
	}
	c.record, c.revision = next, revision
	return nil
}

// keep renews the claim, and tells the queue that the job is in progress, until stop is called. The context that it
// returns is canceled when the claim lapses. The claim must not be changed before stop has returned.
func (c *claim) keep(ctx context.Context, msg jetstream.Msg) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for pause(ctx, c.lasts/4) == nil {
			_ = msg.InProgress()
			if !c.renew(ctx) {
				cancel()
			}
		}
	})
	return ctx, func() {
		cancel()
		renewing.Wait()
	}
}

// renew extends the claim. It reports false if the claim has lapsed before it could.
func (c *claim) renew(ctx context.Context) bool {
	ctx, cancel := context.WithDeadline(ctx, c.record.Until)
	defer cancel()
	for !c.tryRenew(ctx) {
		if pause(ctx, 250*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

func (c *claim) tryRenew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.lasts/8)
	defer cancel()
	if c.write(ctx, func(r *record) { r.Until = time.Now().Add(c.lasts) }) == nil {
		return true
	}
	// A write that timed out may have been executed.
	r, revision, err := c.q.read(ctx, c.id)
	own := r.State == running && r.Worker == c.record.Worker && r.Runs == c.record.Runs
	if err == nil && revision > c.revision && own {
		c.record, c.revision = r, revision
	}
	return false
}

// succeed stores the result. It is valid even if another worker holds the job by now.
func (c *claim) succeed(ctx context.Context, t *aicontent.Transcription) error {
	r := c.record
	r.State, r.Reason, r.ID, r.Text = done, "", t.ID, t.Result
	if r.Long = len(t.Result) > inline; r.Long {
		r.Text = ""
		if _, err := c.q.texts.PutString(ctx, c.id, t.Result); err != nil {
			return err
		}
	}
	_, err := c.q.jobs.Put(ctx, c.id, encode(r))
	return err
}
