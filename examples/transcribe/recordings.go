package main

import (
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
	"regexp"
	"slices"
	"strconv"
	"strings"
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
}

// String is the path for people: a file name must not look like another line, or move the cursor.
func (in input) String() string { return printable(in.path) }

// control matches control characters, and bytes that are no characters.
var control = regexp.MustCompile(`\p{Cc}|\x{FFFD}`)

// printable returns the text, quoted if it has control characters.
func printable(text string) string {
	if control.MatchString(text) {
		return strconv.Quote(text)
	}
	return text
}

// A recording is content to transcribe, found in one or more files. It is also the fs.FS that its upload is read from.
type recording struct {
	input          // the first file with the content
	copies []input // the others
	billed bool    // a create request of this run has made its record, or may have
	name   string  // of its record
	size   int64
	sum    [sha256.Size]byte
}

// files returns all files with the content.
func (r *recording) files() []input { return append([]input{r.input}, r.copies...) }

// String names all its files.
func (r *recording) String() string {
	text := r.input.String()
	for _, in := range r.copies {
		text += " = " + in.String()
	}
	return text
}

var errChanged = errors.New("the file changed after it was first read; run again")

// collect finds the files, each once. The results are those of files and folders that cannot be read. The error is that
// two texts would be the same file.
func collect(paths []string) (inputs []input, unread []result, clash error) {
	seen, outputs := make(map[string]bool), make(map[string]input)
	skip := func(path, why string) { unread = append(unread, unreadable(path, errors.New("skipped: "+why))) }
	add := func(path, output string) {
		if seen[filepath.Clean(path)] {
			return
		}
		seen[filepath.Clean(path)] = true
		info, err := os.Stat(path)
		other, taken := outputs[output]
		switch {
		case err != nil:
			unread = append(unread, unreadable(path, err))
		case !info.Mode().IsRegular():
			skip(path, "neither a file nor a folder")
		case taken && sameFile(info, other.path):
		default:
			if taken {
				clash = fmt.Errorf("the texts of %s and %s would both be %s.txt; give one another directory",
					other.path, path, output)
			}
			outputs[output] = input{path, output + ".txt"}
			inputs = append(inputs, outputs[output])
		}
	}
	for _, root := range paths {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			add(root, filepath.Base(root))
			continue
		}
		absolute, _ := filepath.Abs(root)
		folder, empty := filepath.Base(absolute), true // "." has a name too
		// The separator leads into a folder that is a link.
		_ = filepath.WalkDir(root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
			inside, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				unread = append(unread, unreadable(path, err))
			case inside != "." && strings.HasPrefix(entry.Name(), "."):
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.Type()&fs.ModeSymlink != 0 && isFolder(path):
				// It may lead anywhere, and what is there would be paid for.
				skip(path, "a link to a folder, which is searched only if it is named itself")
			case slices.Contains(audio, strings.ToLower(filepath.Ext(inside))) && !entry.IsDir():
				add(path, filepath.Join(folder, inside))
			default:
				return nil
			}
			empty = false
			return nil
		})
		if empty {
			skip(root, "no audio file in it ("+strings.Join(audio, " ")+")")
		}
	}
	return inputs, unread, clash
}

func sameFile(info fs.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func unreadable(path string, err error) result {
	return result{recording: &recording{input: input{path: path}}, status: failed, err: err}
}

// identify reads all files and returns one recording for each distinct content, in the order of the files.
func identify(ctx context.Context, inputs []input, o options) (recordings []*recording, unread []result) {
	byName := make(map[string]*recording)
	for _, in := range inputs {
		r, err := read(ctx, in, o)
		switch {
		case err != nil:
			unread = append(unread, unreadable(in.path, err))
		case byName[r.name] != nil:
			byName[r.name].copies = append(byName[r.name].copies, in)
		default:
			byName[r.name] = r
			recordings = append(recordings, r)
		}
	}
	return recordings, unread
}

// read hashes a file whose text can be saved. The record's name is a hash of everything the text depends on: content
// and settings.
func read(ctx context.Context, in input, o options) (*recording, error) {
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
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("is empty")
	case strings.HasPrefix(http.DetectContentType(head[:n]), "text/"):
		return nil, errors.New("is text, not a recording")
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	}
	content := sha256.New()
	content.Write(head[:n])
	rest, err := io.Copy(content, f)
	if err != nil {
		return nil, err
	}
	r := &recording{input: in, size: int64(n) + rest, sum: [sha256.Size]byte(content.Sum(nil))}
	name := sha256.Sum256(fmt.Appendf(nil, "%x %q %q", r.sum, o.language, o.description))
	r.name = namePrefix + hex.EncodeToString(name[:20])
	return r, nil
}

// sentName is the file name that the service gets, which must not have control characters.
func (r *recording) sentName() string { return control.ReplaceAllString(filepath.Base(r.path), "_") }

// Open opens the recording's file, whatever the name given. Reading it fails if the content is not what was hashed.
func (r *recording) Open(string) (fs.File, error) {
	f, err := os.Open(r.path)
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
