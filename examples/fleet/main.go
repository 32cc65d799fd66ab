// Fleet transcribes recordings on many machines: a producer puts files into a queue on NATS JetStream, workers
// transcribe them at a rate that they share, and a table shows the progress.
//
//	go run . [FILE|FOLDER ...]
//
// Without a command the queue, four workers and the service in memory all run on this machine. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/aicontent/aicontent-go"
)

// Exit statuses, beside 0 for success.
const (
	exitFailed      = 1 // something went wrong, files were skipped, or jobs are dead
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	// The first interrupt lets workers finish the jobs that they are running, the second one does not.
	ctx, abort := context.WithCancel(context.Background())
	stop, end := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		end()
		<-signals
		abort()
	}()
	os.Exit(run(ctx, stop, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command and returns the exit status. stop asks it to end, ctx ends it.
func run(ctx, stop context.Context, args []string, out, errOut io.Writer) int {
	command := "local"
	commands := []string{"produce", "work", "watch", "set", "rate", "results"}
	if len(args) > 0 && slices.Contains(commands, args[0]) {
		command, args = args[0], args[1:]
	}
	s, paths, err := parse(command, args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	if command == "work" || command == "local" {
		defer context.AfterFunc(stop, func() {
			fmt.Fprintln(errOut, "Finishing the running jobs. Interrupt again to put them back.")
		})()
	}
	if command == "local" {
		err = local(ctx, stop, s, paths, out)
	} else {
		err = shared(ctx, stop, command, s, paths, out)
	}
	switch {
	case stop.Err() != nil && command != "work":
		return exitInterrupted
	case err != nil:
		fmt.Fprintf(errOut, "fleet: %s\n", plain(err))
		return exitFailed
	}
	return 0
}

// shared runs a command on the queue at NATS_URL.
func shared(ctx, stop context.Context, command string, s settings, paths []string, out io.Writer) error {
	open := openQueue
	if command == "produce" {
		open = func(ctx context.Context, url string) (*queue, error) { return makeQueue(ctx, url, s.limits) }
	}
	q, err := open(stop, os.Getenv("NATS_URL"))
	if err != nil {
		return err
	}
	defer q.nc.Close()
	switch command {
	case "produce":
		files, skipped := collect(paths)
		return errors.Join(skipped, produce(stop, q, s.language, files, out))
	case "work":
		w, err := newWorker(q, s.settle, aicontent.NewClientFromEnv)
		if err != nil {
			return err
		}
		return w.work(ctx, stop, s.concurrency)
	case "watch":
		return watch(stop, q, s.price, out)
	case "set", "rate":
		return set(stop, q, s.given, out)
	default:
		return printResults(stop, q, out)
	}
}
