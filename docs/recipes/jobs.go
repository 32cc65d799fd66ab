package recipes

import (
	"context"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// job is a row of a queue or table.
type job struct {
	ID      string // also the record's name, so it must be unique
	File    string
	LastTry time.Time // the last sign of life of an earlier run; zero if there was none
}

// transcribe may run any number of times for a job, one run at a time. alive stores only LastTry, because the rest of
// the job may change during a run: UPDATE jobs SET last_try = $2 WHERE id = $1.
func transcribe(
	ctx context.Context, client *aicontent.Client, j job, alive func(id string, at time.Time) error,
) (*aicontent.Transcription, error) {
	ctx, stop, err := heartbeat(ctx, func() error { return alive(j.ID, time.Now()) })
	if err != nil {
		return nil, err
	}
	defer stop()
	transcription, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: j.ID,
		File: aicontent.FileFromPath(j.File),
	}, aicontent.WithOnceSince(j.LastTry))
	if err != nil {
		return nil, err
	}
	stop()
	return transcription, alive(j.ID, time.Time{}) // the record exists: there is nothing left to wait for
}

// heartbeat calls alive immediately and then every ten seconds until stop is called. It cancels the context if alive
// fails.
func heartbeat(ctx context.Context, alive func() error) (_ context.Context, stop func(), err error) {
	if err := alive(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var beats sync.WaitGroup
	beats.Go(func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := alive(); err != nil {
					cancel(err) // a run that cannot report that it is alive must not send
				}
			}
		}
	})
	return ctx, func() { cancel(nil); beats.Wait() }, nil
}

// queue stores jobs, say in a table. A method changes nothing of a job but what its comment names.
type queue interface {
	Next(context.Context) (job, error)   // waits for a job, which then belongs to the caller
	Alive(id string, at time.Time) error // sets LastTry
	Done(id string) error                // removes the job
	Later(id string, cause error) error  // schedules another run, after a longer pause each time
	GiveUp(id string, cause error) error // leaves the job to a person
}

// work does one job after another until the queue returns an error. Any number of workers may share a queue.
func work(ctx context.Context, client *aicontent.Client, q queue) error {
	for {
		j, err := q.Next(ctx)
		if err != nil {
			return err
		}
		_, err = transcribe(ctx, client, j, q.Alive)
		outcome := aicontent.OutcomeOf(err)
		switch {
		case err == nil:
			err = q.Done(j.ID)
		case aicontent.Temporary(err), outcome == aicontent.OutcomeUnknown, outcome == aicontent.OutcomeDone:
			err = q.Later(j.ID, err) // the next run finds the record, if it exists
		default:
			err = q.GiveUp(j.ID, err)
		}
		if err != nil {
			return err
		}
	}
}
