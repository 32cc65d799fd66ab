package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// A producer puts files into the queue.
type producer struct {
	q        *queue
	language aicontent.CountryCode
	out      io.Writer

	queued, known int
}

// produce queues files, and all files of folders but hidden ones. It may be interrupted and run again.
func (p *producer) produce(ctx context.Context, paths []string) error {
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			hidden := path != root && strings.HasPrefix(entry.Name(), ".")
			switch {
			case err != nil:
				return err
			case hidden && entry.IsDir():
				return fs.SkipDir
			case hidden || !entry.Type().IsRegular():
				return nil
			}
			if err := p.add(ctx, path); err != nil {
				return fmt.Errorf("queue %s: %w", path, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
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
	if r.State != "" && r.State != dead {
		p.known++
		return nil
	}
	if err := p.store(ctx, id, file); err != nil {
		return err
	}
	if r.State == dead {
		r.State, r.Runs, r.Lost = waiting, 0, 0
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := p.q.jobs.Update(ctx, id, data, revision); err != nil {
			return err
		}
	}
	message, err := json.Marshal(job{ID: id, File: path, Language: p.language})
	if err != nil {
		return err
	}
	return p.whenThereIsRoom(ctx, func(ctx context.Context) error {
		// The message ID lets the queue drop the message if an earlier run, or another producer, has sent it.
		ack, err := p.q.js.Publish(ctx, jobSubject+id, message, jetstream.WithMsgID(fmt.Sprintf("%s-%d", id, revision)))
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
	for told := false; ; {
		err := patiently(ctx, time.Minute, do)
		if !full(err) {
			return err
		}
		if !told {
			fmt.Fprintln(p.out, "The queue is full. Waiting until workers have made room.")
			told = true
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// jobID returns a hash of the content and the settings.
func jobID(file io.Reader, language aicontent.CountryCode) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", language)
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return "fleet-" + hex.EncodeToString(hash.Sum(nil)[:16]), nil
}
