package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

// The recording is five seconds of English, spoken by espeak-ng.
//
//go:embed speech.wav
var recording embed.FS

// spoken is what the recording says.
const spoken = "The lighthouse keeper counts the ships at dusk, and writes their names into a book."

// tour is one run and what it has made so far.
type tour struct {
	client         *aicontent.Client
	out            io.Writer
	picture        *os.File // where the picture goes until it is whole
	path           string   // where it goes then
	audio          string   // a file of the user's; empty is the recording
	mark           string   // begins the name of everything that this run makes
	images         []*aicontent.Image
	transcriptions []*aicontent.Transcription
	lost           []string // names of records that a failed Store call may have created
}

// take takes the steps up to the first that fails, and cleans up in any case.
func (t *tour) take(ctx context.Context) (err error) {
	defer func() {
		if failed := t.cleanUp(ctx); failed != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", failed))
		}
	}()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		// The SDK refuses an empty file, a PDF or a picture before it sends anything, so this comes before the images.
		{"upload the recording", t.upload},
		{"correct the result", t.correct},
		{"store the images", t.storeImages},
		{"save a picture", t.savePicture},
		{"list with a filter", t.list},
		{"walk all pages", t.walkPages},
		{"show an image", t.show},
		{"make an image a favorite", t.favorite},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (t *tour) storeImages(ctx context.Context) error {
	t.head("Images")
	for _, params := range []aicontent.ImageStoreParams{{
		Name: t.mark + ", coast", Resolution: aicontent.Resolution512x512, Style: aicontent.StyleIllustration,
		Medium: aicontent.MediumWatercolor, Description: "The coast below the lighthouse, in the last light of the day",
	}, {
		Name: t.mark + ", harbor", Resolution: aicontent.Resolution256x256, Filter: aicontent.FilterSepia,
		Description: "The harbor in the fog",
	}} {
		image, err := t.client.Images.Store(ctx, params)
		if err != nil {
			return t.notStored(params.Name, err)
		}
		t.images = append(t.images, image)
		t.say("stored", "%s (id %s, %s)", image.Name, image.ID, params.Resolution.Label())
	}
	return nil
}

// notStored notes a Store call that failed but may have created its record, which must then be deleted too.
func (t *tour) notStored(name string, err error) error {
	if o := aicontent.OutcomeOf(err); o != aicontent.OutcomeNotExecuted {
		t.lost = append(t.lost, name)
		t.say("unknown", "whether %q was created: looking for it", name)
	}
	return err
}

// open makes the file of the picture, before anything is paid for. The picture of an earlier run stays until this one
// is whole.
func (t *tour) open(dir string) (err error) {
	if t.path, err = filepath.Abs(filepath.Join(dir, "quickstart-coast.png")); err == nil {
		t.picture, err = os.CreateTemp(dir, "quickstart-*.tmp")
	}
	return err
}

// savePicture downloads the first picture. Its address is the service's choice, often another host, so that a picture
// that cannot be fetched from here is no failure of the tour.
func (t *tour) savePicture(ctx context.Context) error {
	image := t.images[0]
	if image.URL == "" {
		t.say("saved", "nothing: this deployment sends no picture URLs")
		return nil
	}
	twice := aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 2})
	n, err := t.client.Images.Download(ctx, image, t.picture, twice)
	if err != nil {
		t.say("saved", "nothing: %v", err)
		return nil
	}
	if err := t.picture.Close(); err != nil {
		return err
	}
	// This replaces a link, and leaves what it points to as it is.
	if err := os.Rename(t.picture.Name(), t.path); err != nil {
		return err
	}
	t.say("saved", "%s (%s): take a look", t.path, size(n))
	return nil
}

func (t *tour) list(ctx context.Context) error {
	page, err := t.client.Images.List(ctx, aicontent.ImageListParams{Search: t.mark, Filter: aicontent.FilterSepia})
	if err != nil {
		return err
	}
	t.say("listed", "%d of them in %s", len(page.Items), strings.ToLower(aicontent.FilterSepia.Label()))
	for _, image := range page.Items {
		t.say("", "%s", image.Name)
	}
	return nil
}

