package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errUnsaved is an error of the disk, such as that it is full. Other texts may have it, too.
var errUnsaved = errors.New("the text cannot be saved")

// save writes a text as a whole or not at all. It overwrites no other text, which somebody may have corrected.
func save(path, text string) error {
	there, err := os.ReadFile(path)
	switch {
	case err == nil && string(there) == text:
		return nil
	case err == nil:
		return fmt.Errorf("%s has another text, perhaps a corrected one; move it away to have the service's", path)
	case errors.Is(err, fs.ErrNotExist):
		err = write(path, text)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsaved, err)
	}
	return nil
}

func write(path, text string) error {
	f, err := temporary(path)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // It fails if the file was renamed.
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// temporary makes the file that becomes the text when it is whole. Its name has all characters of the text's name, and
// is longer: if the file system accepts it, it accepts the other one.
func temporary(path string) (*os.File, error) {
	name := "." + filepath.Base(path) + "." + rand.Text()[:8]
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
}

// savable returns an error if save could not write a text. It makes the directory.
func savable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := temporary(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
