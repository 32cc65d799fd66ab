// Observe traces and measures the SDK with OpenTelemetry: a span for each call and each attempt, metrics, and log lines with
// trace ids.
//
//	go run .
//
// See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "observe: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(os.Stderr, `Usage: observe

Makes a handful of calls, and prints their spans, log lines and metrics. It takes no arguments.

AICONTENT_BASE_URL and AICONTENT_API_KEY name the deployment, which may bill a transcription of
two seconds. Without a base URL it uses a service in memory. OTEL_EXPORTER_OTLP_ENDPOINT names a
collector that gets the spans and metrics, too.
`)
}

// run is main without the process around it.
func run(ctx context.Context, out io.Writer) (err error) {
	telemetry, err := newTelemetry(ctx, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, telemetry.close(context.WithoutCancel(ctx))) }()

	// The SDK logs attempts at debug level. The metrics do not depend on the level printed.
	lines := slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})
	logs, err := telemetry.handler(lines)
	if err != nil {
		return err
	}
	client, end, err := connect(out, aicontent.WithLogger(slog.New(logs)), aicontent.WithMiddleware(telemetry.transport))
	if err != nil {
		return err
	}
	defer end()
	return tour(ctx, client)
}

// tour makes a handful of calls. The last one fails.
func tour(ctx context.Context, client *aicontent.Client) error {
	_, err := call(ctx, "images.list", func(ctx context.Context) (*aicontent.Page[aicontent.Image], error) {
		return client.Images.List(ctx, aicontent.ImageListParams{Search: "harbor"})
	})
	if err != nil {
		return err
	}
	transcription, err := call(ctx, "transcriptions.store", func(ctx context.Context) (*aicontent.Transcription, error) {
		return client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: "observe", File: aicontent.FileFromBytes("silence.wav", silence()),
		})
	})
	if err != nil {
		return err
	}
	_, err = call(ctx, "transcriptions.delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, client.Transcriptions.Delete(ctx, transcription.ID)
	})
	if err != nil {
		return err
	}
	_, err = call(ctx, "transcriptions.show", func(ctx context.Context) (*aicontent.Transcription, error) {
		return client.Transcriptions.Show(ctx, transcription.ID)
	})
	if !errors.Is(err, aicontent.ErrNotFound) {
		return fmt.Errorf("a deleted transcription is still there: %w", err)
	}
	return nil
}

// silence is two seconds of it, as a WAV file of 8 kHz and 8 bits.
func silence() []byte {
	const header = "RIFF\xa4\x3e\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x80\x3e\x00\x00"
	data := make([]byte, len(header)+16000)
	for i := range data {
		data[i] = 0x80
	}
	copy(data, header)
	return data
}

// connect returns a client for the deployment in the environment, or for a service in memory that refuses the first upload.
func connect(out io.Writer, opts ...aicontent.Option) (*aicontent.Client, func(), error) {
	if os.Getenv("AICONTENT_BASE_URL") != "" {
		client, err := aicontent.NewClientFromEnv(opts...)
		if err != nil {
			return nil, nil, err
		}
		return client, client.CloseIdleConnections, nil
	}
	srv, err := aicontenttest.Start()
	if err != nil {
		return nil, nil, err
	}
	srv.FaultWhen(func(r *aicontenttest.Request) bool { return r.Operation == aicontenttest.TranscriptionsStore }, 1,
		aicontenttest.Status(503, `{"message":"Down for maintenance."}`).WithRetryAfter("1"))
	fmt.Fprintln(out, "AICONTENT_BASE_URL is not set: using a service in memory, which refuses the first upload with 503.")
	return srv.Client(opts...), srv.Close, nil
}
