// Fleet transcribes recordings on many machines: a producer puts files into a queue on NATS JetStream, workers
// transcribe them at a rate that they share, and a table shows the progress.
//
//	go run . [FILE|FOLDER ...]
//
// Without settings the queue, four workers and the service in memory all run on this machine. See README.md.
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
	"strconv"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
)

const usage = `usage: fleet [flags] [FILE|FOLDER ...]   transcribe with everything on this machine
       fleet produce [flags] FILE|FOLDER ... queue files
       fleet work [flags]                    run jobs until interrupted
       fleet watch [flags]                   show the fleet until no job is left
       fleet rate REQUESTS-PER-SECOND        change the rate of the whole fleet; 0 stops it
       fleet results                         print texts, and dead letters with the reason

NATS_URL is the queue, AICONTENT_BASE_URL and AICONTENT_API_KEY the service. fleet -h and the like list the flags.
`

// Exit statuses, beside 0 for success.
const (
	exitFailed      = 1 // something went wrong, or there are dead jobs
	exitUsage       = 2
	exitInterrupted = 130
)

// settings are the flags of all commands.
type settings struct {
	limits
	language    string
	price       float64
	concurrency int
	settle      time.Duration
	workers     int
	faults      float64
	data        string
}

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
	if os.Getenv(tethered) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			abort()
		}()
	}
	os.Exit(run(ctx, stop, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command and returns the exit status. stop asks it to end, ctx ends it.
func run(ctx, stop context.Context, args []string, out, errOut io.Writer) int {
	command := "local"
	if len(args) > 0 {
		switch args[0] {
		case "produce", "work", "watch", "rate", "results":
			command, args = args[0], args[1:]
		}
	}
	s, args, err := parse(command, args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	deadJobs := 0
	if command == "local" {
		deadJobs, err = local(ctx, stop, s, args, out)
	} else {
		deadJobs, err = shared(ctx, stop, command, s, args, out)
	}
	switch {
	case stop.Err() != nil && command != "work":
		return exitInterrupted
	case err != nil:
		fmt.Fprintf(errOut, "fleet: %v\n", err)
		return exitFailed
	case deadJobs > 0:
		fmt.Fprintf(errOut, "fleet: dead jobs: %d\n", deadJobs)
		return exitFailed
	}
	return 0
}

// parse reads the flags and arguments of a command. It reports problems to errOut.
func parse(command string, args []string, errOut io.Writer) (s settings, rest []string, err error) {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(errOut, "%s\nFlags:\n", usage)
		flags.PrintDefaults()
	}
	is := func(commands ...string) bool { return slices.Contains(commands, command) }
	if is("local", "produce") {
		flags.StringVar(&s.language, "language", "", "country `code` of the language spoken, such as GB")
		flags.Float64Var(&s.rate, "rate", 10, "`requests` per second of the whole fleet, when the queue is made")
		flags.DurationVar(&s.ackWait, "ack-wait", 45*time.Second, "`time` after which the job of a silent worker goes to another")
		flags.IntVar(&s.replicas, "replicas", 1, "`number` of NATS servers that hold the queue: 3 survive the loss of one")
		flags.Int64Var(&s.room, "room", 1<<30, "`bytes` that files in the queue may take; a producer waits when they are used up")
	}
	if is("local", "work") {
		flags.IntVar(&s.concurrency, "concurrency", 4, "`number` of jobs that a worker runs at a time")
		flags.DurationVar(&s.settle, "settle", 10*time.Minute, "`time` within which a transcription whose response was lost appears: at least the service's longest transcription")
	}
	if is("local", "watch") {
		flags.Float64Var(&s.price, "price", 0.01, "`cost` of a transcription")
	}
	if is("local") {
		flags.IntVar(&s.workers, "workers", 4, "`number` of worker processes")
		flags.Float64Var(&s.faults, "faults", 0, "`share` of requests that go wrong, for the service in memory")
		flags.StringVar(&s.data, "data", ".fleet", "`folder` of the queue when NATS_URL is not set")
	}
	if err := flags.Parse(args); err != nil {
		return s, nil, err
	}
	rest = flags.Args()
	wrong := ""
	switch {
	case is("produce") && len(rest) == 0:
		wrong = "which files?"
	case is("rate") && len(rest) != 1:
		wrong = "which rate?"
	case is("work", "watch", "results") && len(rest) > 0:
		wrong = fmt.Sprintf("unexpected argument %q", rest[0])
	case is("work", "local") && s.concurrency < 1, is("local") && s.workers < 1:
		wrong = "a fleet needs a worker, and a worker something to do"
	case s.language != "" && !aicontent.CountryCode(s.language).Valid():
		wrong = fmt.Sprintf("language %q is no country code such as GB", s.language)
	case !is("local") && os.Getenv("NATS_URL") == "":
		wrong = "NATS_URL is not set"
	}
	if is("rate") && wrong == "" {
		if s.rate, err = strconv.ParseFloat(rest[0], 64); err != nil || !(s.rate >= 0) {
			wrong = fmt.Sprintf("%q is no rate", rest[0])
		}
	}
	if wrong != "" {
		fmt.Fprintf(errOut, "fleet: %s\n", wrong)
		return s, nil, errors.New(wrong)
	}
	return s, rest, nil
}

// shared runs a command on the queue at NATS_URL.
func shared(ctx, stop context.Context, command string, s settings, args []string, out io.Writer) (deadJobs int, err error) {
	open := openQueue
	if command == "produce" {
		open = func(ctx context.Context, url string) (*queue, error) { return makeQueue(ctx, url, s.limits) }
	}
	q, err := open(stop, os.Getenv("NATS_URL"))
	if err != nil {
		return 0, err
	}
	defer q.nc.Close()
	switch command {
	case "produce":
		return 0, produce(stop, q, s.language, args, out)
	case "work":
		return 0, work(ctx, stop, q, s, out)
	case "watch":
		return watch(stop, q, s.price, out)
	case "rate":
		return 0, setRate(stop, q.rate, s.rate)
	default:
		return 0, printResults(stop, q, out)
	}
}

func produce(ctx context.Context, q *queue, language string, paths []string, out io.Writer) error {
	p := &producer{q: q, language: aicontent.CountryCode(language), out: out}
	err := p.produce(ctx, paths)
	fmt.Fprintf(out, "Files queued: %d, known already: %d\n", p.queued, p.known)
	return err
}

func work(ctx, stop context.Context, q *queue, s settings, out io.Writer) error {
	w, err := newWorker(q, s.settle)
	if err != nil {
		return err
	}
	if os.Getenv(tethered) == "" {
		defer sayWhenStopped(stop, out)()
	}
	w.work(ctx, stop, s.concurrency)
	return q.nc.Flush()
}

func sayWhenStopped(stop context.Context, out io.Writer) (cancel func() bool) {
	return context.AfterFunc(stop, func() {
		fmt.Fprintln(out, "Finishing the running jobs. Interrupt again to put them back.")
	})
}
