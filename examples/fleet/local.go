package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// tethered names the environment variable of a process that ends when its standard input does, and so with its parent.
const tethered = "FLEET_TETHERED"

// local runs the whole fleet on this machine until no job is left. It starts a queue or a service only where the environment
// names none.
func local(ctx, stop context.Context, s settings, paths []string, out io.Writer) (deadJobs int, err error) {
	environment := os.Environ()
	if os.Getenv("AICONTENT_BASE_URL") == "" {
		service, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
		if err != nil {
			return 0, err
		}
		defer service.Close()
		if s.faults > 0 {
			service.Chaos(rand.Uint64(), s.faults)
		}
		environment = append(environment, "AICONTENT_BASE_URL="+service.URL, "AICONTENT_API_KEY="+service.APIKey)
		fmt.Fprintln(out, "AICONTENT_BASE_URL is not set: the service runs in memory, and its texts only say what it received.")
		// The records end with the service, and so must the results.
		if s.data, err = os.MkdirTemp("", "fleet-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(s.data)
		s.settle = min(s.settle, 5*time.Second)
	}
	if len(paths) == 0 {
		recordings := filepath.Join(s.data, "recordings")
		if err := makeRecordings(recordings, 40); err != nil {
			return 0, err
		}
		paths = []string{recordings}
		fmt.Fprintln(out, "No files given: 40 recordings of noise.")
	}
	url := os.Getenv("NATS_URL")
	if url == "" {
		node, err := startNode(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: s.data})
		if err != nil {
			return 0, err
		}
		defer node.Shutdown()
		url = node.ClientURL()
		fmt.Fprintln(out, "NATS_URL is not set: the queue runs in this process, with its store in", s.data)
		fmt.Fprintf(out, "In another terminal, change the rate: NATS_URL=%s go run . rate 5\n", url)
	}
	q, err := makeQueue(stop, url, s.limits)
	if err != nil {
		return 0, err
	}
	defer q.nc.Close()
	end, err := startWorkers(ctx, s, append(environment, "NATS_URL="+url, tethered+"=1"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer sayWhenStopped(stop, out)()
	if err := produce(stop, q, s.language, paths, out); err != nil {
		return 0, err
	}
	if deadJobs, err = watch(stop, q, s.price, out); err != nil {
		return deadJobs, err
	}
	return deadJobs, printResults(stop, q, out)
}

// startWorkers starts worker processes. end asks them to finish and waits for them.
func startWorkers(ctx context.Context, s settings, environment []string) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var workers []*exec.Cmd
	end = func() (err error) {
		for _, w := range workers {
			_ = w.Process.Signal(os.Interrupt)
		}
		for _, w := range workers {
			err = errors.Join(err, w.Wait())
		}
		return err
	}
	for range s.workers {
		w := exec.CommandContext(ctx, self, "work", "-concurrency", strconv.Itoa(s.concurrency), "-settle", s.settle.String())
		w.Env, w.Stderr = environment, os.Stderr
		stdin, err := w.StdinPipe()
		if err != nil {
			return nil, errors.Join(err, end())
		}
		w.Cancel = stdin.Close
		if err := w.Start(); err != nil {
			return nil, errors.Join(err, end())
		}
		workers = append(workers, w)
	}
	return end, nil
}

// makeRecordings writes n different audio files.
func makeRecordings(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("recording-%03d.wav", i+1)), noise(uint64(i), 100_000), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// noise is a WAV file: one channel of 8 bits at 8 kHz.
func noise(seed uint64, samples uint32) []byte {
	var b bytes.Buffer
	b.WriteString("RIFF")
	_ = binary.Write(&b, binary.LittleEndian, 36+samples)
	b.WriteString("WAVEfmt ")
	_ = binary.Write(&b, binary.LittleEndian, struct {
		Size             uint32
		Format, Channels uint16
		Rate, ByteRate   uint32
		Align, Bits      uint16
	}{16, 1, 1, 8000, 8000, 1, 8})
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, samples)
	random := rand.New(rand.NewPCG(seed, seed))
	for range samples {
		b.WriteByte(byte(random.Uint32()))
	}
	return b.Bytes()
}
