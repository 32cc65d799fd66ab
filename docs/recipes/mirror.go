package recipes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aicontent/aicontent-go"
)

const largestPicture = 32 << 20

var errLargePicture = errors.New("the picture is larger than 32 MiB")

// limited is a file that takes no more than largestPicture bytes. With Seek and Truncate, Download can start over.
type limited struct{ file *os.File }

func (l limited) Seek(offset int64, whence int) (int64, error) { return l.file.Seek(offset, whence) }
func (l limited) Truncate(size int64) error                    { return l.file.Truncate(size) }

func (l limited) Write(p []byte) (int, error) {
	at, err := l.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if at+int64(len(p)) > largestPicture {
		return 0, errLargePicture
	}
	return l.file.Write(p)
}

// save downloads a picture to a file, which is there whole or not at all: it is written under another name in the same
// folder, and so in the same file system, and then renamed.
func save(ctx context.Context, client *aicontent.Client, image *aicontent.Image, path string) (err error) {
	part, err := os.CreateTemp(filepath.Dir(path), "*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			part.Close()
			os.Remove(part.Name())
		}
	}()
	if _, err := client.Images.Download(ctx, image, limited{part}); err != nil {
		return err
	}
	// Without Sync a power failure may leave an empty file under the new name.
	if err := part.Sync(); err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// mirror makes a folder hold the pictures of all images. The folder is the mirror's alone, and one run at a time works
// on it.
func mirror(ctx context.Context, client *aicontent.Client, folder string) error {
	old, err := pictures(folder)
	if err != nil {
		return err
	}
	var failed []error
	params := aicontent.ImageListParams{PerPage: aicontent.PerPage100}
	for image, err := range client.Images.All(ctx, params, aicontent.WithReadAhead(2)) {
		if err != nil {
			return errors.Join(append(failed, err)...) // what was not listed may still be there: nothing is removed
		}
		name := url.QueryEscape(string(image.ID)) + ".png"
		_, there := old[name]
		delete(old, name)
		if there || image.URL == "" {
			continue
		}
		if err := save(ctx, client, image, filepath.Join(folder, name)); err != nil {
			failed = append(failed, fmt.Errorf("image %s: %w", image.ID, err))
		}
	}
	for name, id := range old {
		// A list can miss a record that is there, as when others are deleted during the walk. Only Show knows.
		_, err := client.Images.Show(ctx, id)
		if gone(err) {
			err = os.Remove(filepath.Join(folder, name))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("image %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

// gone reports whether the service says that there is no such record. It says so in JSON: a proxy's own 404 is a page.
func gone(err error) bool {
	var refused *aicontent.APIError
	return errors.Is(err, aicontent.ErrNotFound) && errors.As(err, &refused) && json.Valid(refused.Body)
}

// pictures returns the IDs of the images whose pictures are in the folder, by the names of their files, and removes
// what a run that was killed has left.
func pictures(folder string) (map[string]aicontent.ID, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	ids := map[string]aicontent.ID{}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".part") {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return nil, err
			}
		}
		escaped, isPicture := strings.CutSuffix(name, ".png")
		if id, err := url.QueryUnescape(escaped); isPicture && err == nil {
			ids[name] = aicontent.ID(id)
		}
	}
	return ids, nil
}
