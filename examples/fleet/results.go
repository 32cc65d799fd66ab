package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"
)

// A selection says which results a command prints, and what becomes of them.
type selection struct {
	since  time.Time       // of jobs that ended since
	names  map[string]bool // and of files with these keys, if they have ended
	export string          // a folder for the texts, if not empty
	drop   bool            // then removes the jobs from the queue
}

func (s selection) has(name string, r record) bool {
	return r.ended() && (!r.Ended.Before(s.since) || s.names[name])
}

// results prints a row for every file whose job has ended: its text, or why it is dead. It counts the dead jobs.
func results(ctx context.Context, q *queue, s selection, out io.Writer) (died int, err error) {
	records, folder := map[string]record{}, (*os.Root)(nil)
	if s.export != "" {
		if folder, err = openRoot(s.export); err != nil {
			return 0, err
		}
		defer folder.Close()
	}
	err = q.each(ctx, func(id string, r record) error {
		records[id] = r
		if r.State == dead && s.has("", r) {
			died++
		}
		return nil
	})
	if err != nil {
		return died, err
	}
	var names, paths []string // a text that is fetched meanwhile would hold up the watcher
	err = q.watched(ctx, "*.*", func(name string, path []byte) error {
		if id, _, _ := strings.Cut(name, "."); s.has(name, records[id]) {
			names, paths = append(names, id), append(paths, string(path))
		}
		return nil
	})
	for i, id := range names {
		if err == nil {
			err = q.print(ctx, id, records[id], paths[i], folder, out)
		}
	}
	if err != nil || !s.drop {
		return died, err
	}
	if folder != nil {
		if dir, err := folder.Open("."); err == nil { // not every system can
			_ = errors.Join(dir.Sync(), dir.Close())
		}
	}
	left, err := q.unfinished(ctx)
	for id, r := range records {
		// A worker that has ended a job, and not yet removed it from the queue, would not know it.
		if err == nil && s.has("", r) && !left[id] {
			err = q.drop(ctx, id)
		}
	}
	return died, err
}

// drop removes a job. Its record is last, so that an interrupted drop is repeated.
func (q *queue) drop(ctx context.Context, id string) error {
	if err := q.texts.remove(ctx, id); err != nil {
		return err
	}
	return q.jobs.remove(ctx, id)
}

// print prints a row, with the path of the text if it goes to a folder.
func (q *queue) print(ctx context.Context, id string, r record, path string, folder *os.Root, out io.Writer) error {
	text, err := r.Reason, error(nil)
	if r.State == done {
		text, err = q.text(ctx, id)
		if err == nil && folder != nil {
			text, err = export(folder, fileName(path, id), text)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", field(path), r.State, field(string(r.ID)), field(text))
	}
	return err
}

func openRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// fileName names the text of a job in a folder, whatever the recording is called. A recording keeps its name, and
// another of that name has another ID.
func fileName(path, id string) string {
	base := printable(filepath.Base(path))
	base = strings.ToValidUTF8(base[:min(len(base), 200)], "")
	return fmt.Sprintf("%s.%s.txt", base, strings.TrimPrefix(id, jobPrefix)[:8])
}

// export writes a text to a file and returns its path. A file with another content is nobody's to overwrite.
func export(folder *os.Root, name, text string) (path string, err error) {
	path = filepath.Join(folder.Name(), name)
	was, err := folder.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(was, []byte(text)):
		return path, nil
	case err == nil:
		return "", fmt.Errorf("%s has another text; move it away", path)
	case !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	part := name + ".part"
	file, err := folder.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = folder.Rename(part, name)
	}
	return path, err
}

// deadJobs is the error of a command that has met so many dead jobs.
func deadJobs(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("dead jobs: %d", n)
}

// field is a text as a field of a row. What could end the field, or look like another one, makes it a string of Go.
func field(text string) string {
	hidden := func(r rune) bool { return !strconv.IsGraphic(r) || r == utf8.RuneError }
	if strings.HasPrefix(text, `"`) || strings.ContainsFunc(text, hidden) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

// printable is a name without what a system, a terminal or the service may refuse.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
}

// unfinished returns the jobs that have a message in the queue.
func (q *queue) unfinished(ctx context.Context) (map[string]bool, error) {
	messages, err := q.stream.Info(ctx, jetstream.WithSubjectFilter(jobSubject+"*"))
	if err != nil {
		return nil, err
	}
	jobs := map[string]bool{}
	for subject := range messages.State.Subjects {
		jobs[strings.TrimPrefix(subject, jobSubject)] = true
	}
	return jobs, nil
}

// each calls do with every record, until it fails.
func (q *queue) each(ctx context.Context, do func(id string, r record) error) error {
	return q.watched(ctx, "*", func(id string, value []byte) error {
		var r record
		if err := json.Unmarshal(value, &r); err != nil {
			return fmt.Errorf("the record of %s: %w", id, err)
		}
		return do(id, r)
	})
}

// watched calls do with every key of the bucket of jobs that matches, until it fails.
func (q *queue) watched(ctx context.Context, match string, do func(key string, value []byte) error) error {
	changes, err := q.jobs.Watch(ctx, match)
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	defer func() { _ = changes.Stop() }()
	for change := range changes.Updates() {
		if change == nil {
			return nil
		}
		if err := do(change.Key(), change.Value()); err != nil {
			return err
		}
	}
	return ctx.Err()
}
