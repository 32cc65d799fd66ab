package once

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Dir returns a ledger in a folder, for the processes of one machine that use the same folder. The folder is created if
// it is missing, readable by its owner alone. Entries survive the end of a process and, as far as the file system keeps
// what was synced, of the machine.
//
// Each name has a file of its own, with a line of some 300 bytes for each change: three for a new record, a hundred for
// one that was waited for during the default settle time, two for each Find of a name that is not there. Nothing is
// ever removed. Delete files of names that are never stored again, or the folder, only while no process uses them: see
// the package documentation for what is then forgotten.
//
// On a local disk, Linux, macOS and Windows append a line as a whole. Network file systems do not: use a database
// there.
func Dir(path string) Ledger { return dir(path) }

// dir keeps an entry in a file to which each Put appends a line: the version that it replaces, its own, the entry, and
// its own once more. A line counts if it is complete and replaces what the lines before it made, so of two processes
// that replace the same version the first one wins, without a lock.
type dir string

func (d dir) Get(ctx context.Context, key string) ([]byte, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	return d.read(key, "")
}

func (d dir) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	_, now, err := d.Get(ctx, key)
	if err == nil && now == version {
		own := rand.Text()
		line := fmt.Sprintf("%s %s %s %[2]s", none(version), own, escape.Replace(string(entry)))
		if err = d.write(key, line, version == ""); err == nil {
			_, now, err = d.read(key, own)
			version = own
		}
	}
	switch {
	case err != nil:
		return "", err
	case now != version:
		return "", ErrChanged
	}
	return version, nil
}

// read returns the entry of the last line that counts, or of the line that made the version last, if that counts.
func (d dir) read(key, last string) (entry []byte, version string, err error) {
	data, err := os.ReadFile(filepath.Join(string(d), key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	for line := range bytes.Lines(data) {
		replaced, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		own, rest, _ := strings.Cut(rest, " ")
		text, complete := strings.CutSuffix(rest, " "+own)
		if !complete || replaced != none(version) {
			continue // It was cut off, or another line was first.
		}
		entry, version = []byte(unescape.Replace(text)), own
		if own == last {
			break
		}
	}
	return entry, version, nil
}

// write appends a line, and returns when it is on the disk. A line begins with a line break, as the one before it may
// have been cut off.
func (d dir) write(key, line string, first bool) error {
	if first {
		if err := os.MkdirAll(string(d), 0o700); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(filepath.Join(string(d), key), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString("\n" + line + "\n"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || !first || runtime.GOOS == "windows" { // which cannot sync a folder
		return err
	}
	folder, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// none returns the version, or how an empty one is written.
func none(version string) string {
	if version == "" {
		return "-"
	}
	return version
}

// An entry is on one line, so that people can read the file.
var (
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)
