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
	"syscall"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"go.opentelemetry.io/otel"
)

var errUsage = errors.New("see observe -h")

func main() {
	demo := flag.Bool("demo", false, "call a service in memory, not that in AICONTENT_BASE_URL and AICONTENT_API_KEY")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)   // The first signal ends the call, a second one the program.
	signal.Ignore(syscall.SIGPIPE) // A pipe without a reader is an error of the write.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, "observe: telemetry:", err) }))
	if err := run(ctx, *demo, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// run is main without the process around it.
func run(ctx context.Context, demo bool, args []string, stdout io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; %w", args[0], errUsage)
	}
	var out bytes.Buffer // An exporter would report each write to stdout that fails.
	opts, end, err := telemetry(ctx, &out)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	var client *aicontent.Client
	if demo {
		srv, err := aicontenttest.Start()
		if err != nil {
			return err
		}
		defer srv.Close()
		srv.FaultOn(aicontent.TranscriptionsStore, 1, aicontenttest.Status(429, "").WithRetryAfter("1"))
		client = srv.Client(opts...)
	} else if client, err = aicontent.NewClientFromEnv(opts...); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	err = call(ctx, "transcriptions.list", func(ctx context.Context) error {
		_, err := client.Transcriptions.List(ctx, aicontent.TranscriptionListParams{})
		return err
	})
	if demo && err == nil { // A deployment would bill it.
		err = call(ctx, "transcriptions.store", func(ctx context.Context) error {
			file := aicontent.FileFromBytes("silence.wav", make([]byte, 16_000))
			_, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "Silence", File: file})
			return err
		})
	}
	end(context.WithoutCancel(ctx)) // The spans of an interrupted run are sent, too.
	_, errOut := out.WriteTo(stdout)
	return errors.Join(err, errOut)
}
