package recipes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
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

// passOn is an HTTP handler that sends the body of a request to the service while it arrives.
func passOn(client *aicontent.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		file := aicontent.FileFromReader("message.m4a", r.Body)
		if r.ContentLength > 0 {
			file.Size = r.ContentLength // without a size the upload is chunked, which some deployments refuse
		}
		transcription, err := client.Transcriptions.Store(r.Context(), aicontent.TranscriptionStoreParams{
			Name: "Voice message",
			File: file,
		})
		if err != nil {
			http.Error(w, "the transcription failed", http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, transcription.ID)
	}
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

// save downloads a picture to a file, and leaves no part of one.
func save(ctx context.Context, client *aicontent.Client, image *aicontent.Image, path string) (err error) {
	file, err := os.CreateTemp(".", "picture-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = client.Images.Download(ctx, image, file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
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
