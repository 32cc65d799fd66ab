package once

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Dir returns a ledger in a folder, for the processes of one machine. New creates a missing folder, readable by its
// owner alone. It fails if the path is empty or a file cannot be created there. Entries survive the end of a process
// and, if the file system keeps synced files, a crash of the machine.
//
// Each name has a file, with a line of some 350 bytes for each change: two for a new record, and one for each 30
// seconds of sending. Dir never removes a file. Delete files of names that you never store again, or the whole folder,
// only while no process uses them and if no request was sent within the settle time.
//
// A line cut off by a crash or a full disk does not count. Any other damage is an error that names the file: the call
// sends no request. Two kinds of damage go unnoticed: an empty file, and missing or incomplete last lines.
//
// On a local disk, Linux, macOS and Windows append a line as a whole. Network file systems do not: use a database
// there.
//
// The ledger implements [Lister], and ignores files whose name is not a key.
func Dir(path string) Ledger { return dir(path) }

// dir keeps each entry in a file. Each Put appends a line: the replaced version, the new version, the entry, and the
// first 16 digits of the SHA-256 of these. A line counts if it replaces the version of the last counting line. So no
// lock is necessary: if two processes replace the same version, the first line counts.
type dir string

const (
	keyLength  = 64
	checkLimit = 5 * time.Second
)

// fileOperations limits the concurrent operations, because each operation on a file system that hangs occupies a thread
// of the operating system, even after its caller has returned.
var fileOperations = make(chan struct{}, 64)

// interruptible runs a blocking operation. If the context ends, it abandons the operation.
func interruptible[T any](ctx context.Context, operation func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	select {
	case fileOperations <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-fileOperations }()
		value, err := operation()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (d dir) Get(ctx context.Context, key string) ([]byte, string, error) {
	h, err := interruptible(ctx, func() (*history, error) { return d.read(key) })
	if err != nil {
		return nil, "", err
	}
	return []byte(unescape.Replace(h.entry)), strings.TrimPrefix(h.version, noVersion), nil
}

func (d dir) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	text := escape.Replace(string(entry)) // a copy, because the caller may change the slice after Put
	return interruptible(ctx, func() (string, error) {
		h, err := d.read(key)
		if err != nil {
			return "", err
		}
		if h.version != cmp.Or(version, noVersion) {
			return "", ErrChanged
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		own := rand.Text()
		line := strings.Join([]string{h.version, own, text}, " ")
		if err := d.write(key, line+" "+lineSum(line), version == ""); err != nil {
			return "", err
		}
		err = h.follow()
		if err == nil && !h.made[own] {
			err = ErrChanged
		}
		return own, err
	})
}

// check creates the folder if missing. It returns an error if the folder is unusable.
func (d dir) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkLimit)
	defer cancel()
	_, err := interruptible(ctx, func() (f *os.File, err error) {
		if err = os.MkdirAll(string(d), 0o700); err == nil {
			f, err = os.CreateTemp(string(d), ".check-*")
		}
		if err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
		return f, err
	})
	return err
}

// List reads the folder in pieces, and one file at a time.
func (d dir) List(ctx context.Context) iter.Seq2[State, error] {
	const piece = 256
	return func(yield func(State, error) bool) {
		folder, err := interruptible(ctx, func() (*os.File, error) { return os.Open(string(d)) })
		if err != nil {
			yield(State{}, err)
			return
		}
		defer folder.Close()
		for err == nil {
			var names []string
			names, err = interruptible(ctx, func() ([]string, error) { return folder.Readdirnames(piece) })
			for _, name := range names {
				if !isKey(name) {
					continue
				}
				state, failed := d.state(ctx, name)
				if ctx.Err() != nil {
					break
				}
				if (failed != nil || !state.Free()) && !yield(state, failed) {
					return
				}
			}
		}
		if err != io.EOF {
			yield(State{}, err)
		}
	}
}

// state returns the state of a key. Without an entry it is free.
func (d dir) state(ctx context.Context, key string) (s State, err error) {
	entry, version, err := d.Get(ctx, key)
	if err != nil || version == "" {
		return s, err
	}
	if s, err = ParseState(entry); err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(string(d), key), err)
	}
	return s, err
}

func (d dir) read(key string) (*history, error) {
	if !isKey(key) {
		return nil, fmt.Errorf("the key %.80q must have %d digits from 0 to 9 and a to f", key, keyLength)
	}
	h := &history{
		path: filepath.Join(string(d), key), made: map[string]bool{noVersion: true}, version: noVersion, line: 1,
	}
	return h, h.follow()
}

// isKey reports whether a text is a key. Capital digits are not allowed, because a file system may ignore case.
func isKey(text string) bool {
	return len(text) == keyLength && strings.Trim(text, "0123456789abcdef") == ""
}

// write appends a line and waits until the line is on the disk. The line begins with a line break, because the line
// before it may be cut off.
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
	if err := f.Sync(); err != nil || !first || runtime.GOOS == "windows" { // because Windows cannot sync a folder
		return err
	}
	folder, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
