// Fleet transcribes recordings on many machines: a producer puts files into a queue on NATS JetStream, workers
// transcribe them at a rate that they share, and a line a second shows the progress.
//
//	go run .
//
// Without a command the queue, a worker and the service in memory all run in this process. See README.md.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/aicontent/aicontent-go"
)

// Exit statuses, beside 0 for success.
const (
	exitFailed      = 1 // an error, skipped files, or dead letters
	exitUsage       = 2
	exitInterrupted = 130
)

const about = "Transcribes recordings on many machines. AICONTENT_BASE_URL and AICONTENT_API_KEY are the service, " +
	"NATS_URL or -context is the queue. README.md says what keeps a recording from being billed twice."

// Commands, with their flags and arguments.
type (
	commands struct {
		Context string `placeholder:"NAME" help:"NATS context with the address and login of the queue."`

		Demo    struct{}       `cmd:"" default:"1" help:"Transcribe made-up recordings in this process. Bills nothing."`
		Produce produceCommand `cmd:"" help:"Queue files, and the recordings in folders."`
		Work    workCommand    `cmd:"" help:"Run jobs until interrupted."`
		Watch   struct{}       `cmd:"" help:"Show the fleet until no job is left."`
		Set     setCommand     `cmd:"" help:"Change the rate of the whole fleet."`
		Results resultsCommand `cmd:"" help:"Print a row for each job that has ended."`
	}
	produceCommand struct {
		limits
		Language aicontent.CountryCode `placeholder:"CODE" help:"Country code of the language spoken, such as GB."`
		Paths    []string              `arg:"" name:"file|folder"`
	}
	workCommand struct {
		Concurrency int           `default:"4" help:"Jobs that the worker runs at a time (${default})."`
		Settle      time.Duration `default:"15m" help:"At least the time of the longest transcription (${default})."`
	}
	setCommand struct {
		Rate float64 `required:"" placeholder:"N" help:"Requests per second of the whole fleet; 0 stops it."`
	}
	resultsCommand struct {
		Since time.Duration `placeholder:"TIME" help:"Only jobs that ended so long ago or less, such as 24h."`
	}
)

func (c *produceCommand) Validate() error {
	switch {
	case c.Language != "" && !c.Language.Valid():
		return fmt.Errorf("-language must be a country code such as GB, not %q", c.Language)
	case c.AckWait != 0 && c.AckWait < time.Second:
		return fmt.Errorf("-ack-wait must be at least 1s, not %v", c.AckWait)
	case c.Rate != nil:
		return checkRate(*c.Rate)
	}
	return nil
}

func (c *workCommand) Validate() error {
	if c.Concurrency < 1 || c.Settle < time.Second {
		return fmt.Errorf("-concurrency and -settle must be at least 1 and 1s, not %d and %v", c.Concurrency, c.Settle)
	}
	return nil
}

func (c *setCommand) Validate() error { return checkRate(c.Rate) }

func main() {
	// The first interrupt lets workers finish the jobs that they are running. The second one kills, which loses no job.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// oneDash begins a flag as most Go programs write it.
var oneDash = regexp.MustCompile(`^-[a-z][a-z-]`)

// run runs a command until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var c commands
	helped := false
	parser := kong.Must(&c, kong.Name("fleet"), kong.Description(about), kong.Writers(out, errOut),
		kong.Exit(func(int) { helped = true }))
	args = slices.Clone(args)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		args[i] = oneDash.ReplaceAllString(args[i], "-$0")
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return 0
	case err != nil:
		fmt.Fprintf(errOut, "fleet: %s; see fleet -h\n", err)
		return exitUsage
	}
	command := parsed.Selected().Name
	if command == "work" || command == "demo" {
		defer context.AfterFunc(ctx, func() {
			fmt.Fprintln(errOut, "Finishing the running jobs. Interrupt again to leave them to other workers.")
		})()
	}
	err = c.run(ctx, command, out, errOut)
	switch {
	case ctx.Err() != nil && command != "work":
		return exitInterrupted
	case err == nil:
		return 0
	}
	fmt.Fprintf(errOut, "fleet: %s\n", plain(err))
	return exitFailed
}

// run runs a command: the demo, or another on the queue.
func (c *commands) run(ctx context.Context, command string, out, errOut io.Writer) error {
	if command == "demo" {
		return demo(ctx, out, errOut)
	}
	nc, err := connect(c.Context)
	if err != nil {
		return err
	}
	defer nc.Close()
	var create *limits
	if command == "produce" {
		create = &c.Produce.limits
	}
	q, err := openQueue(ctx, nc, create)
	if err != nil {
		return err
	}
	switch command {
	case "produce":
		return produce(ctx, q, c.Produce.Language, c.Produce.Paths, errOut)
	case "work":
		log := slog.New(slog.NewTextHandler(errOut, nil))
		w, err := newWorker(ctx, q, c.Work.Settle, aicontent.NewClientFromEnv, log)
		if err != nil {
			return err
		}
		return w.work(ctx, c.Work.Concurrency)
	case "watch":
		return watch(ctx, q, errOut)
	case "set":
		return setRate(ctx, q.rate, c.Set.Rate)
	}
	return results(ctx, q, c.Results.Since, out)
}
