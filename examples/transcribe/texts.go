package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A printer prints texts, each with the names of its files above if there is more than one.
type printer struct {
	w        io.Writer
	headings bool

	mu      sync.Mutex
	between string // what comes before the next one
}

var errUnprinted = errors.New("the texts cannot be printed")

func (p *printer) print(r *recording, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	heading := p.between
	if p.headings {
		p.between = "\n"
		for _, in := range r.files() {
			heading += fmt.Sprintf("# %s\n", in)
		}
	}
	if _, err := io.WriteString(p.w, heading+text); err != nil {
		return fmt.Errorf("%w: %w", errUnprinted, err)
	}
	return nil
}

// savable returns an error if a text could not be saved at the path. It makes the directory.
func savable(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
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
