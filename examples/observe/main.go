// Observe traces and measures the SDK with OpenTelemetry: see README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"go.opentelemetry.io/otel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop() // what was observed until then is sent
	demo := flag.Bool("demo", false, "")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, "observe: telemetry:", err) }))
	terminalAlone()
	if err := run(ctx, *demo, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

const usage = `Usage: observe [-demo]

Shows spans and log lines of calls to the deployment in AICONTENT_BASE_URL and AICONTENT_API_KEY, where
they create nothing, or with -demo, of calls to a service in memory. The standard OTEL_ variables send
them elsewhere too: OTEL_EXPORTER_OTLP_ENDPOINT names a collector.

Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.
`

var errUsage = errors.New("see observe -h")

// run is main without the process around it.
func run(ctx context.Context, demo bool, args []string, out io.Writer) error {
	base, key := os.Getenv("AICONTENT_BASE_URL"), os.Getenv("AICONTENT_API_KEY")
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q; %w", args[0], errUsage)
	case demo:
		srv, err := aicontenttest.Start()
		if err != nil {
			return err
		}
		defer srv.Close()
		srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.Status(429, "").WithRetryAfter("1"))
		base, key = srv.URL, srv.APIKey
	case base == "" || key == "":
		return fmt.Errorf("without -demo, AICONTENT_BASE_URL and AICONTENT_API_KEY must be set; %w", errUsage)
	}
	client, end, err := observed(ctx, base, key, out)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	defer end(context.WithoutCancel(ctx))
	err = call(ctx, "transcriptions.list", func(ctx context.Context) error {
		_, err := client.Transcriptions.List(ctx, aicontent.TranscriptionListParams{})
		return err
	})
	if demo && err == nil { // a deployment would bill it
		err = call(ctx, "transcriptions.store", func(ctx context.Context) error {
			params := aicontent.TranscriptionStoreParams{Name: "Silence"}
			params.File = aicontent.FileFromBytes("silence.wav", make([]byte, 16_000))
			_, err := client.Transcriptions.Store(ctx, params)
			return err
		})
	}
	if err != nil {
		return err
	}
	err = call(ctx, "transcriptions.show", func(ctx context.Context) error {
		_, err := client.Transcriptions.Show(ctx, "999999999")
		return err
	})
	if errors.Is(err, aicontent.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("transcription 999999999 should not be found, got error: %v", err)
}
