package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// job is a row of a queue or table.
type job struct {
	ID   string // also the record's name, so it must be unique
	File string
}

// queue stores jobs, say in a table.
type queue interface {
	Next(context.Context) (job, error)   // waits for a job, which then belongs to the caller
	Done(id string) error                // removes the job
	GiveUp(id string, cause error) error // leaves the job to a person

	// Later schedules another run at a time; if that is zero, after a pause that grows with each failed run. A run
	// without a cause has not failed. After many failures, the job goes to a person.
	Later(id string, at time.Time, cause error) error
}

// work does one job after another until the queue returns an error. Any number of workers may share a queue, if they
// share a ledger. With once.WithMaxWait(0), a job waits in the queue, and the worker takes another.
func work(ctx context.Context, names *once.Client, q queue) error {
	for {
		j, err := q.Next(ctx)
		if err != nil {
			return err
		}
		_, _, err = names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: j.ID,
			File: aicontent.FileFromPath(j.File),
		})
		switch {
		case err == nil:
			err = q.Done(j.ID)
		case ctx.Err() != nil, errors.Is(err, once.ErrMaxWait): // stopped, or an earlier request may create the record
			err = q.Later(j.ID, aicontent.RetryAt(err), nil)
		case aicontent.Retryable(err):
			err = q.Later(j.ID, aicontent.RetryAt(err), err)
		default:
			err = q.GiveUp(j.ID, err)
		}
		if err != nil {
			return err
		}
	}
}
