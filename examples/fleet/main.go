// Fleet transcribes recordings on many machines. A producer puts recordings into a queue on NATS JetStream, workers
// transcribe them, and each recording becomes one record, wherever a worker is killed. See README.md.
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
)

// Exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1 // an error, skipped files, or dead letters
	exitUsage       = 2 // wrong arguments or environment
	exitInterrupted = 130
)

const usage = `Usage:
  fleet produce [flags] FILE...  queue recordings
  fleet work [flags]             transcribe recordings until interrupted
  fleet results [flags]          print a row for each recording that has ended

NATS_URL, or a context of the nats command, names the queue. AICONTENT_BASE_URL and
AICONTENT_API_KEY name the service. For the flags of a command: fleet COMMAND -h
`

// A usageError is a mistake in the arguments or the environment.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	// The first interrupt lets a worker finish its running jobs. The second one kills it, which loses no job.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	err := usagef("the first argument must be produce, work or results; see fleet -h")
	if len(args) > 0 {
		switch args[0] {
		case "produce":
			err = produce(ctx, args[1:], errOut)
		case "work":
			err = work(ctx, args[1:], errOut)
		case "results":
			err = results(ctx, args[1:], out)
		case "-h", "-help", "--help":
			_, err = fmt.Fprint(out, usage)
		}
	}
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		return exitInterrupted
	}
	fmt.Fprintln(errOut, "fleet:", aicontent.Reason(err))
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// newFlags returns the flags of a command, with the common one. Parse ends the program after a wrong flag or -h.
func newFlags(command string) (flags *flag.FlagSet, natsContext *string) {
	flags = flag.NewFlagSet("fleet "+command, flag.ExitOnError)
	return flags, flags.String("context", "", "`name` of a NATS context, in place of NATS_URL")
}
