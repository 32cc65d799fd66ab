package once

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Dir returns a ledger in a folder, for the processes of one machine. New creates a missing folder, readable by its
// owner alone. It fails if the path is empty or a file cannot be created there. Entries survive the end of a process
// and, if the file system keeps synced files, a crash of the machine.
//
// Each name has a file, with a line of some 350 bytes for each change: two for a new record, and one for each 30
// seconds of sending. Dir never removes a file. Delete files of names that you never store again, or the whole folder,
// only while no process uses them and if no request was sent within the settle time.
//
// A last line that a crash or a full disk cut off does not count. Any other damage is an error that names the file: the
// call sends no request. Two kinds of damage go unnoticed: an empty file, and missing or incomplete last lines.
//
// On a local disk, Linux, macOS and Windows append a line as a whole. Network file systems do not, and a call waits for
// as long as the file system hangs: use a database there.
//
// The ledger implements [Lister], and ignores files whose name is not a key.
func Dir(path string) Ledger { return dir(path) }

// dir keeps each entry in a file. Each Put appends a line: the SHA-256 of the rest of the line, the replaced version
// (empty for none), the new version and the entry. A line counts if it replaces the version of the last counting line.
// So no lock is necessary: if two processes replace the same version, the first line counts.
type dir string

// history is the content of a file.
type history struct {
	version string          // of the last counting line
	entry   string          // of the last counting line, escaped
	made    map[string]bool // versions of all counting lines, and the empty one
}

func (d dir) Get(ctx context.Context, key string) ([]byte, string, error) {
	h, err := d.read(ctx, key)
	return []byte(unescape.Replace(h.entry)), h.version, err
}

func (d dir) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	h, err := d.read(ctx, key)
	if err == nil && h.version != version {
		err = ErrChanged
	}
	if err != nil {
		return "", err
	}
	own := rand.Text()
	line := strings.Join([]string{version, own, escape.Replace(string(entry))}, " ")
	if err := d.write(key, hash(line)+" "+line); err != nil {
		return "", err
	}
	h, err = d.read(ctx, key)
	if err == nil && !h.made[own] {
		err = ErrChanged
	}
	return own, err
}

// check creates the folder if missing. It returns an error if no file can be written there.
func (d dir) check() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	name := ".check-" + rand.Text()
	return errors.Join(d.write(name, ""), os.Remove(filepath.Join(string(d), name)))
}

// List reads one file at a time.
func (d dir) List(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		files, failed := os.ReadDir(string(d))
		for _, file := range files {
			key := file.Name()
			if !isKey(key) {
				continue
			}
			data, version, err := d.Get(ctx, key)
			e, unreadable := decode(data, version)
			if err = cmp.Or(err, unreadable); err != nil {
				err = fmt.Errorf("%s: %w", key, err)
			}
			if (err != nil || !e.Free()) && !yield(e.State, err) || err != nil && ctx.Err() != nil {
				return
			}
		}
		if failed != nil {
			yield(State{}, failed)
		}
	}
}

// isKey reports whether a text is a key. Capital digits are not allowed, because a file system may ignore case.
func isKey(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// read reads the file of a key.
func (d dir) read(ctx context.Context, key string) (history, error) {
	h := history{made: map[string]bool{"": true}}
	if !isKey(key) {
		return h, fmt.Errorf("the key %.80q must have 64 digits from 0 to 9 and a to f", key)
	}
	if err := ctx.Err(); err != nil {
		return h, err
	}
	path := filepath.Join(string(d), key)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return h, err
	}
	lines := strings.Split(string(data), "\n")
	for n, line := range lines {
		// Each line begins and ends with a line break: a line that was cut off has no empty line behind it.
		whole := n+1 < len(lines) && lines[n+1] == ""
		if line != "" && !h.add(line, whole) {
			return h, fmt.Errorf("%s is damaged at line %d: restore it, "+
				"or delete it if no create request for its name is open", path, n+1)
		}
	}
	return h, nil
}

// add adds a line, and reports false if it is damaged. A line that was cut off does not count.
func (h *history) add(line string, whole bool) bool {
	sum, text, _ := strings.Cut(line, " ")
	tokens := strings.SplitN(text, " ", 3)
	if sum != hash(text) || len(tokens) < 3 {
		// Some file systems leave zeros after a crash. A line with another character as its end was not cut off.
		return !whole && line[0] != 0 && sum != hash(text[:max(len(text)-1, 0)])
	}
	if tokens[0] == h.version {
		h.version, h.entry = tokens[1], tokens[2]
		h.made[h.version] = true
	}
	return h.made[tokens[0]]
}

// write appends a line, and waits until the line and the file's name are on the disk. The line begins with a line
// break, because the line before it may be cut off.
func (d dir) write(key, line string) error {
	f, err := os.OpenFile(filepath.Join(string(d), key), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + line + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil || runtime.GOOS == "windows" { // because Windows cannot sync a folder
		return err
	}
	folder, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// An escaped entry has no line break.
var (
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n")
)
