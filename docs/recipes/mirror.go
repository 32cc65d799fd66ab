package recipes

import (
	"context"
	"crypto/rand"
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

// limited writes no more than is left.
type limited struct {
	io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errLargePicture
	}
	return l.Writer.Write(p)
}

// save downloads a picture to a file, either whole or not at all: it writes to another name in the same folder, which
// is on the same file system, then renames. The file gets the usual mode. One of os.CreateTemp would be for its owner
// alone.
func save(ctx context.Context, client *aicontent.Client, image *aicontent.Image, path string) (err error) {
	name := filepath.Join(filepath.Dir(path), rand.Text()+".part")
	part, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			part.Close()
			os.Remove(name)
		}
	}()
	if _, err := client.Images.Download(ctx, image, &limited{part, largestPicture}); err != nil {
		return err
	}
	if err := part.Sync(); err != nil { // or a power failure may leave an empty file under the new name
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(name, path)
}

// mirror makes a folder contain the pictures of all images. One run at a time may use the folder, which must
// have no other files.
func mirror(ctx context.Context, client *aicontent.Client, folder string) error {
	old, err := pictures(folder)
	if err != nil {
		return err
	}
	var failed []error
	params := aicontent.ImageListParams{PerPage: aicontent.PerPage100}
	for image, err := range client.Images.All(ctx, params) {
		if err != nil {
			return errors.Join(append(failed, err)...) // an unlisted image may still exist: remove nothing
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
		// A list can miss a record, as when others are deleted during the walk. Only Show is certain.
		_, err := client.Images.Show(ctx, id)
		if errors.Is(err, aicontent.ErrNotFound) {
			err = os.Remove(filepath.Join(folder, name))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("image %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

// pictures returns the image IDs of the pictures in the folder by file name, and removes the files of killed runs.
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
