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

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// audio lists the file name extensions that are taken from a folder. A file that is named may have any.
var audio = strings.Fields(".aac .aif .aiff .amr .caf .flac .m4a .mov .mp3 .mp4 .mpeg .mpga .oga .ogg .opus .wav " +
	".webm .wma")

// collect returns the files at paths, and the recordings in folders, but no hidden ones. The error names what it skips.
func collect(paths []string) (files []string, skipped error) {
	for _, root := range paths {
		if info, err := os.Stat(root); err == nil && info.IsDir() {
			root += string(filepath.Separator) // it may be a link
		}
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			hidden := path != root && strings.HasPrefix(entry.Name(), ".")
			switch {
			case hidden && entry.IsDir():
				return fs.SkipDir
			case hidden || err == nil && entry.IsDir():
				return nil
			case err == nil:
				err = check(path, path != root)
			}
			if err != nil {
				skipped = errors.Join(skipped, skip(path, err))
				return nil
			}
			files = append(files, path)
			return nil
		})
	}
	return files, skipped
}

// check returns why a file is skipped, if it is.
func check(path string, inFolder bool) error {
	info, err := os.Stat(path)
	switch {
	case inFolder && !slices.Contains(audio, strings.ToLower(filepath.Ext(path))):
		return errors.New("not a recording by its extension")
	case err == nil && (!info.Mode().IsRegular() || info.Size() == 0):
		return errors.New("empty, or not a file")
	case err != nil:
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 512))
	if err == nil && strings.HasPrefix(http.DetectContentType(head), "text/") {
		err = errors.New("text, not a recording")
	}
	return err
}

// skip is the error of a file that is skipped.
func skip(path string, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("skipped: %s: %w", field(path), err)
}

// produce queues files, and skips those it cannot read. It may be interrupted and run again.
func produce(ctx context.Context, q *queue, language string, files []string, out io.Writer) (p *producer, err error) {
	p = &producer{q: q, language: aicontent.CountryCode(language), out: out, names: map[string]bool{}}
	for _, path := range files {
		added := p.add(ctx, path)
		if cause, ok := errors.AsType[*fs.PathError](added); ok {
			err = errors.Join(err, skip(path, cause))
		} else if added != nil {
			return p, errors.Join(err, fmt.Errorf("queue %s: %w", field(path), added))
		}
	}
	fmt.Fprintf(out, "Files queued: %d, already known: %d\n", p.queued, p.known)
	return p, err
}

// A producer puts files into the queue.
type producer struct {
	q        *queue
	language aicontent.CountryCode
	out      io.Writer

	queued, known int
	names         map[string]bool // keys of the files' names
}

// add queues a file unless the same content is queued, running or done. A dead job is queued again.
func (p *producer) add(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := newHash(p.language)
	size, err := io.Copy(hash, file)
	if err != nil {
		return err
	}
	id := idOf(hash)
	r, _, err := p.q.read(ctx, id)
	if err == nil && (r.State == "" || r.State == dead) { // if it is queued, its file is there
		err = p.store(ctx, id, file)
	}
	if err != nil {
		return err
	}
	revision, err := p.enter(ctx, id, path)
	if err != nil || revision == 0 {
		return err
	}
	message := encode(job{id, []byte(path), size, p.language})
	return p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		// The message ID lets the queue drop the message if an earlier run, or another producer, has sent it.
		messageID := jetstream.WithMsgID(fmt.Sprintf("%s-%d", id, revision))
		ack, err := p.q.js.Publish(ctx, jobSubject+id, message, messageID)
		switch {
		case err != nil:
			return err
		case ack.Duplicate:
			p.known++
		default:
			p.queued++
		}
		return nil
	})
}

// enter notes the name of a file, and that its job is queued. It returns the revision of the job's record, or 0 if the
// job needs no other message.
func (p *producer) enter(ctx context.Context, id, path string) (revision uint64, err error) {
	name := nameKey(id, path)
	p.names[name] = true
	err = p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		_, err := p.q.jobs.Create(ctx, name, []byte(path))
		if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
		r, was, err := p.q.read(ctx, id)
		switch {
		case err != nil:
			return err
		case r.State == queued: // by a run that was interrupted, or by another producer
			revision = was
		case r.State == "" || r.State == dead:
			revision, err = p.q.jobs.Update(ctx, id, encode(record{State: queued}), was)
		default:
			p.known++
		}
		return err
	})
	return revision, err
}

// store puts the file into the queue before its job, unless its content is no longer the job's.
func (p *producer) store(ctx context.Context, id string, file *os.File) error {
	err := p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return p.q.files.write(ctx, id, &verifier{file, newHash(p.language), id})
	})
	if errors.Is(err, errChanged) {
		err = errors.Join(err, p.q.files.remove(ctx, id))
	}
	return err
}

// A verifier reads a file and fails at its end if it is not the file of a job.
type verifier struct {
	file io.Reader
	hash hash.Hash
	id   string
}

var errChanged = errors.New("changed while it was queued")

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.file.Read(p)
	v.hash.Write(p[:n])
	if err == io.EOF && idOf(v.hash) != v.id {
		err = &fs.PathError{Op: "read", Path: v.id, Err: errChanged}
	}
	return n, err
}

// whenThereIsRoom calls do until the queue is no longer full.
func (p *producer) whenThereIsRoom(ctx context.Context, do func(context.Context) error) error {
	err := patiently(ctx, do)
	if full(err) {
		fmt.Fprintln(p.out, "The queue is full. Waiting for workers, or results -drop, to make room.")
	}
	for full(err) && pause(ctx, time.Second) == nil {
		err = patiently(ctx, do)
	}
	return err
}

// jobID returns a hash of the content and the settings.
func jobID(file io.Reader, language aicontent.CountryCode) (string, error) {
	hash := newHash(language)
	_, err := io.Copy(hash, file)
	return idOf(hash), err
}

func newHash(language aicontent.CountryCode) hash.Hash {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", language)
	return hash
}

func idOf(hash hash.Hash) string { return jobPrefix + hex.EncodeToString(hash.Sum(nil)[:16]) }

// nameKey is the key of a file's name: copies of a recording are one job.
func nameKey(id, path string) string {
	return fmt.Sprintf("%s.%x", id, sha256.Sum256([]byte(path)))[:len(id)+17]
}
