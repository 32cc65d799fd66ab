// Observe traces and measures the SDK with OpenTelemetry: see README.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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

Makes three calls, and prints their spans, log lines and metrics. It takes no arguments.

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

	client, end, err := connect(out, telemetry.options()...)
	if err != nil {
		return err
	}
	defer end()
	return tour(ctx, client)
}

// tour makes three calls. The last one fails.
func tour(ctx context.Context, client *aicontent.Client) error {
	upload := aicontent.TranscriptionStoreParams{Name: "observe", File: aicontent.FileFromBytes("a.wav", silence())}
	made, err := call(ctx, "transcriptions.store", func(ctx context.Context) (*aicontent.Transcription, error) {
		return client.Transcriptions.Store(ctx, upload)
	})
	if err != nil {
		return err
	}
	_, err = call(ctx, "transcriptions.delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, client.Transcriptions.Delete(ctx, made.ID)
	})
	if err != nil {
		return err
	}
	_, err = call(ctx, "transcriptions.show", func(ctx context.Context) (*aicontent.Transcription, error) {
		return client.Transcriptions.Show(ctx, made.ID)
	})
	if !errors.Is(err, aicontent.ErrNotFound) {
		return fmt.Errorf("the deleted transcription %s should not be found, got error: %v", made.ID, err)
	}
	return nil
}

// silence is two seconds of it, as a WAV file of 8 kHz and 8 bits.
func silence() []byte {
	const header = "RIFF\xa4\x3e\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
		"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x80\x3e\x00\x00"
	return append([]byte(header), bytes.Repeat([]byte{0x80}, 16000)...)
}

// connect returns a client for the deployment in the environment, or for a service in memory that refuses an upload.
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
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Status(503, "").WithRetryAfter("1"))
	fmt.Fprintln(out, "AICONTENT_BASE_URL is not set: using a service in memory, which refuses the first upload.")
	return srv.Client(opts...), srv.Close, nil
}
