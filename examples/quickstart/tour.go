package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
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
	dir            string // where the picture goes
	audio          string // a file of the user's; empty is the recording
	mark           string // begins the name of everything that this run makes
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
	for _, params := range []aicontent.ImageStoreParams{
		{
			Name:        t.mark + ", coast",
			Description: "The coast below the lighthouse, in the last light of the day",
			Resolution:  aicontent.Resolution512x512,
			Style:       aicontent.StyleIllustration,
			Medium:      aicontent.MediumWatercolor,
		},
		{
			Name:        t.mark + ", harbor",
			Description: "The harbor in the fog",
			Resolution:  aicontent.Resolution256x256,
			Filter:      aicontent.FilterSepia,
		},
	} {
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
	switch aicontent.OutcomeOf(err) {
	case aicontent.OutcomeNotSent, aicontent.OutcomeRejected:
	default:
		t.lost = append(t.lost, name)
		t.say("unknown", "whether %q was created: looking for it", name)
	}
	return err
}

// pictureName is the file name of the picture.
const pictureName = "quickstart-coast.png"

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
	params := aicontent.ImageListParams{
		SortBy: aicontent.SortByName, Sort: aicontent.SortAsc, PerPage: aicontent.PerPage100,
	}
	// Each page is on its way before the loop reaches it.
	for image, err := range t.client.Images.All(ctx, params, aicontent.WithReadAhead(4)) {
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
	style, medium := cmp.Or(image.Style.Label(), "no style"), cmp.Or(image.Medium.Label(), "no medium")
	t.say("shown", "%s: %s, %s", image.Name, style, medium)
	// The API promises no time of creation.
	if !image.CreatedAt.IsZero() {
		t.say("", "created %s", image.CreatedAt.Format(time.DateTime))
	}
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
	params := aicontent.TranscriptionStoreParams{Name: t.mark + ", recording"}
	if t.audio != "" {
		params.File = aicontent.FileFromPath(t.audio)
	} else {
		params.File, params.Language = aicontent.FileFromFS(recording, "speech.wav"), "GB"
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
	params := aicontent.TranscriptionUpdateParams{Result: &text}
	transcription, err := t.client.Transcriptions.Update(ctx, transcription.ID, params)
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
	failed := []error{t.findLost(ctx)}
	var images, transcriptions []aicontent.ID
	for _, image := range t.images {
		images = append(images, image.ID)
	}
	for _, transcription := range t.transcriptions {
		transcriptions = append(transcriptions, transcription.ID)
	}
	if len(images)+len(transcriptions) > 0 {
		t.head("Clean-up")
	}
	failed = append(failed,
		t.delete(ctx, "image", images, t.client.Images.Delete),
		t.delete(ctx, "transcription", transcriptions, t.client.Transcriptions.Delete))
	return errors.Join(failed...)
}

// findLost finds what failed Store calls have made, by its name. It returns an error that names what is not there: the
// service may still be making it.
func (t *tour) findLost(ctx context.Context) error {
	var failed []error
	for _, name := range t.lost {
		images, err := aicontent.Collect(t.client.Images.All(ctx, aicontent.ImageListParams{Search: name}))
		failed = append(failed, err)
		transcriptions, err := aicontent.Collect(t.client.Transcriptions.All(ctx,
			aicontent.TranscriptionListParams{Search: name}))
		failed = append(failed, err)
		images = slices.DeleteFunc(images, func(image *aicontent.Image) bool { return image.Name != name })
		transcriptions = slices.DeleteFunc(transcriptions, func(transcription *aicontent.Transcription) bool {
			return transcription.Name != name
		})
		if len(images)+len(transcriptions) == 0 {
			failed = append(failed, fmt.Errorf("%q may still appear, and be billed: look for this name later", name))
		}
		t.images, t.transcriptions = append(t.images, images...), append(t.transcriptions, transcriptions...)
	}
	return errors.Join(failed...)
}

// delete deletes the records once each, and continues if one fails.
func (t *tour) delete(ctx context.Context, kind string, ids []aicontent.ID,
	remove func(context.Context, aicontent.ID, ...aicontent.CallOption) error,
) error {
	var failed []error
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := remove(ctx, id); err != nil {
			failed = append(failed, fmt.Errorf("%s %s is still there: %w", kind, id, err))
			continue
		}
		t.say("deleted", "%s %s", kind, id)
	}
	return errors.Join(failed...)
}

func (t *tour) head(title string) { fmt.Fprintf(t.out, "\n%s\n", title) }

func (t *tour) say(what, format string, args ...any) {
	fmt.Fprintf(t.out, "  %-10s "+format+"\n", append([]any{what}, args...)...)
}

func size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}
