package recipes

import (
	"context"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// job is what a queue or a table keeps of the work.
type job struct {
	ID      string // used as the name of the record, so nothing else may have it
	File    string
	LastTry time.Time // the last sign of life of an earlier run; zero if there was none
}

// transcribe may run any number of times for a job, one run at a time. alive stores LastTry and nothing else, because
// the rest of the job may change during a run: UPDATE jobs SET last_try = $2 WHERE id = $1.
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
	return transcription, alive(j.ID, time.Time{}) // the record is there: nothing is left to wait for
}

// heartbeat calls alive at once and then every ten seconds, until stop is called.
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
					cancel(err) // a run that cannot tell that it is alive must not send
				}
			}
		}
	})
	return ctx, func() { cancel(nil); beats.Wait() }, nil
}

// queue keeps jobs, say in a table. Each method changes what its comment names, and leaves the rest of a job alone.
type queue interface {
	Next(context.Context) (job, error)   // waits for a job, which is then the caller's
	Alive(id string, at time.Time) error // LastTry
	Done(id string) error                // takes the job out
	Later(id string, cause error) error  // makes it wait for another run, longer each time
	GiveUp(id string, cause error) error // puts it where a person looks
}

// work does one job after another, until the queue ends it. Any number of workers may share a queue.
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
			err = q.Later(j.ID, err) // the next run finds the record, if there is one
		default:
			err = q.GiveUp(j.ID, err)
		}
		if err != nil {
			return err
		}
	}
}
