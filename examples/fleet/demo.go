package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// demo runs a service, a queue, a producer and a worker in this process until 40 recordings are transcribed.
func demo(ctx context.Context, out, errOut io.Writer) error {
	service, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
	if err != nil {
		return err
	}
	defer service.Close()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var recordings []string
	for i := range 40 {
		path := filepath.Join(dir, fmt.Sprintf("%02d.wav", i+1))
		if err := os.WriteFile(path, []byte{0, byte(i)}, 0o600); err != nil {
			return err
		}
		recordings = append(recordings, path)
	}
	node, err := startNode(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: dir})
	if err != nil {
		return err
	}
	defer node.WaitForShutdown()
	defer node.Shutdown()
	fmt.Fprintln(errOut, "The service and the queue run in this process: nothing is billed.")
	fmt.Fprintf(errOut, "In another terminal, change the rate: NATS_URL=%s go run . set -rate 5\n", node.ClientURL())
	nc, err := nats.Connect(node.ClientURL())
	if err != nil {
		return err
	}
	q, err := openQueue(ctx, nc, &limits{})
	if err != nil {
		return err
	}
	defer nc.Close()
	log := slog.New(slog.DiscardHandler) // the line a second says what goes wrong
	connect := func(opts ...aicontent.Option) (*aicontent.Client, error) { return service.Client(opts...), nil }
	w, err := newWorker(ctx, q, time.Minute, connect, log)
	if err != nil {
		return err
	}
	busy, end := context.WithCancel(ctx)
	var working sync.WaitGroup
	var worked error
	working.Go(func() {
		worked = w.work(busy, 16)
		end()
	})
	produced := produce(busy, q, "", recordings, errOut)
	watched := watch(busy, q, errOut)
	end()
	working.Wait()
	// An interrupted run, too, prints what it has done.
	return errors.Join(produced, watched, worked, results(context.WithoutCancel(ctx), q, 0, out))
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
