package main

import (
	"errors"
	"fmt"
	"io"
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
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case err == nil && !overwrite:
		return fmt.Errorf("%s exists, and -demo overwrites nothing", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	part, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(part.Close(), os.Remove(part.Name()))
}
