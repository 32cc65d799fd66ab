package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
func produce(ctx context.Context, q *queue, language string, files []string, out io.Writer) (skipped error) {
	p := &producer{q: q, language: aicontent.CountryCode(language), out: out}
	for _, path := range files {
		err := p.add(ctx, path)
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			skipped = errors.Join(skipped, skip(path, err))
		} else if err != nil {
			return errors.Join(skipped, fmt.Errorf("queue %s: %w", field(path), err))
		}
	}
	fmt.Fprintf(out, "Files queued: %d, already known: %d\n", p.queued, p.known)
	return skipped
}

// A producer puts files into the queue.
type producer struct {
	q        *queue
	language aicontent.CountryCode
	out      io.Writer

	queued, known int
}

// add queues a file unless the same content is queued, running or done. A dead job is queued again.
func (p *producer) add(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	id, err := jobID(file, p.language)
	if err != nil {
		return err
	}
	r, revision, err := p.q.read(ctx, id)
	if err != nil {
		return err
	}
	if r.State != "" && r.State != queued && r.State != dead {
		p.known++
		return nil
	}
	if err := p.store(ctx, id, file); err != nil {
		return err
	}
	if r.State == dead {
		c := &claim{q: p.q, id: id, record: r, revision: revision}
		if err := c.write(ctx, func(r *record) { r.State, r.Runs, r.Lost = queued, 0, 0 }); err != nil {
			return err
		}
		revision = c.revision
	}
	message := encode(job{ID: id, File: path, Language: p.language})
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

// store puts the file into the bucket before the job is queued.
func (p *producer) store(ctx context.Context, id string, file *os.File) error {
	if _, err := p.q.files.GetInfo(ctx, id); !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := p.q.files.Put(ctx, jetstream.ObjectMeta{Name: id}, file)
		return err
	})
}

// whenThereIsRoom calls do until the queue is no longer full.
func (p *producer) whenThereIsRoom(ctx context.Context, do func(context.Context) error) error {
	err := patiently(ctx, do)
	if full(err) {
		fmt.Fprintln(p.out, "The queue is full. Waiting for workers to make room.")
	}
	for full(err) && pause(ctx, time.Second) == nil {
		err = patiently(ctx, do)
	}
	return err
}

// jobID returns a hash of the content and the settings.
func jobID(file io.Reader, language aicontent.CountryCode) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", language)
	_, err := io.Copy(hash, file)
	return jobPrefix + hex.EncodeToString(hash.Sum(nil)[:16]), err
}

// A bucket holds what may be larger than a message of NATS, in chunks.
type bucket struct {
	jetstream.ObjectStore
	stream jetstream.Stream // of the chunks
}

// fetch copies a job's object by chunks. If a node dies meanwhile, ObjectStore.Get waits until its deadline.
func (b bucket) fetch(ctx context.Context, id string, to io.Writer) error {
	info, err := b.GetInfo(ctx, id)
	if err != nil {
		return err
	}
	next, subject := uint64(1), jetstream.WithGetMsgSubject(chunkSubject(info))
	for range info.Chunks {
		err := patiently(ctx, func(ctx context.Context) error {
			chunk, err := b.stream.GetMsg(ctx, next, subject)
			if err != nil {
				return err
			}
			next = chunk.Sequence + 1
			_, err = to.Write(chunk.Data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remove purges a job's object. ObjectStore.Delete writes a marker, for which a full bucket has no room.
func (b bucket) remove(ctx context.Context, id string) error {
	info, err := b.GetInfo(ctx, id)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(chunkSubject(info))); err != nil {
		return err
	}
	name := base64.URLEncoding.EncodeToString([]byte(id))
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+info.Bucket+".M."+name))
}

// chunkSubject is the subject of an object's chunks, and of no other's.
func chunkSubject(info *jetstream.ObjectInfo) string { return "$O." + info.Bucket + ".C." + info.NUID }
