package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// local runs the whole fleet on this machine until no job is left: on a queue and a service that end with it or, with
// -deployment, on those in the environment.
func local(ctx context.Context, s settings, paths []string, out, errOut io.Writer) error {
	connect, url, data := connector(aicontent.NewClientFromEnv), os.Getenv("NATS_URL"), ""
	switch {
	case s.deployment && url == "":
		dir, unlock, err := openState(os.Getenv("AICONTENT_BASE_URL"), os.Getenv("AICONTENT_API_KEY"))
		if err != nil {
			return err
		}
		defer unlock()
		data = dir
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
		url = ""
		fmt.Fprintln(errOut, "The service runs in memory: nothing is billed, and texts only say what it received.")
	}
	if url == "" {
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
	if len(paths) == 0 {
		paths = []string{filepath.Join(data, "recordings")}
		if err := makeRecordings(paths[0], 40); err != nil {
			return err
		}
		fmt.Fprintln(errOut, "No files given: 40 recordings of noise.")
	}
	q, err := openQueue(ctx, url, &s.limits, s.login()...)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	return runAll(ctx, q, s, connect, paths, out, errOut)
}

// runAll runs workers until the jobs of files, and those that the queue has already, have ended.
func runAll(ctx context.Context, q *queue, s settings, connect connector, paths []string, out, errOut io.Writer) error {
	workers := make([]*worker, 4)
	for i := range workers {
		w, err := newWorker(q, s.settle, connect, slog.New(slog.DiscardHandler)) // the table shows what goes wrong
		if err != nil {
			return err
		}
		w.name = fmt.Sprintf("%s-%d", w.name, i+1)
		workers[i] = w
	}
	files, skipped := collect(paths)
	if s.deployment {
		fmt.Fprintln(errOut, "Looking for transcriptions that exist.")
		b, err := estimate(ctx, q, workers[0].client, s.language, files)
		if err != nil {
			return err
		}
		fmt.Fprintf(errOut, "The service may bill %d transcriptions and %d queued earlier: %.2f at -price %g.\n",
			b.fresh, b.earlier, float64(b.fresh+b.earlier)*s.price, s.price)
	}
	busy, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			if err := w.work(busy, s.concurrency); err != nil {
				end(err) // no other worker has another key
			}
		})
	}
	err := errors.Join(produce(busy, q, s.language, files, errOut), watch(busy, q, s.price, errOut))
	if busy.Err() != nil {
		err = context.Cause(busy)
	}
	end(nil)
	running.Wait()
	_, printed := printResults(ctx, q, out)
	return errors.Join(skipped, err, printed)
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
		return nil, errors.New("the NATS server does not start")
	}
	return node, nil
}

// makeRecordings writes n different audio files.
func makeRecordings(dir string, n int) error {
	err := os.MkdirAll(dir, 0o700)
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("recording-%03d.wav", i+1))
		err = errors.Join(err, os.WriteFile(path, noise(uint64(i), 100_000), 0o600))
	}
	return err
}

// noise is a WAV file: one channel of 8 bits at 8 kHz.
func noise(seed uint64, samples uint32) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), 36+samples)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	b = le.AppendUint32(b, samples)
	random := rand.New(rand.NewPCG(seed, seed))
	for range samples {
		b = append(b, byte(random.Uint32()))
	}
	return b
}
