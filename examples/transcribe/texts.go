package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

var errUnprinted = errors.New("the texts cannot be printed")

// print prints a text, below the names of its files if there are several texts.
func (v *view) print(r *recording, text string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	heading := v.between
	if v.headings {
		v.between = "\n"
		for _, in := range r.files() {
			heading += fmt.Sprintf("# %s\n", in)
		}
	}
	if _, err := io.WriteString(v.texts, heading+text); err != nil {
		return fmt.Errorf("%w: %w", errUnprinted, err)
	}
	return nil
}

// savable returns an error if a text could not be saved at the path, or not without overwriting another. It makes the
// directory.
func savable(path string, overwrite bool) error {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case err == nil && !overwrite:
		return fmt.Errorf("%s exists, and -demo overwrites nothing", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	part, err := newFile(path)
	if err != nil {
		return err
	}
	return errors.Join(part.Close(), os.Remove(part.Name()))
}

// newFile makes a file beside the path, under a name of its own: it opens no file and follows no link that is there.
func newFile(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), ".transcribe-"+rand.Text()+".part")
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// replaceFile writes a file as a whole or not at all. A link at the path is replaced, and what it points to stays.
func replaceFile(path string, data []byte) error {
	part, err := newFile(path)
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) // fails once it has its name
	_, err = part.Write(data)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}
