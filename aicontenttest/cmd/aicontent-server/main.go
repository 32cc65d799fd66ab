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
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A program that started this one and no longer reads its output still needs the service.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// settings are the flags.
type settings struct {
	addr, basePath string
	keys           []string               // the default one if there are none
	options        []aicontenttest.Option // personalities and latencies
	latency        time.Duration
	faults         []plannedFault
	chaos          float64
	chaosSeed      uint64
	seed           int
	lenient, quiet bool
	dropAbandoned  bool
	inspect        bool
}

const defaultKey = "aicontenttest-key"

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

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("aicontent-server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8090", "`address` to listen on; port 0 is a free one")
	const key = "API `key` to accept instead of " + defaultKey + "; repeatable, for keys that are rotated"
	flags.Func("key", key, func(key string) error {
		s.keys = append(s.keys, key)
		if key == "" || strings.ContainsFunc(key, notInKey) {
			return errors.New("must be printable ASCII without spaces")
		}
		return nil
	})
	flags.StringVar(&s.basePath, "base-path", "", "`path` under which the service is")
	flags.Func("personality", "comma-separated `list` of personalities, see below", func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			s.options = append(s.options, aicontenttest.Personality(strings.TrimSpace(name)))
		}
		return nil
	})
	flags.DurationVar(&s.latency, "latency", 0, "`time` that a request takes, such as 2s")
	const slow = "-latency of one operation, as `operation=time`; repeatable"
	flags.Func("latency-on", slow, func(text string) error {
		option, err := parseLatency(text)
		s.options = append(s.options, option)
		return err
	})
	const drop = "drop requests whose clients disconnect during the latency, instead of executing them"
	flags.BoolVar(&s.dropAbandoned, "drop-abandoned", false, drop)
	const fault = "fault for the next n requests of an operation, as `operation:n:fault`; repeatable"
	flags.Func("fault", fault, func(text string) error {
		fault, err := parseFault(text)
		s.faults = append(s.faults, fault)
		return err
	})
	flags.Float64Var(&s.chaos, "chaos", 0, "`share` of other requests that meet a random fault, from 0 to 1")
	flags.Uint64Var(&s.chaosSeed, "chaos-seed", 1, "`number` from which -chaos draws its faults")
	flags.IntVar(&s.seed, "seed", 0, "`number` of images, and of transcriptions, to start with")
	flags.BoolVar(&s.lenient, "lenient", false, "accept what the API does not allow, as deployments do")
	flags.BoolVar(&s.inspect, "inspect", false, "serve records and requests as JSON at URL/inspect, see below")
	flags.BoolVar(&s.quiet, "quiet", false, "write no log")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		usage(flags, stderr)
	}
	if err != nil {
		return s, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.latency < 0:
		return s, fmt.Errorf("-latency must not be negative: %v", s.latency)
	case s.seed < 0:
		return s, fmt.Errorf("-seed must not be negative: %d", s.seed)
	case !(s.chaos >= 0 && s.chaos <= 1): // NaN is neither
		return s, fmt.Errorf("-chaos must be between 0 and 1, not %v", s.chaos)
	case given["chaos-seed"] && !given["chaos"]:
		return s, errors.New("-chaos-seed needs -chaos")
	}
	if len(s.keys) == 0 {
		s.keys = []string{defaultKey}
	}
	return s, nil
}

// notInKey reports whether an HTTP header cannot carry the character in a bearer token.
func notInKey(r rune) bool { return r <= ' ' || r > '~' }

const inspectionExplained = `
With -inspect, GET URL/inspect needs no key and returns JSON, with *** for API keys:
  records      created since the start, in this order, even if deleted: collection, id, name,
               request (the number of the one that created it), deleted, deleted_by (as request)
  requests     in the order of arrival: number, connection, operation, method, path, query, header,
               form, file, received (bytes), fault, acted, record_id, status (0: none), responded
  violations   what the API does not allow: rule, request, line, field, value
A request under way is there too, with what is known of it so far. Nothing is forgotten.
`

func usage(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `Usage: aicontent-server [flags]

Serves the AI content service from memory until interrupted. Standard output has the base URL and
nothing else; standard error has the log, a line for each request. A program that starts this one
may leave both unread, or close them. Without -lenient, requests that the API does not allow are
rejected.

  curl -H 'Authorization: Bearer KEY' -H 'Accept: application/json' URL/api/v1/images

`)
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprint(w, inspectionExplained)
	fmt.Fprint(w, "\n"+faultsExplained())
	fmt.Fprint(w, "\nPersonalities, in which deployments differ:\n"+explained())
	fmt.Fprint(w, "\nExit status: 0 interrupted, 1 unusable address, 2 wrong usage.\n")
}

func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	if s.quiet {
		stderr = io.Discard
	}
	log := newLog(stderr, s.keys...)
	defer log.close()
	opts := []aicontenttest.Option{
		aicontenttest.Addr(s.addr), aicontenttest.BasePath(s.basePath), aicontenttest.Latency(s.latency),
		aicontenttest.WithAPIKey(s.keys[0]),
		aicontenttest.OnViolation(func(v aicontenttest.Violation) { log.printf("not allowed: %s", v) }),
	}
	if s.lenient {
		opts = append(opts, aicontenttest.Lenient())
	}
	for _, key := range s.keys[1:] {
		opts = append(opts, aicontenttest.AnotherAPIKey(key))
	}
	if s.inspect {
		opts = append(opts, aicontenttest.Inspect())
	}
	if s.dropAbandoned {
		opts = append(opts, aicontenttest.DropAbandoned())
	}
	opts = append(opts, s.options...)
	var srv *aicontenttest.Server
	started := make(chan struct{})
	opts = append(opts, aicontenttest.OnRequest(func(r aicontenttest.Request) {
		log.request(r)
		if r.Number%1000 == 0 && !s.inspect {
			<-started
			srv.ResetBook()
		}
	}))
	srv, err := aicontenttest.Start(opts...)
	if err != nil {
		return err
	}
	close(started)
	defer srv.Close()
	seed(srv, s.seed)
	for _, f := range s.faults {
		srv.FaultOn(f.op, f.n, f.fault)
	}
	if s.chaos > 0 {
		srv.Chaos(s.chaosSeed, s.chaos)
	}
	// Whoever passed -addr may not read the URL.
	_, _ = fmt.Fprintln(stdout, srv.URL)
	if slices.Equal(s.keys, []string{defaultKey}) {
		log.line("API key: " + defaultKey)
	}

	<-ctx.Done()
	return nil
}
