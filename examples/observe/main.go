// Observe traces and measures the SDK with OpenTelemetry: see README.md.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"go.opentelemetry.io/otel"
)

func main() {
	// A signal that nohup or a shell has switched off stays off.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)   // the first interrupt still deletes the record, a second one ends the program
	signal.Ignore(syscall.SIGPIPE) // as does whoever reads the output no longer, as after head
	demo := flag.Bool("demo", false, "")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, "observe: telemetry:", err) }))
	terminalAlone()
	err := run(ctx, *demo, flag.Args(), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

const usage = `Usage: observe [-demo]

Stores a transcription of two seconds of silence, which may be billed, deletes it, asks for it once
more, and prints the spans and log lines of these calls.

AICONTENT_BASE_URL and AICONTENT_API_KEY name the deployment. With -demo, a service in memory is
used instead. The standard OTEL_ variables also send spans, metrics and log lines elsewhere:
OTEL_EXPORTER_OTLP_ENDPOINT names a collector. If that is down, nothing fails.

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
	printed := &output{Writer: out}
	telemetry, err := newTelemetry(ctx, base, key, printed)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	defer telemetry.close(context.WithoutCancel(ctx))
	err = tour(ctx, telemetry.client)
	return errors.Join(err, printed.err)
}

// tour makes three calls. The last one fails.
func tour(ctx context.Context, client *aicontent.Client) error {
	names, err := once.New(client, once.InMemory())
	if err != nil {
		return err
	}
	name := "observe " + rand.Text()
	upload := aicontent.TranscriptionStoreParams{Name: name, File: aicontent.FileFromBytes("a.wav", silence())}
	made, err := call(ctx, "transcriptions.store", func(ctx context.Context) (*aicontent.Transcription, error) {
		made, _, err := names.Transcriptions.Store(ctx, upload)
		return made, err
	})
	switch aicontent.OutcomeOf(err) {
	case aicontent.OutcomeNotSent, aicontent.OutcomeRejected:
		return err
	}
	// After any other error there may be a record all the same. It is deleted even after an interrupt.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_, errDelete := call(after, "transcriptions.delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, names.Transcriptions.Delete(ctx, name)
	})
	if errDelete != nil {
		errDelete = fmt.Errorf("the transcription was not deleted: %w", errDelete)
	}
	if err := errors.Join(err, errDelete); err != nil {
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
