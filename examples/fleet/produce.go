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
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// audio lists the file name extensions that are taken from a folder. A file that is named may have any.
var audio = strings.Fields(".aac .aif .aiff .amr .caf .flac .m4a .mov .mp3 .mp4 .mpeg .mpga .oga .ogg .opus .wav " +
	".webm .wma")

// produce queues the files at paths, and the recordings in folders, but no hidden ones. It skips and names those that
// are none or cannot be read. It may be interrupted and run again.
func produce(ctx context.Context, q *queue, language aicontent.CountryCode, paths []string, out io.Writer) error {
	p := &producer{q: q, language: language, out: out}
	var skipped error
	for _, root := range paths {
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			root += string(filepath.Separator) // it may be a link
		}
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			hidden := path != root && strings.HasPrefix(entry.Name(), ".")
			switch {
			case hidden && entry.IsDir():
				return fs.SkipDir
			case hidden || err == nil && entry.IsDir():
				return nil
			case err == nil:
				err = p.add(ctx, path, path != root)
			}
			if unfit, ok := errors.AsType[*fs.PathError](err); ok {
				skipped = errors.Join(skipped, fmt.Errorf("skipped: %s: %w", field(path), unfit.Err))
				return nil
			}
			return err
		})
		if err != nil {
			return errors.Join(skipped, err)
		}
	}
	fmt.Fprintf(out, "Files queued: %d, already known: %d\n", p.queued, p.known)
	return skipped
}

// open opens a recording. Its error, and that of anything that is none, is a PathError.
func open(path string, inFolder bool) (*os.File, error) {
	unfit := func(why string) error { return &fs.PathError{Op: "open", Path: path, Err: errors.New(why)} }
	info, err := os.Stat(path)
	switch {
	case inFolder && !slices.Contains(audio, strings.ToLower(filepath.Ext(path))):
		return nil, unfit("not a recording by its extension")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() == 0:
		return nil, unfit("empty, or not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512)
	n, _ := file.ReadAt(head, 0)
	if strings.HasPrefix(http.DetectContentType(head[:n]), "text/") {
		return nil, errors.Join(unfit("text, not a recording"), file.Close())
	}
	return file, nil
}

// A producer puts files into the queue.
type producer struct {
	q        *queue
	language aicontent.CountryCode
	out      io.Writer

	queued, known int
	told          bool // that the queue is full
}

// add queues a file unless the same content is queued, running or done. A dead job is queued again, and so is one whose
// producer was interrupted before its message was sent.
func (p *producer) add(ctx context.Context, path string, inFolder bool) error {
	file, err := open(path, inFolder)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := newHash(p.language)
	size, err := io.Copy(hash, file)
	if err != nil {
		return err
	}
	if room := p.q.files.stream.CachedInfo().Config.MaxBytes; inParts(size) > room {
		return &fs.PathError{Op: "queue", Path: path, Err: fmt.Errorf("it has %s, and the queue room for %s; "+
			"produce -room makes more", humanize.Bytes(uint64(size)), humanize.Bytes(uint64(room)))}
	}
	id := idOf(hash)
	r, revision, err := read[record](ctx, p.q.jobs, id)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return err
	}
	if known, err := p.q.hasMessage(ctx, id); err != nil || r.State == done || known && r.State != dead {
		p.known++
		return err
	}
	if err := p.store(ctx, id, file, size); err != nil {
		return err
	}
	next := record{File: []byte(path), Language: p.language}.at(queued, "")
	was := revision
	err = patiently(ctx, func(ctx context.Context) error {
		r = next
		revision, err = p.q.jobs.Update(ctx, id, encode(next), was)
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) { // by another producer, or a try without response
			r, revision, err = read[record](ctx, p.q.jobs, id)
		}
		return err
	})
	if full(err) {
		err = fmt.Errorf("no room for its record; nats stream edit KV_%s --max-bytes makes some: %w", jobsBucket, err)
	}
	if err != nil {
		return err
	}
	if r.State != queued {
		p.known++
		return nil
	}
	return p.send(ctx, id, revision)
}

// send puts a message into the queue, which drops it if it has one of the same revision of the job's record.
func (p *producer) send(ctx context.Context, id string, revision uint64) error {
	return p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		ack, err := p.q.js.Publish(ctx, jobSubject+id, nil, jetstream.WithMsgID(fmt.Sprintf("%s-%d", id, revision)))
		if err == nil && ack.Duplicate {
			p.known++
		} else if err == nil {
			p.queued++
		}
		return err
	})
}

// hasMessage reports whether a job is waiting to be run, or running.
func (q *queue) hasMessage(ctx context.Context, id string) (bool, error) {
	_, err := q.stream.GetLastMsgForSubject(ctx, jobSubject+id)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// store puts the file into the queue, whole or not at all, unless its content is no longer the job's.
func (p *producer) store(ctx context.Context, id string, file *os.File, size int64) error {
	return p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		info, err := p.q.files.stream.Info(ctx)
		if err == nil && inParts(size)+int64(info.State.Bytes) > info.Config.MaxBytes {
			err = errFull
		}
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return err
		}
		hash := newHash(p.language)
		err = p.q.files.write(ctx, id, io.TeeReader(file, hash))
		if err == nil && idOf(hash) != id {
			err = &fs.PathError{Op: "read", Path: file.Name(), Err: errChanged}
		}
		if err != nil { // interrupted, too
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			err = errors.Join(err, p.q.files.remove(ctx, id))
		}
		return err
	})
}

var errChanged = errors.New("changed while it was queued")

// whenThereIsRoom calls do until the queue is no longer full.
func (p *producer) whenThereIsRoom(ctx context.Context, do func(context.Context) error) error {
	err := patiently(ctx, do)
	if full(err) && !p.told {
		fmt.Fprintln(p.out, "The queue is full. Waiting for workers to make room.")
		p.told = true
	}
	for full(err) {
		if err := p.q.sweep(ctx, time.Now().Add(-abandoned)); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		err = patiently(ctx, do)
	}
	return err
}

// abandoned is how old the parts of a file without a job are when its producer must have been killed. One that is alive
// adds a part every few seconds, and gives up after a minute.
const abandoned = 2 * time.Minute

// sweep removes files to which nothing was added since, and which have no job.
func (q *queue) sweep(ctx context.Context, since time.Time) error {
	latest := map[string]time.Time{}
	err := q.files.each(ctx, func(part jetstream.KeyValueEntry) error {
		id, _, _ := strings.Cut(part.Key(), ".")
		if part.Created().After(latest[id]) {
			latest[id] = part.Created()
		}
		return nil
	}, jetstream.MetaOnly())
	for id, added := range latest {
		if err != nil || added.After(since) {
			continue
		}
		var known bool
		if known, err = q.hasMessage(ctx, id); err == nil && !known {
			err = q.files.remove(ctx, id)
		}
	}
	return err
}

func newHash(language aicontent.CountryCode) hash.Hash {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", language)
	return hash
}

func idOf(hash hash.Hash) string { return jobPrefix + hex.EncodeToString(hash.Sum(nil)[:16]) }