func (t *tour) walkPages(ctx context.Context) error {
	all, own := 0, 0
	params := aicontent.ImageListParams{SortBy: aicontent.SortByName, PerPage: aicontent.PerPage100}
	// Each page is on its way before the loop reaches it.
	for image, err := range t.client.Images.All(ctx, params) {
		if err != nil {
			return err
		}
		all++
		if strings.HasPrefix(image.Name, t.mark) {
			own++
		}
	}
	t.say("walked", "all pages: %d images, %d of them from this run", all, own)
	return nil
}

func (t *tour) show(ctx context.Context) error {
	image, err := t.client.Images.Show(ctx, t.images[0].ID)
	if err != nil {
		return err
	}
	t.say("shown", "%s: %s, %s", image.Name,
		cmp.Or(image.Style.Label(), "no style"), cmp.Or(image.Medium.Label(), "no medium"))
	return nil
}

func (t *tour) favorite(ctx context.Context) error {
	image, err := t.client.Images.Update(ctx, t.images[0].ID, aicontent.ImageUpdateParams{Favorite: new(true)})
	if err != nil {
		return err
	}
	t.say("updated", "%s, favorite: %t", image.Name, image.Favorite)
	return nil
}

func (t *tour) upload(ctx context.Context) error {
	t.head("Transcription")
	params := aicontent.TranscriptionStoreParams{
		Name: t.mark + ", recording", File: aicontent.FileFromFS(recording, "speech.wav"), Language: "GB",
	}
	if t.audio != "" {
		params.File, params.Language = aicontent.FileFromPath(t.audio), ""
	}
	tenth := int64(-1)
	progress := func(p aicontent.Progress) {
		// A line for each tenth is enough to read.
		if now := 10 * p.Sent / max(p.Total, 1); now != tenth {
			tenth = now
			t.say("uploading", "%s of %s", size(p.Sent), size(p.Total))
		}
	}
	transcription, err := t.client.Transcriptions.Store(ctx, params, aicontent.WithProgress(progress))
	if err != nil {
		return t.notStored(params.Name, err)
	}
	t.transcriptions = append(t.transcriptions, transcription)
	t.say("stored", "%s (id %s)", transcription.Name, transcription.ID)
	t.say("result", "%s", transcription.Result)
	return nil
}

func (t *tour) correct(ctx context.Context) error {
	transcription, text := t.transcriptions[0], spoken
	if t.audio != "" {
		text = strings.TrimSpace(transcription.Result + " (checked)")
	}
	transcription, err := t.client.Transcriptions.Update(ctx, transcription.ID,
		aicontent.TranscriptionUpdateParams{Result: &text})
	if err != nil {
		return err
	}
	t.say("corrected", "%s", transcription.Result)
	return nil
}

// cleanUp deletes what this run has created, even after an interrupt.
func (t *tour) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var failed []error
	for _, name := range t.lost {
		failed = append(failed, t.find(ctx, name))
	}
	t.head("Clean-up")
	deleted := func(kind string, id aicontent.ID, err error) {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s %s is still there: %w", kind, id, err))
			return
		}
		t.say("deleted", "%s %s", kind, id)
	}
	for _, image := range t.images {
		deleted("image", image.ID, t.client.Images.Delete(ctx, image.ID))
	}
	for _, transcription := range t.transcriptions {
		deleted("transcription", transcription.ID, t.client.Transcriptions.Delete(ctx, transcription.ID))
	}
	return errors.Join(failed...)
}

// find finds what a failed Store call has made, by its name. It is an error if that is not there: the service may still
// be making it.
func (t *tour) find(ctx context.Context, name string) error {
	if image, err := t.client.Images.FindByName(ctx, name); err == nil {
		t.images = append(t.images, image)
		return nil
	}
	transcription, err := t.client.Transcriptions.FindByName(ctx, name)
	if err != nil {
		return fmt.Errorf("%q may still appear, and be billed: look for this name later", name)
	}
	t.transcriptions = append(t.transcriptions, transcription)
	return nil
}

func (t *tour) head(title string) { fmt.Fprintf(t.out, "\n%s\n", title) }

func (t *tour) say(what, format string, args ...any) {
	fmt.Fprintf(t.out, "  %-10s "+format+"\n", append([]any{what}, args...)...)
}

func size(bytes int64) string { return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10)) }
