package recipes

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aicontent/aicontent-go"
)

// job is what a queue or a table keeps of the work.
type job struct {
	ID      string // used as the name of the record, so nothing else may have it
	File    string
	LastTry time.Time // the last moment at which a run may have been sending or waiting; zero if there was no run
}

// transcribe may run any number of times for a job, one run at a time. save stores the job where the next run finds it.
func transcribe(ctx context.Context, client *aicontent.Client, j job, save func(job) error) (*aicontent.Transcription, error) {
	lastTry := j.LastTry
	alive := func() error {
		j.LastTry = time.Now()
		return save(j)
	}
	if err := alive(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	defer func() { cancel(nil); <-stopped }()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := alive(); err != nil {
					cancel(err) // a run that cannot tell that it is alive must not send
					return
				}
			}
		}
	}()
	return client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: j.ID,
		File: aicontent.FileFromPath(j.File),
	}, aicontent.WithOnceSince(lastTry))
}

// row is an image in a database: what queries need in columns of their own, and the whole record as it was sent.
type row struct {
	ID     string
	Name   string
	Record json.RawMessage
}

func toRow(image *aicontent.Image) row {
	return row{ID: string(image.ID), Name: image.Name, Record: image.Raw()}
}

func fromRow(r row) (*aicontent.Image, error) {
	image := new(aicontent.Image)
	err := json.Unmarshal(r.Record, image)
	return image, err
}

func thirdPage(ctx context.Context, client *aicontent.Client) ([]*aicontent.Image, error) {
	page, err := client.Images.List(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage25},
		aicontent.WithQuery("page", "3"))
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

func everything(ctx context.Context, client *aicontent.Client) ([]*aicontent.Image, error) {
	return aicontent.Collect(client.Images.All(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage100},
		aicontent.WithReadAhead(8)))
}
