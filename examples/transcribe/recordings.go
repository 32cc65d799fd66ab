package main

import (
	"bufio"
	"context"
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
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// audio lists the file name extensions that are taken from a folder. A file named on the command line may have any.
var audio = strings.Fields(".aac .aif .aiff .amr .caf .flac .m4a .mov .mp3 .mp4 .mpeg .mpga .oga .ogg .opus .wav " +
	".webm .wma")

// namePrefix begins the name of each record.
const namePrefix = "transcribe-"

// An input is a file to transcribe.
type input struct {
	path   string
	output string // of its text, relative to the output directory
	err    error  // why it cannot be read
}

// printable returns a text, quoted if it has control characters: a file name must not look like another line, or move
// the cursor.
func printable(text string) string {
	if strings.ContainsFunc(text, isControl) {
		return strconv.Quote(text)
	}
	return text
}

func isControl(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }

// A recording is content to transcribe, found in one or more files. It is also the fs.FS that its upload is read from.
type recording struct {
	inputs []input
	billed bool   // a create request of this run has made its record, or may have
	name   string // of its record; empty if the file cannot be read
	size   int64
	sum    [sha256.Size]byte
	result
}

// String names all its files.
func (r *recording) String() string {
	var names []string
	for _, in := range r.inputs {
		names = append(names, printable(in.path))
	}
	return strings.Join(names, " = ")
}

var errChanged = errors.New("the file changed after it was first read; run again")

// collect finds the files, each once, and the files and folders that cannot be read. The error is that two texts would
// be the same file.
func collect(o options) (inputs []input, clash error) {
	seen, outputs := make(map[string]bool), make(map[string]string)
	skip := func(path string, why error) { inputs = append(inputs, input{path: path, err: why}) }
	add := func(path, output string) {
		absolute, _ := filepath.Abs(path)
		if seen[absolute] {
			return
		}
		seen[absolute] = true
		switch info, err := os.Stat(path); {
		case err != nil:
			skip(path, err)
		case !info.Mode().IsRegular():
			skip(path, errors.New("skipped: neither a file nor a folder"))
		default:
			if other := outputs[output]; other != "" && o.out != "" {
				clash = fmt.Errorf("the texts of %s and %s would both be %s.txt; give one another directory",
					other, path, output)
			}
			outputs[output] = path
			inputs = append(inputs, input{path: path, output: output + ".txt"})
		}
	}
	for _, root := range o.paths {
		if !isFolder(root) {
			add(root, filepath.Base(root))
			continue
		}
		absolute, _ := filepath.Abs(root)
		folder, empty := filepath.Base(absolute), true // "." has a name, too.
		// The separator leads into a folder that is a link.
		_ = filepath.WalkDir(root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
			inside, _ := filepath.Rel(root, path)
			hidden := inside != "." && strings.HasPrefix(entry.Name(), ".")
			switch {
			case err == nil && hidden && entry.IsDir():
				return fs.SkipDir
			case err == nil && hidden:
				return nil
			case err != nil:
				skip(path, err)
			case entry.Type()&fs.ModeSymlink != 0 && isFolder(path): // It may lead anywhere.
				skip(path, errors.New("skipped: a link to a folder, which is searched only if it is named itself"))
			case slices.Contains(audio, strings.ToLower(filepath.Ext(inside))) && !entry.IsDir():
				add(path, filepath.Join(folder, inside))
			default:
				return nil
			}
			empty = false
			return nil
		})
		if empty {
			skip(root, fmt.Errorf("skipped: no audio file in it (%s)", strings.Join(audio, " ")))
		}
	}
	return inputs, clash
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// identify reads all files and returns one recording for each distinct content, in the order of the files, and one for
// each file that cannot be read.
func identify(ctx context.Context, inputs []input, o options) (recordings []*recording) {
	byName := make(map[string]*recording)
	for _, in := range inputs {
		r, err := read(ctx, in, o)
		if err != nil {
			r = &recording{inputs: []input{in}, result: result{status: failed, err: err}}
		} else if same := byName[r.name]; same != nil {
			same.inputs = append(same.inputs, in)
			continue
		} else {
			byName[r.name] = r
		}
		recordings = append(recordings, r)
	}
	return recordings
}

// read hashes a file whose text can be saved. The record's name is a hash of everything the text depends on: content
// and settings.
func read(ctx context.Context, in input, o options) (*recording, error) {
	if in.err != nil {
		return nil, in.err
	}
	if o.out != "" {
		if err := savable(filepath.Join(o.out, in.output)); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Reading a closed file fails.
	defer context.AfterFunc(ctx, func() { f.Close() })()
	buffered, content := bufio.NewReader(f), sha256.New()
	head, _ := buffered.Peek(512) // Its error comes again.
	text := strings.HasPrefix(http.DetectContentType(head), "text/")
	size, err := io.Copy(content, buffered)
	switch {
	case err != nil:
		return nil, err
	case size == 0:
		return nil, errors.New("is empty")
	case text:
		return nil, errors.New("is text, not a recording")
	}
	sum := [sha256.Size]byte(content.Sum(nil))
	name := sha256.Sum256(fmt.Appendf(nil, "%x %q %q", sum, o.language, o.description))
	return &recording{
		inputs: []input{in}, name: namePrefix + hex.EncodeToString(name[:20]), size: size, sum: sum,
		result: result{status: notTried},
	}, nil
}

// sentName is the file name that the service gets, which must not have control characters.
func (r *recording) sentName() string {
	return strings.Map(func(c rune) rune {
		if isControl(c) {
			return '_'
		}
		return c
	}, filepath.Base(r.inputs[0].path))
}

// Open opens the recording's file, whatever the name given. Reading it fails if the content has changed since it was
// hashed.
func (r *recording) Open(string) (fs.File, error) {
	f, err := os.Open(r.inputs[0].path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != r.size {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &checkedFile{File: f, left: r.size, hash: sha256.New(), want: r.sum}, nil
}

// checkedFile returns an error instead of the file's last bytes if the content does not match the hash. The upload is
// then incomplete, so the service makes no record of it under the name of other content.
type checkedFile struct {
	fs.File
	left int64
	hash hash.Hash
	want [sha256.Size]byte
}

func (f *checkedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.hash.Write(p[:n])
	f.left -= int64(n)
	if n > 0 && f.left <= 0 && [sha256.Size]byte(f.hash.Sum(nil)) != f.want {
		return 0, errChanged
	}
	return n, err
}
