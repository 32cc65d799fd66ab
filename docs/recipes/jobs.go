package recipes

import (
	"context"

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
	Later(id string, cause error) error  // schedules another run, after a longer pause each time
	GiveUp(id string, cause error) error // leaves the job to a person
}

// work does one job after another until the queue returns an error. Any number of workers may share a queue, if they
// share a ledger.
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
		case aicontent.Retryable(err):
			err = q.Later(j.ID, err) // the next run finds the record, if there is one
		default:
			err = q.GiveUp(j.ID, err)
		}
		if err != nil {
			return err
		}
	}
}
