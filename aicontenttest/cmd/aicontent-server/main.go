// Command aicontent-server serves the AI content service from memory, for curl, browsers and programs in other
// languages:
//
//	aicontent-server -addr 127.0.0.1:8090 -key KEY -seed 20
//
// Standard output has the base URL and nothing else; standard error has the log, a line for each request. It runs until
// interrupted.
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
	"strings"
	"syscall"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A program that started this one and no longer reads its output still needs the service.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const (
	exitDone, exitFailed, exitUsage = 0, 1, 2

	defaultKey = "aicontenttest-key"
	manual     = "go doc -all github.com/aicontent/aicontent-go/aicontenttest"
)

// settings are the flags.
type settings struct {
	keys           []string // the default one if there are none
	options        []aicontenttest.Option
	faults         []func(*aicontenttest.Server)
	chaos          float64
	chaosSeed      uint64
	seed           uint
	inspect, quiet bool
}

// run serves until the context ends and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if err == nil {
		err = serve(ctx, s, stdout, stderr)
	}
	var system syscall.Errno
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.As(err, &system):
		// The flags are right, but the address is taken, or belongs to others.
		fmt.Fprintf(stderr, "aicontent-server: %v; -addr chooses another address, port 0 a free port\n", err)
		return exitFailed
	}
	fmt.Fprintf(stderr, "aicontent-server: %v; see aicontent-server -h\n", err)
	return exitUsage
}

func parse(args []string, stderr io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("aicontent-server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addr := flags.String("addr", "127.0.0.1:8090", "`address` to listen on; port 0 is a free one")
	basePath := flags.String("base-path", "", "`path` under which the service is")
	latency := flags.Duration("latency", 0, "`time` that a request takes, such as 2s")
	lenient := flags.Bool("lenient", false, "accept what the API does not allow, as deployments do")
	drop := flags.Bool("drop-abandoned", false,
		"drop requests whose clients disconnect during the latency, instead of executing them")
	flags.BoolVar(&s.inspect, "inspect", false, "serve records and requests as JSON at URL/inspect, without a key")
	flags.BoolVar(&s.quiet, "quiet", false, "write no log")
	flags.UintVar(&s.seed, "seed", 0, "`number` of images, and of transcriptions, to start with")
	flags.Float64Var(&s.chaos, "chaos", 0, "`share` of other requests that meet a random fault, from 0 to 1")
	flags.Uint64Var(&s.chaosSeed, "chaos-seed", 1, "`number` from which -chaos draws its faults")
	flags.Func("key", "API `key` to accept instead of "+defaultKey+"; repeatable, for keys that are rotated",
		func(key string) error {
			s.keys = append(s.keys, key)
			// An HTTP header cannot carry others in a bearer token.
			if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return errors.New("must be printable ASCII without spaces")
			}
			return nil
		})
	flags.Func("personality", "comma-separated `list` of personalities, see below", func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			s.options = append(s.options, aicontenttest.Personality(strings.TrimSpace(name)))
		}
		return nil
	})
	flags.Func("latency-on", "-latency of one operation, as `operation=time`; repeatable", func(text string) error {
		option, err := parseLatency(text)
		s.options = append(s.options, option)
		return err
	})
	flags.Func("upload-rate", "`bytes` per second that the service reads of an upload, such as 500kB or 1MB",
		func(text string) error {
			option, err := parseRate(text)
			s.options = append(s.options, option)
			return err
		})
	flags.Func("fault", "fault for the next n requests of an operation, as `operation:n:fault`; repeatable",
		func(text string) error {
			fault, err := parseFault(text)
			s.faults = append(s.faults, fault)
			return err
		})
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(flags, stderr)
		}
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case !(s.chaos >= 0 && s.chaos <= 1): // NaN is neither
		return s, fmt.Errorf("-chaos must be between 0 and 1, not %v", s.chaos)
	case len(s.keys) == 0:
		s.keys = []string{defaultKey}
	}
	s.options = append(s.options, aicontenttest.Addr(*addr), aicontenttest.BasePath(*basePath),
		aicontenttest.Latency(*latency), aicontenttest.APIKey(s.keys[0], s.keys[1:]...))
	if *lenient {
		s.options = append(s.options, aicontenttest.Lenient())
	}
	if *drop {
		s.options = append(s.options, aicontenttest.DropAbandoned())
	}
	if s.inspect {
		s.options = append(s.options, aicontenttest.Inspect())
	}
	return s, nil
}

func help(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `Usage: aicontent-server [flags]

Serves the AI content service from memory until interrupted. Standard output has the base URL and
nothing else; standard error has the log, a line for each request. A program that starts this one
may leave both unread, or close them. Without -lenient, requests that the API does not allow are
rejected.

  curl -H 'Authorization: Bearer KEY' -H 'Accept: application/json' URL/api/v1/images

`)
	flags.SetOutput(w)
	flags.PrintDefaults()
	acts := func(f aicontenttest.Fault) bool { return f.Acts }
	spares := func(f aicontenttest.Fault) bool { return !f.Acts }
	fmt.Fprint(w, "\nOperations:\n", wrapped(contract.Operations),
		"\nFaults that leave the request unexecuted (late-act executes it 50 ms later):\n",
		wrapped(names(slices.DeleteFunc(slices.Clone(faults), acts))),
		"\nFaults after a record was created, changed or deleted:\n",
		wrapped(names(slices.DeleteFunc(slices.Clone(faults), spares))),
		"\nPersonalities, in which deployments differ:\n", wrapped(aicontenttest.Personalities()),
		"\nWhat they do, and what -inspect serves:\n  "+manual+
			"\n\nExit status: 0 interrupted, 1 unusable address, 2 wrong usage.\n")
}

func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	if s.quiet {
		stderr = io.Discard
	}
	log := newLog(stderr, s.keys...)
	defer log.close()
	var srv *aicontenttest.Server
	started := make(chan struct{})
	srv, err := aicontenttest.Start(append(s.options,
		aicontenttest.OnViolation(func(v string) { log.printf("not allowed: %s", v) }),
		aicontenttest.OnRequest(func(r aicontenttest.Request) {
			log.request(r)
			if r.Number%1000 == 0 && !s.inspect {
				<-started
				srv.ResetBook()
			}
		}))...)
	if err != nil {
		return err
	}
	close(started)
	defer srv.Close()
	seed(srv, int(s.seed))
	for _, queue := range s.faults {
		queue(srv)
	}
	if s.chaos > 0 {
		srv.Chaos(s.chaosSeed, s.chaos)
	}
	// A program that passed -addr may have closed standard output.
	_, _ = fmt.Fprintln(stdout, srv.URL)
	if slices.Equal(s.keys, []string{defaultKey}) {
		log.line("API key: " + defaultKey)
	}

	<-ctx.Done()
	return nil
}
