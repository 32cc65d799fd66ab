package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aicontent/aicontent-go"
)

// The recording is five seconds of English, spoken by espeak-ng.
//
//go:embed speech.wav
var recording embed.FS

var spoken = "The lighthouse keeper counts the ships at dusk, and writes their names into a book."

// A tour is one run.
type tour struct {
	client  *aicontent.Client
	out     io.Writer
	stop    context.CancelCauseFunc
	picture *os.File // where the picture goes until it is whole
	path    string   // where it goes then
	mark    string   // begins the name of each record of this run

	transcription *aicontent.Transcription
	image         *aicontent.Image
}

// take goes on until a step fails, and cleans up in any case.
func (t *tour) take(ctx context.Context) error {
	for _, step := range []func(context.Context) error{t.transcribe, t.draw, t.list, t.change, t.save} {
		if err := step(ctx); err != nil {
			return errors.Join(err, t.cleanUp(ctx)) // The error of a call has the cause of the context.
		}
	}
	return errors.Join(t.cleanUp(ctx), context.Cause(ctx))
}

func (t *tour) transcribe(ctx context.Context) (err error) {
	params := aicontent.TranscriptionStoreParams{
		Name: t.mark + ", recording", File: aicontent.FileFromFS(recording, "speech.wav"), Language: "GB",
	}
	if t.transcription, err = t.client.Transcriptions.Store(ctx, params); err != nil {
		t.transcription, err = lost(ctx, params.Name, err, t.client.Transcriptions.FindByName)
		return err
	}
	t.say("stored", "%s (id %s)", t.transcription.Name, t.transcription.ID)
	complete, err := waited(ctx, t.transcription.ID, t.client.Transcriptions.Wait)
	if err != nil {
		return err
	}
	t.say("result", "%s", complete.Result)
	correction := aicontent.TranscriptionUpdateParams{Result: &spoken}
	corrected, err := t.client.Transcriptions.Update(ctx, t.transcription.ID, correction)
	if err == nil {
		t.say("corrected", "%s", corrected.Result)
	}
	return err
}

func (t *tour) draw(ctx context.Context) (err error) {
	params := aicontent.ImageStoreParams{
		Name: t.mark + ", coast", Description: "The coast below the lighthouse, in the last light of the day",
		Resolution: aicontent.Resolution512x512, Style: aicontent.StyleIllustration,
		Medium: aicontent.MediumWatercolor, Filter: aicontent.FilterSepia,
	}
	if t.image, err = t.client.Images.Store(ctx, params); err != nil {
		t.image, err = lost(ctx, params.Name, err, t.client.Images.FindByName)
		return err
	}
	t.say("stored", "%s (id %s, %s)", t.image.Name, t.image.ID, params.Resolution.Label())
	return nil
}

// waited returns a record with its text or picture. Some services respond to Store before these are there.
func waited[T any](
	ctx context.Context, id aicontent.ID,
	wait func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error),
) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return wait(ctx, id)
}

type finder[T any] = func(context.Context, string, ...aicontent.CallOption) (*T, error)

// lost looks for the record of a Store call that failed but may have created it.
func lost[T any](ctx context.Context, name string, err error, find finder[T]) (*T, error) {
	if aicontent.OutcomeOf(err) == aicontent.OutcomeNotExecuted {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	record, failed := find(ctx, name)
	if failed != nil {
		err = fmt.Errorf("%w\n%q may still appear, and be billed: look for this name later", err, name)
	}
	return record, err
}

func (t *tour) list(ctx context.Context) error {
	page, err := t.client.Images.List(ctx, aicontent.ImageListParams{Search: t.mark, Filter: aicontent.FilterSepia})
	if err != nil {
		return err
	}
	t.say("listed", "%d with %q in the name, in sepia", len(page.Items), t.mark)
	all, params := 0, aicontent.ImageListParams{SortBy: aicontent.SortByName, PerPage: aicontent.PerPage100}
	for _, err := range t.client.Images.All(ctx, params) {
		if err != nil {
			return err
		}
		all++
	}
	t.say("walked", "all pages: %d images", all)
	return nil
}

func (t *tour) change(ctx context.Context) error {
	if _, err := t.client.Images.Update(ctx, t.image.ID, aicontent.ImageUpdateParams{Favorite: new(true)}); err != nil {
		return err
	}
	image, err := t.client.Images.Show(ctx, t.image.ID)
	if err == nil {
		t.say("shown", "%s: %s, favorite: %t", image.Name, image.Style.Label(), image.Favorite)
	}
	return err
}

// save comes last, because pictures may be on a host that cannot be reached from here.
func (t *tour) save(ctx context.Context) error {
	image, err := waited(ctx, t.image.ID, t.client.Images.Wait)
	if err == nil {
		_, err = t.client.Images.Download(ctx, image, t.picture)
	}
	if err = cmp.Or(err, t.picture.Close()); err != nil {
		return err
	}
	if err = os.Rename(t.picture.Name(), t.path); err == nil {
		t.say("saved", "%s: take a look", t.path)
	}
	return err
}

// cleanUp deletes the records of this run, even after an interrupt.
func (t *tour) cleanUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if t.image != nil {
		err = t.deleted("image", t.image.ID, t.client.Images.Delete(ctx, t.image.ID))
	}
	if t.transcription != nil {
		id := t.transcription.ID
		err = errors.Join(err, t.deleted("transcription", id, t.client.Transcriptions.Delete(ctx, id)))
	}
	return err
}

func (t *tour) deleted(kind string, id aicontent.ID, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s is still there: %w", kind, id, err)
	}
	t.say("deleted", "%s %s", kind, id)
	return nil
}

// say prints a line. If it cannot, the tour ends: an unseen step should not be paid for.
func (t *tour) say(what, format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, "%-10s "+format+"\n", append([]any{what}, args...)...); err != nil {
		t.stop(fmt.Errorf("print: %w", err))
	}
}
