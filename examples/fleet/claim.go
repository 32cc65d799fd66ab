package main

import (
	"context"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

type state string

const (
	queued  state = "queued"
	running state = "running"
	waiting state = "waiting" // for a retry
	done    state = "done"
	dead    state = "dead" // a dead letter: no retry can succeed
)

// A record holds the state of a job. Every change but the one to done is a compare-and-set.
type record struct {
	State  state        `json:"state"`
	Worker string       `json:"worker,omitempty"` // of the latest run
	Runs   int          `json:"runs,omitempty"`   // how many were started
	Lost   int          `json:"lost,omitempty"`   // how many of them ended without reporting
	Reason string       `json:"reason,omitempty"`
	ID     aicontent.ID `json:"id,omitempty"`
	Ended  time.Time    `json:"ended,omitzero"`
}

func (r record) ended() bool { return r.State == done || r.State == dead }

// A claim is one run of a job. That another run may be under way does no harm: package once lets one of them send.
type claim struct {
	q        *queue
	id       string
	record   record
	revision uint64
}

// claim begins a run of a job, unless the job has ended: then it returns nil.
func (q *queue) claim(ctx context.Context, id, worker string) (*claim, error) {
	r, revision, err := q.read(ctx, id)
	if err != nil || r.ended() {
		return nil, err
	}
	c := &claim{q: q, id: id, record: r, revision: revision}
	return c, c.write(ctx, func(r *record) {
		if r.State == running {
			r.Lost++
		}
		r.State, r.Worker = running, worker
		r.Runs++
	})
}

// write changes the record by compare-and-set: it fails if another run has changed it.
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

// succeed stores the result. It is valid even if another run has begun.
func (c *claim) succeed(ctx context.Context, t *aicontent.Transcription) error {
	if err := c.q.texts.write(ctx, c.id, strings.NewReader(t.Result)); err != nil {
		return err
	}
	r := c.record
	r.State, r.Reason, r.ID, r.Ended = done, "", t.ID, time.Now()
	_, err := c.q.jobs.Put(ctx, c.id, encode(r))
	return err
}

// fail records why the job waits or is dead.
func (c *claim) fail(ctx context.Context, next state, reason string) error {
	err := c.write(ctx, func(r *record) {
		r.State, r.Reason = next, reason
		if next == dead {
			r.Ended = time.Now()
		}
	})
	if err == nil && next == dead {
		err = c.q.texts.remove(ctx, c.id)
	}
	return err
}
