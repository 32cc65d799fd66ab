package once

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	noVersion = "-" // version of a missing entry
	sumLength = 16
)

// history is the content of a file of [Dir], up to the last read.
type history struct {
	path    string
	made    map[string]bool // versions of the counting lines
	version string          // of the last counting line
	entry   string          // of the last counting line, escaped
	size    int64           // bytes read, without an unfinished last line
	line    int             // number of the next line
}

// follow reads the lines appended since its last call.
func (h *history) follow() error {
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(h.size, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	for rest := string(data); rest != ""; {
		line, after, broken := strings.Cut(rest, "\n")
		condition := h.add(line)
		if condition == torn && !broken {
			return nil
		}
		// A torn line has no line break of its own: the next line begins with one.
		if condition == damaged || condition == torn && (after == "" || after[0] == '\n') {
			return fmt.Errorf("%s is damaged at line %d: restore it, "+
				"or delete it if no create request for its name is open", h.path, h.line)
		}
		h.size += int64(len(rest) - len(after))
		if broken {
			h.line++
		}
		rest = after
	}
	return nil
}

// condition is the condition of a line.
type condition int

const (
	intact condition = iota
	torn             // cut off, so it does not count
	damaged
)

// add adds a line. It counts if it replaces the version of the last counting line. Otherwise another line was first.
func (h *history) add(line string) condition {
	if line == "" {
		return intact
	}
	text := strings.TrimRight(line, "\x00") // because some file systems leave zeros after a crash
	tokens := strings.Split(text, " ")
	replaced, known := tokens[0], h.made[tokens[0]]
	if len(tokens) < 4 || len(tokens) == 4 && len(tokens[3]) < sumLength {
		if known || len(tokens) == 1 && h.beginsVersion(text) {
			return torn
		}
		return damaged
	}
	own, entry, sum := tokens[1], tokens[2], tokens[3]
	if len(tokens) > 4 || !known || lineSum(strings.TrimSuffix(text, " "+sum)) != sum {
		return damaged
	}
	if replaced == h.version {
		h.version, h.entry, h.made[own] = own, entry, true
	}
	return intact
}

// beginsVersion reports whether a version in the file begins with the text.
func (h *history) beginsVersion(text string) bool {
	if text == "" || strings.HasPrefix(h.version, text) {
		return text != ""
	}
	for version := range h.made {
		if strings.HasPrefix(version, text) {
			return true
		}
	}
	return false
}

func lineSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:sumLength]
}

// An escaped entry is one token on one line, and people can read the file.
var (
	escape   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, " ", `\s`)
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r", `\s`, " ")
)
