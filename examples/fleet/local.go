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
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// local runs everything on this machine until no job is left: with -deployment on the environment's service and queue.
func local(ctx context.Context, s settings, paths []string, out, errOut io.Writer) error {
	connect, url, data := connector(aicontent.NewClientFromEnv), os.Getenv("NATS_URL"), ""
	switch {
	case !s.deployment:
		service, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
		if err != nil {
			return err
		}
		defer service.Close()
		connect = func(opts ...aicontent.Option) (*aicontent.Client, error) { return service.Client(opts...), nil }
		// The records end with the service, and so must the results.
		if data, err = os.MkdirTemp("", "fleet-"); err != nil {
			return err
		}
		defer os.RemoveAll(data)
		fmt.Fprintln(errOut, "The service runs in memory: nothing is billed, and texts only say what it received.")
		if len(paths) == 0 {
			fmt.Fprintln(errOut, "No files given: using 40 silent recordings.")
			for i := range 40 {
				paths = append(paths, filepath.Join(data, fmt.Sprintf("recording-%02d.wav", i+1)))
				if err := os.WriteFile(paths[i], fmt.Append(nil, "recording ", i+1), 0o600); err != nil {
					return err
				}
			}
		}
	case url == "":
		state, unlock, err := openState(os.Getenv("AICONTENT_BASE_URL"), os.Getenv("AICONTENT_API_KEY"))
		if err != nil {
			return err
		}
		defer unlock()
		data = state
	}
	if data != "" {
		node, err := startNode(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: data})
		if err != nil {
			return err
		}
		defer node.WaitForShutdown()
		defer node.Shutdown()
		url = node.ClientURL()
		fmt.Fprintln(errOut, "The queue runs in this process, with its store in", data)
		fmt.Fprintf(errOut, "In another terminal, change the rate: NATS_URL=%s go run . set -rate 5\n", url)
	}
	q, err := openQueue(ctx, url, &s.limits, s.login...)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	return runAll(ctx, q, s, connect, paths, out, errOut)
}

// runAll runs a worker until the jobs of files, and those that the queue has already, have ended.
func runAll(ctx context.Context, q *queue, s settings, connect connector, paths []string, out, errOut io.Writer) error {
	w, err := newWorker(q, s.settle, connect, slog.New(slog.DiscardHandler)) // the table shows what goes wrong
	if err != nil {
		return err
	}
	files, skipped := collect(paths)
	if s.deployment {
		jobs, err := mayBill(ctx, w, s.language, files)
		if err != nil {
			return err
		}
		fmt.Fprintf(errOut, "The service may bill %d transcriptions, including files queued earlier.\n", jobs)
	}
	busy, end := context.WithCancelCause(ctx)
	var working sync.WaitGroup
	working.Go(func() { end(w.work(busy, s.concurrency)) })
	err = errors.Join(produce(busy, q, s.language, files, errOut), watch(busy, q, errOut))
	if busy.Err() != nil {
		err = context.Cause(busy)
	}
	end(nil)
	working.Wait()
	_, printed := printResults(ctx, q, out)
	return errors.Join(skipped, err, printed)
}

// mayBill counts the jobs, of files or queued earlier, whose text the queue does not have and whose transcription the
// service does not list, or cannot: these it may bill.
func mayBill(ctx context.Context, w *worker, language string, files []string) (int, error) {
	jobs := map[string]bool{}
	for _, path := range files {
		if file, err := os.Open(path); err == nil { // else produce says so
			id, _ := jobID(file, aicontent.CountryCode(language))
			jobs[id] = true
			_ = file.Close()
		}
	}
	messages, err := w.q.stream.Info(ctx, jetstream.WithSubjectFilter(jobSubject+"*"))
	if err != nil {
		return 0, err
	}
	for subject := range messages.State.Subjects {
		jobs[strings.TrimPrefix(subject, jobSubject)] = true
	}
	err = w.q.each(ctx, func(id string, r record) error {
		if r.State == done {
			delete(jobs, id)
		}
		return nil
	})
	all := aicontent.TranscriptionListParams{Search: jobPrefix, PerPage: aicontent.PerPage100}
	for t, err := range w.client.Transcriptions.All(ctx, all) {
		if err != nil || len(jobs) == 0 {
			break
		}
		delete(jobs, t.Name)
	}
	return len(jobs), err
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
