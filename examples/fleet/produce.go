package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// produce queues files. It skips and names unreadable ones. It may be interrupted and run again.
func produce(ctx context.Context, args []string, out io.Writer) error {
	flags, natsContext := newFlags("produce")
	code := flags.String("language", "", "country `code` of the language spoken, such as GB")
	replicas := flags.Int("replicas", 1, "`number` of NATS servers that keep a new queue; of 3, one may fail")
	flags.Parse(args)
	language := aicontent.CountryCode(*code)
	switch {
	case flags.NArg() == 0:
		return usagef("produce needs the names of files")
	case language != "" && !language.Valid():
		return usagef("-language must be a country code such as GB, not %q", language)
	case *replicas < 1 || *replicas > 5:
		return usagef("-replicas must be 1 to 5, not %d", *replicas)
	}
	q, err := openQueue(ctx, *natsContext, *replicas)
	if err != nil {
		return err
	}
	defer q.close()
	skipped := 0
	for _, path := range flags.Args() {
		err := q.addFile(ctx, path, language, out)
		if unfit, ok := errors.AsType[*fs.PathError](err); ok {
			fmt.Fprintf(out, "skipped: %q: %v\n", path, unfit.Err)
			skipped++
		} else if err != nil {
			return err
		}
	}
	if skipped > 0 {
		return fmt.Errorf("files skipped: %d", skipped)
	}
	return nil
}

// unfit returns the error of a file to skip.
func unfit(path, why string) error {
	return &fs.PathError{Op: "queue", Path: path, Err: errors.New(why)}
}

// addFile opens a file and queues it. While the queue is full or unreachable, it says so and waits. The error of a file
// to skip is a PathError.
func (q *queue) addFile(ctx context.Context, path string, language aicontent.CountryCode, out io.Writer) error {
	info, err := os.Stat(path)
	room := q.chunks.CachedInfo().Config.MaxBytes
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
	id := idOf(language, jetstream.GetObjectDigestValue(hash))
	j := job{State: queued, File: path, Language: language, Size: info.Size()}
	for told := false; ; told = true {
		j.Object = rand.Text() // a new one: the save of an earlier try may still come
		j.Chunks = j.Object
		err := q.add(ctx, id, j, io.NewSectionReader(file, 0, j.Size))
		if _, skip := errors.AsType[*fs.PathError](err); skip || err == nil || ctx.Err() != nil {
			return err
		}
		if !told {
			fmt.Fprintf(out, "waiting for the queue to take %q: %v\n", path, err)
		}
		_ = pause(ctx, 5*time.Second)
	}
}

// add queues a job, unless the same content is queued or done. It queues a dead job again.
func (q *queue) add(ctx context.Context, id string, j job, file io.Reader) error {
	earlier, version, err := q.load(ctx, id)
	if err != nil || version != "" && earlier.State != dead {
		return err
	}
	digest, err := q.put(ctx, j, file)
	if err != nil {
		return errors.Join(err, q.remove(ctx, j))
	}
	if idOf(j.Language, digest) != id {
		return errors.Join(unfit(j.File, "changed while it was queued"), q.remove(ctx, j))
	}
	err = q.save(ctx, id, j, version)
	if errors.Is(err, once.ErrChanged) { // another producer has queued the same content
		return q.remove(ctx, j)
	}
	return err
}

// idOf returns the ID of a job, which is also the name of its record, from the digest of its file.
func idOf(language aicontent.CountryCode, digest string) string {
	hash := sha256.Sum256([]byte(string(language) + "\n" + digest))
	return "fleet-" + hex.EncodeToString(hash[:16])
}
