package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
func local(ctx context.Context, s settings, paths []string, out io.Writer) error {
	connect, url, data := connector(aicontent.NewClientFromEnv), os.Getenv("NATS_URL"), ".fleet"
	if !s.deployment {
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
		fmt.Fprintln(out, "The service runs in memory: nothing is billed, and texts only say what it received.")
	}
	if url == "" {
		node, err := startNode(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: data})
		if err != nil {
			return err
		}
		defer node.Shutdown()
		url = node.ClientURL()
		fmt.Fprintln(out, "The queue runs in this process, with its store in", data)
		fmt.Fprintf(out, "In another terminal, change the rate: NATS_URL=%s go run . set -rate 5\n", url)
	}
	if len(paths) == 0 {
		paths = []string{filepath.Join(data, "recordings")}
		if err := makeRecordings(paths[0], 40); err != nil {
			return err
		}
		fmt.Fprintln(out, "No files given: 40 recordings of noise.")
	}
	q, err := openQueue(ctx, url, &s.limits)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	return runAll(ctx, q, s, connect, paths, out)
}

// runAll runs workers until the jobs of files, and those that the queue has already, have ended.
func runAll(ctx context.Context, q *queue, s settings, connect connector, paths []string, out io.Writer) error {
	files, skipped := collect(paths)
	if jobs, earlier := len(files), int(q.stream.CachedInfo().State.Msgs); s.deployment {
		fmt.Fprintf(out, "The service may bill %d transcriptions and %d queued earlier: %.2f at -price %g.\n",
			jobs, earlier, float64(jobs+earlier)*s.price, s.price)
	}
	busy, end := context.WithCancelCause(ctx)
	defer end(nil)
	var workers sync.WaitGroup
	for i := range 4 {
		w, err := newWorker(q, s.settle, connect)
		if err != nil {
			return err
		}
		w.name = fmt.Sprintf("%s-%d", w.name, i+1)
		workers.Go(func() {
			if err := w.work(busy, s.concurrency); err != nil {
				end(err) // no other worker has another key
			}
		})
	}
	err := errors.Join(produce(busy, q, s.language, files, out), watch(busy, q, s.price, out))
	if busy.Err() != nil {
		err = context.Cause(busy)
	}
	end(nil)
	workers.Wait()
	return errors.Join(skipped, err, printResults(ctx, q, out))
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
