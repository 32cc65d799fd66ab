package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
)

// A producer puts files into the queue.
type producer struct {
	q        *queue
	language aicontent.CountryCode
	out      io.Writer

	queued, known, skipped int
}

func produceCommand(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("fleet produce", flag.ContinueOnError)
	language := flags.String("language", "", "country `code` of the language spoken, such as GB")
	replicas := flags.Int("replicas", 1, "`number` of NATS servers that keep a new queue; of 3, one may fail")
	natsContext, err := parse(flags, args, out)
	p := &producer{language: aicontent.CountryCode(*language), out: errOut}
	switch {
	case err != nil:
		return err
	case flags.NArg() == 0:
		return usagef("produce needs the names of files")
	case p.language != "" && !p.language.Valid():
		return usagef("-language must be a country code such as GB, not %q", p.language)
	case *replicas < 1 || *replicas > 5:
		return usagef("-replicas must be 1 to 5, not %d", *replicas)
	}
	if p.q, err = openQueue(ctx, natsContext, *replicas); err != nil {
		return err
	}
	defer p.q.close()
	return p.produce(ctx, flags.Args())
}

// produce queues the files at paths. It skips and names those that cannot be read. It may be interrupted and run again.
func (p *producer) produce(ctx context.Context, paths []string) error {
	for _, path := range paths {
		err := p.add(ctx, path)
		if unfit, ok := errors.AsType[*fs.PathError](err); ok {
			fmt.Fprintf(p.out, "skipped: %q: %v\n", path, unfit.Err)
			p.skipped++
		} else if err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "Files queued: %d, already known: %d\n", p.queued, p.known)
	if p.skipped > 0 {
		return fmt.Errorf("files skipped: %d", p.skipped)
	}
	return nil
}

// unfit returns the error of a file that must be skipped.
func unfit(path, why string) error {
	return &fs.PathError{Op: "queue", Path: path, Err: errors.New(why)}
}

// add opens a file and queues it. While the queue is full or unreachable, it says so and waits. The error of a file
// that must be skipped is a PathError.
func (p *producer) add(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	room := p.q.chunks.CachedInfo().Config.MaxBytes
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() == 0:
		return unfit(path, "empty, or not a file")
	case room > 0 && info.Size()+info.Size()/100 > room: // NATS adds some bytes to each chunk
		return unfit(path, "larger than the queue")
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	id := idOf(p.language, jetstream.GetObjectDigestValue(hash))
	for told := false; ; told = true {
		err := p.queue(ctx, id, file, info.Size())
		if _, skip := errors.AsType[*fs.PathError](err); skip || err == nil || ctx.Err() != nil {
			return err
		}
		if !told {
			fmt.Fprintf(p.out, "waiting for the queue to take %q: %v\n", path, err)
		}
		_ = pause(ctx, 5*time.Second)
	}
}

// queue puts a job into the queue, unless the same content is queued, running or done. It queues a dead job again.
func (p *producer) queue(ctx context.Context, id string, file *os.File, size int64) error {
	_, err := p.q.messages.GetLastMsgForSubject(ctx, jobSubject+id)
	if err == nil {
		p.known++
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return err
	}
	earlier, err := p.q.result(ctx, id)
	if err == nil && earlier.State == done {
		p.known++
		return nil
	}
	if err == nil {
		err = p.store(ctx, id, file, size)
	}
	if err == nil && earlier.State == dead {
		err = p.q.results.Purge(ctx, id)
	}
	if err != nil {
		return err
	}
	message, err := json.Marshal(job{File: file.Name(), Language: p.language})
	if err != nil {
		return err
	}
	// Of several producers of the same content, one sends a message. The others get a 400.
	_, err = p.q.js.Publish(ctx, jobSubject+id, message, jetstream.WithExpectLastSequencePerSubject(0))
	if late, ok := errors.AsType[*jetstream.APIError](err); ok && late.Code == http.StatusBadRequest {
		p.known++
		return nil
	}
	if err == nil {
		p.queued++
	}
	return err
}

// store copies a file into the queue.
func (p *producer) store(ctx context.Context, id string, file *os.File, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, transferTime(size))
	defer cancel()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	info, err := p.q.files.Put(ctx, jetstream.ObjectMeta{Name: id}, file)
	if err == nil && idOf(p.language, info.Digest) != id {
		err = cmp.Or(p.q.removeFile(ctx, id), unfit(file.Name(), "changed while it was queued"))
	}
	return err
}

// idOf returns the ID of a job, which is also the name of its record, from the digest of its file.
func idOf(language aicontent.CountryCode, digest string) string {
	hash := sha256.Sum256([]byte(string(language) + "\n" + digest))
	return "fleet-" + hex.EncodeToString(hash[:16])
}
