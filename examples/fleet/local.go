package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// local runs everything on this machine until no job is left: with -deployment on the environment's service and queue.
func local(ctx context.Context, s settings, paths []string, out, errOut io.Writer) error {
	connect := connector(aicontent.NewClientFromEnv)
	if !s.deployment {
		service, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
		if err != nil {
			return err
		}
		defer service.Close()
		connect = func(opts ...aicontent.Option) (*aicontent.Client, error) { return service.Client(opts...), nil }
		// The records end with the service, and so must the results.
		if s.queue, err = os.MkdirTemp("", "fleet-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.queue)
		fmt.Fprintln(errOut, "The service runs in memory: nothing is billed, and texts only say what it received.")
		if len(paths) == 0 {
			fmt.Fprintln(errOut, "No files given: using 40 silent recordings.")
			for i := range 40 {
				paths = append(paths, filepath.Join(s.queue, fmt.Sprintf("recording-%02d.wav", i+1)))
				if err := os.WriteFile(paths[i], silence(i+1), 0o600); err != nil {
					return err
				}
			}
		}
	}
	url, end, err := s.open(ctx, use{start: true})
	if err != nil {
		return err
	}
	defer end()
	if dir := s.folder(); dir != "" {
		fmt.Fprintln(errOut, "The queue runs in this process, with its store in", dir)
		fmt.Fprintf(errOut, "In another terminal, change the rate: %s set -queue %q -rate 5\n", program(), dir)
		if s.queue == "" {
			tellOthers(ctx, dir, errOut)
		}
	}
	q, err := openQueue(ctx, url, &s.limits, s.login...)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	return runAll(ctx, q, s, connect, paths, out, errOut)
}

// silence is a WAV file of so many samples: one channel of 8 bits at 8 kHz.
func silence(samples int) []byte {
	const header = "RIFF%c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
		"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data%c\x00\x00\x00%s"
	return fmt.Appendf(nil, header, 36+samples, samples, strings.Repeat("\x80", samples))
}

// program is how this program was started.
func program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ."
	}
	return filepath.Base(os.Args[0])
}

// runAll runs a worker until the jobs of files, and those that the queue has already, have ended.
func runAll(ctx context.Context, q *queue, s settings, connect connector, paths []string, out, errOut io.Writer) error {
	begin := time.Now()
	w, err := newWorker(q, s.settle, connect, slog.New(slog.DiscardHandler)) // the table shows what goes wrong
	if err != nil {
		return err
	}
	files, skipped := collect(paths)
	if s.deployment {
		if err := w.sayWhatMayBill(ctx, s.language, files, errOut); err != nil {
			return err
		}
	}
	busy, end := context.WithCancelCause(ctx)
	var working sync.WaitGroup
	working.Go(func() { end(w.work(busy, s.concurrency)) })
	made, err := produce(busy, q, s.language, files, errOut)
	_, watched := watch(busy, q, errOut)
	err = errors.Join(err, watched)
	if busy.Err() != nil {
		err = context.Cause(busy)
	}
	end(nil)
	working.Wait()
	// An interrupted run, too, prints what it has done.
	died, printed := results(context.WithoutCancel(ctx), q, selection{since: begin, names: made.names}, out)
	return errors.Join(skipped, err, printed, deadJobs(died))
}

// sayWhatMayBill counts the jobs, of files or queued earlier, whose text the queue does not have and whose
// transcription the service does not list, or cannot: these it may bill.
func (w *worker) sayWhatMayBill(ctx context.Context, language string, files []string, out io.Writer) error {
	jobs, err := w.q.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, path := range files {
		if file, err := os.Open(path); err == nil { // else produce says so
			id, _ := jobID(file, aicontent.CountryCode(language))
			jobs[id] = true
			_ = file.Close()
		}
	}
	err = w.q.each(ctx, func(id string, r record) error {
		if r.State == done {
			delete(jobs, id)
		}
		return nil
	})
	s, _, rated := read[schedule](ctx, w.q.rate, scheduleKey)
	switch {
	case err != nil || rated != nil:
		return errors.Join(err, rated)
	case s.PerSecond == 0:
		fmt.Fprintln(out, "The rate is 0: nothing is sent until set -rate raises it.")
	case len(jobs) > 0:
		fmt.Fprintf(out, "Asking the service which of %d transcriptions it has.\n", len(jobs))
		all := aicontent.TranscriptionListParams{Search: jobPrefix, PerPage: aicontent.PerPage100}
		for t, err := range w.client.Transcriptions.All(ctx, all) {
			if err != nil || len(jobs) == 0 {
				break
			}
			delete(jobs, t.Name)
		}
	}
	fmt.Fprintf(out, "The service may bill %d transcriptions, including files queued earlier.\n", len(jobs))
	return ctx.Err()
}

// startNode runs a NATS server in this process.
func startNode(o *server.Options) (*server.Server, error) {
	o.JetStream, o.NoSigs, o.NoLog = true, true, true
	node, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	go node.Start()
	if !node.ReadyForConnections(30 * time.Second) {
		return nil, errors.New("the NATS server did not start")
	}
	return node, nil
}
