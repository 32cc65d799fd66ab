package once

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Dir returns a ledger in a folder, for the processes of one machine that use the same folder. The folder is created if
// it is missing, readable by its owner alone. Entries survive the end of a process and, as far as the file system keeps
// what was synced, of the machine. An empty path is an error of [New].
//
// Each name has a file of its own, with a line of some 350 bytes for each change: two for a new record, and one for
// each 30 seconds of sending. Nothing is ever removed. Delete files of names that are never stored again, or the
// folder, only while no process uses them: see the package documentation for what is then forgotten.
//
// A line that was cut off, by a crash or a full disk, does not count. A file that was damaged otherwise is an error
// that names it, and nothing is sent. What cannot be told from a file that is right is an empty one, and one whose last
// lines are missing, or end before their time.
//
// On a local disk, Linux, macOS and Windows append a line as a whole. Network file systems do not: use a database
// there.
func Dir(path string) Ledger { return dir(path) }

// dir keeps an entry in a file to which each Put appends a line: the version that it replaces, its own, the entry, and
// the first 16 digits of the SHA-256 of all before them. A line counts if it replaces what the lines before it made, so
// of two processes that replace the same version the first one wins, without a lock.
type dir string

const (
	noVersion = "-" // of a name without an entry
	sumLength = 16
)

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
		line := strings.Join([]string{cmp.Or(version, noVersion), own, escape.Replace(string(entry))}, " ")
		if err = d.write(key, line+" "+hash(line)[:sumLength], version == ""); err == nil {
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
	path := filepath.Join(string(d), key)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	made := []string{noVersion} // by the lines that count
	lines := strings.Split(string(data), "\n")
	for n, line := range lines {
		text := strings.TrimRight(line, "\x00") // which some file systems leave after a crash
		tokens := strings.Split(text, " ")
		end := len(text) - sumLength - 1
		switch {
		case line == "":
			continue
		case text == "":
			return nil, "", damage(path, n)
		case len(tokens) < 4 || len(tokens) == 4 && len(tokens[3]) < sumLength:
			// The line break after it, if there is one, is that of the next line.
			ended := n < len(lines)-1 && lines[n+1] == ""
			begun := func(version string) bool {
				return tokens[0] == version || len(tokens) == 1 && strings.HasPrefix(version, text)
			}
			if ended || !slices.ContainsFunc(made, begun) {
				return nil, "", damage(path, n)
			}
			continue
		case len(tokens) > 4 || tokens[3] != hash(text[:max(end, 0)])[:sumLength] || !slices.Contains(made, tokens[0]):
			return nil, "", damage(path, n)
		}
		if own := tokens[1]; tokens[0] == made[len(made)-1] { // else another line was first
			made, entry = append(made, own), []byte(unescape.Replace(tokens[2]))
		}
		if tokens[1] == last {
			break
		}
	}
	if version = made[len(made)-1]; version == noVersion {
		version = ""
	}
	return entry, version, nil
}

func damage(path string, line int) error {
	return fmt.Errorf("%s is damaged at line %d: restore it, or delete it if no create request for its name is open",
		path, line+1)
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

// An entry is one token on one line, so that people can read the file.
var (
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, " ", `\s`)
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\s`, " ")
)
