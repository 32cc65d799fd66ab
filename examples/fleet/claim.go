package main

import (
	"context"
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

// A record is what is known of a job. Every change but the one to done is a compare-and-set.
type record struct {
	State    state                 `json:"state"`
	Since    time.Time             `json:"since"` // when it came to the state
	File     []byte                `json:"file"`  // as the user named it, in whatever encoding
	Language aicontent.CountryCode `json:"language,omitempty"`
	Worker   string                `json:"worker,omitempty"` // of the latest run
	Runs     int                   `json:"runs,omitempty"`   // how many were started
	Lost     int                   `json:"lost,omitempty"`   // how many of them did not report, or found no file
	Reason   string                `json:"reason,omitempty"`
	ID       aicontent.ID          `json:"id,omitempty"` // of the transcription
}

func (r record) ended() bool { return r.State == done || r.State == dead }

// at returns the record of a job that has just come to a state.
func (r record) at(s state, reason string) record {
	r.State, r.Reason, r.Since = s, reason, time.Now()
	return r
}

// A claim is one run of a job. That another run may be under way does no harm: package once lets one of them send.
type claim struct {
	q        *queue
	id       string // of the job; a hash of content and settings, which also names the transcription
	record   record
	revision uint64
}

// claim begins a run of a job, unless the job has ended: then it returns nil.
func (q *queue) claim(ctx context.Context, id, worker string) (*claim, error) {
	r, revision, err := read[record](ctx, q.jobs, id)
	if err != nil || r.ended() {
		return nil, err
	}
	c := &claim{q: q, id: id, record: r, revision: revision}
	if r.State == running {
		r.Lost++
	}
	r.Runs++
	r.Worker = worker
	return c, c.write(ctx, r.at(running, r.Reason))
}

// write changes the record by compare-and-set: it fails if another run has changed it.
func (c *claim) write(ctx context.Context, next record) error {
	revision, err := c.q.jobs.Update(ctx, c.id, encode(next), c.revision)
	if err != nil {
		return err
	}
	c.record, c.revision = next, revision
	return nil
}

// succeed notes which transcription is the job's. It is valid even if another run has begun.
func (c *claim) succeed(ctx context.Context, t *aicontent.Transcription) error {
	r := c.record.at(done, "")
	r.ID = t.ID
	_, err := c.q.jobs.Put(ctx, c.id, encode(r))
	return err
}
