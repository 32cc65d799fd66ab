package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/aicontent/aicontent-go"
)

// audio lists the file name extensions that are taken from a folder. A file named on the command line may have any.
var audio = strings.Fields(".aac .aif .aiff .amr .caf .flac .m4a .mov .mp3 .mp4 .mpeg .mpga .oga .ogg .opus .wav " +
	".webm .wma")

// A recording is a file to transcribe. It is also the fs.FS that its upload is read from.
type recording struct {
	path   string
	output string            // the file of its text
	sum    [sha256.Size]byte // of its content
	name   string            // of its record; empty before it was read
	id     aicontent.ID
	billed bool  // a create request of this run has made its record, or may have
	err    error // nil if it is done; errNotTried, errLater and errInterrupted are no failures
}

// find finds the recordings at the paths, and everything that it skips, with the reason as its error. It fails if two
// texts would be the same file.
func (j *job) find() error {
	add := func(path, output string, err error) {
		output = filepath.Join(j.out, output+".txt")
		j.recordings = append(j.recordings, &recording{path: path, output: output, err: err})
	}
	for _, root := range j.paths {
		if !isFolder(root) {
			add(root, filepath.Base(root), errNotTried)
			continue
		}
		absolute, _ := filepath.Abs(root)
		folder, before := filepath.Base(absolute), len(j.recordings) // "." has a name, too.
		// The slash leads into a folder that is a link.
		_ = filepath.WalkDir(root+"/", func(path string, entry fs.DirEntry, err error) error {
			inside, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				add(path, "", err)
			case inside != "." && strings.HasPrefix(entry.Name(), "."):
				if entry.IsDir() {
					return fs.SkipDir
				}
			case entry.IsDir():
			case isFolder(path): // It may lead anywhere.
				err = errors.New("skipped: a link to a folder, which is searched only if it is named itself")
				add(path, "", err)
			case slices.Contains(audio, strings.ToLower(filepath.Ext(inside))):
				add(path, filepath.Join(folder, inside), errNotTried)
			}
			return nil
		})
		if len(j.recordings) == before {
			add(root, "", fmt.Errorf("skipped: no audio file in it (%s)", strings.Join(audio, " ")))
		}
	}
	sources := make(map[string]string) // of the texts
	for _, r := range j.recordings {
		if j.out == "" || r.err != errNotTried {
			continue
		}
		if other := sources[r.output]; other != "" {
			const text = "the texts of %s and %s would both be %s; give one another directory"
			return fmt.Errorf(text, other, r.path, r.output)
		}
		sources[r.output] = r.path
		r.err = cmp.Or(savable(r.output), r.err)
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// identify reads the file and sets the record's name, a hash of everything the text depends on: content and settings.
func (j *job) identify(ctx context.Context, r *recording) error {
	if r.name != "" {
		return nil
	}
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() {
		return errors.New("skipped: neither a file nor a folder")
	}
	f, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })() // Reading a closed file fails.
	content, head := sha256.New(), make([]byte, 512)
	n, _ := io.ReadFull(f, head) // Its error comes again.
	content.Write(head[:n])
	if _, err := io.Copy(content, f); err != nil {
		return err
	}
	if n > 0 && strings.HasPrefix(http.DetectContentType(head[:n]), "text/") {
		return errors.New("is text, not a recording")
	}
	r.sum = [sha256.Size]byte(content.Sum(nil))
	name := sha256.Sum256(fmt.Appendf(nil, "%x %q %q", r.sum, j.language, j.description))
	r.name = "transcribe-" + hex.EncodeToString(name[:20])
	return nil
}

// Open opens the recording's file, whatever the name given. Its end is an error if the content has changed since it was
// hashed: the upload is then incomplete, so the service makes no record of it under the name of other content.
func (r *recording) Open(string) (fs.File, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, err
	}
	return &checkedFile{f, sha256.New(), r.sum}, nil
}

type checkedFile struct {
	fs.File
	hash hash.Hash
	want [sha256.Size]byte
}

func (f *checkedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.hash.Write(p[:n])
	if err == io.EOF && [sha256.Size]byte(f.hash.Sum(nil)) != f.want {
		err = errChanged
	}
	return n, err
}

// save writes a text as a whole or not at all. It overwrites no other text, because a person may have corrected it.
func save(path, text string) error {
	there, err := os.ReadFile(path)
	switch {
	case err == nil && string(there) != text:
		return fmt.Errorf("%s has another text, perhaps a corrected one; move it away to have the service's", path)
	case errors.Is(err, fs.ErrNotExist):
		err = write(path, text)
	}
	if err != nil {
		return fmt.Errorf("%w: %v", errUnsaved, err)
	}
	return nil
}

func write(path, text string) error {
	f, err := unfinished.create(path)
	if err != nil {
		return err
	}
	defer unfinished.remove(f) // It fails if the file was renamed.
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// savable returns an error if save could not write a text. It makes the directory.
func savable(path string) error {
	if isFolder(path) {
		return fmt.Errorf("%s is a directory", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := unfinished.create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), unfinished.remove(f))
}

// unfinished are the files that become texts when they are whole. If an interrupted program does not end in time,
// it removes them.
var unfinished temporaries

type temporaries struct {
	mu    sync.Mutex
	paths map[string]bool
}

// create creates the file of a text. Its name has all characters of the text's name, and is longer: if the file system
// accepts it, it accepts the other one.
func (t *temporaries) create(path string) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8])
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err == nil {
		if t.paths == nil {
			t.paths = make(map[string]bool)
		}
		t.paths[name] = true
	}
	return f, err
}

func (t *temporaries) remove(f *os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.paths, f.Name())
	return os.Remove(f.Name())
}

// removeAll removes all files, and lets no other be created: the program ends.
func (t *temporaries) removeAll() {
	t.mu.Lock()
	for path := range t.paths {
		os.Remove(path)
	}
}
