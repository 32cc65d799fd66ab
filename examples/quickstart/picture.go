package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aicontent/aicontent-go"
)

// writable returns an error if the picture cannot be saved in the directory, before anything is paid for.
func writable(dir string) error {
	if info, err := os.Lstat(filepath.Join(dir, pictureName)); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", filepath.Join(dir, pictureName))
	}
	file, err := newFile(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// newFile makes a file in the directory under a name of its own. It opens no file and follows no link that is there.
func newFile(dir string) (*os.File, error) {
	path := filepath.Join(dir, "quickstart-"+strings.ToLower(rand.Text())+".tmp")
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// savePicture downloads the first picture. Its address is the service's choice, often another host, so that a picture
// that cannot be fetched from here is no failure of the tour.
func (t *tour) savePicture(ctx context.Context) error {
	image := t.images[0]
	if image.URL == "" {
		t.say("saved", "nothing: this deployment sends no picture URLs")
		return nil
	}
	path, err := filepath.Abs(filepath.Join(t.dir, pictureName))
	if err != nil {
		return err
	}
	// The picture of an earlier run stays until this one is whole.
	file, err := newFile(t.dir)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails once it has its name
	twice := aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 2})
	n, err := t.client.Images.Download(ctx, image, file, twice)
	if closed := file.Close(); closed != nil {
		return closed
	}
	if err != nil {
		t.say("saved", "nothing: %v", err)
		return nil
	}
	// This replaces a link, and leaves what it points to as it is.
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	t.say("saved", "%s (%s): take a look", path, size(n))
	return nil
}
