package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"
)

// errTexts ends the run: what is paid for must also be had.
var errTexts = errors.New("the texts cannot be printed or saved")

// save writes a text as a whole or not at all. It overwrites no other text: somebody may have corrected it.
func save(path, text string) error {
	there, err := os.ReadFile(path)
	switch {
	case err == nil && string(there) == text:
		return nil
	case err == nil:
		return fmt.Errorf("%s has another text, perhaps a corrected one; move it away to have the service's", path)
	case errors.Is(err, fs.ErrNotExist):
		err = maybe.WriteFile(path, []byte(text), 0o666)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errTexts, err)
	}
	return nil
}

// savable returns an error if a file could not be written at the path. It makes the directory.
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
	probe, err := os.CreateTemp(filepath.Dir(path), ".transcribe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
