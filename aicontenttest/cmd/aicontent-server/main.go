// Command aicontent-server serves the AI content service from memory, for curl, browsers and programs in other
// languages:
//
//	aicontent-server -addr 127.0.0.1:8080 -key KEY -seed 20
//
// It prints its base URL, then a line for each request, and ends on an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
	addr, key, basePath string
	personalities       []aicontenttest.Option
	latency             time.Duration
	seed                int
	lenient             bool
}

// run serves until the context ends and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if err == nil {
		err = serve(ctx, s, stdout)
	}
	var system syscall.Errno
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.As(err, &system):
		// The flags are right, but the address is taken, or belongs to others.
		fmt.Fprintf(stderr, "aicontent-server: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(stderr, "aicontent-server: %v; see aicontent-server -h\n", err)
	return exitUsage
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("aicontent-server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&s.key, "key", "", "API `key` to accept; the default is printed")
	flags.StringVar(&s.basePath, "base-path", "", "`path` of the whole service")
	flags.Func("personality", "comma separated `list` of what is different, see below", func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			s.personalities = append(s.personalities, aicontenttest.Personality(strings.TrimSpace(name)))
		}
		return nil
	})
	flags.DurationVar(&s.latency, "latency", 0, "`time` that each request takes, such as 2s")
	flags.IntVar(&s.seed, "seed", 0, "`number` of images and of transcriptions at the start")
	flags.BoolVar(&s.lenient, "lenient", false, "accept what the API does not allow, as deployments do")
	err := flags.Parse(args)
	keyGiven := false
	flags.Visit(func(f *flag.Flag) { keyGiven = keyGiven || f.Name == "key" })
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(flags, stderr)
		return s, err
	case err != nil:
		return s, err
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.latency < 0:
		return s, errors.New("-latency must not be negative")
	case s.seed < 0:
		return s, errors.New("-seed must not be negative")
	case keyGiven && (s.key == "" || strings.ContainsFunc(s.key, notInKey)):
		return s, errors.New("-key must be printable ASCII without spaces")
	}
	return s, nil
}

// notInKey reports whether an HTTP header cannot carry the character in a bearer token.
func notInKey(r rune) bool { return r <= ' ' || r > '~' }

func usage(flags *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `Usage: aicontent-server [flags]

Serves the AI content service from memory. It prints its base URL, then a line for each
request, and ends on an interrupt. Without -lenient it refuses what the API does not allow.

  curl -H 'Authorization: Bearer KEY' -H 'Accept: application/json' URL/api/v1/images

`)
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprint(w, "\nPersonalities, as deployments differ:\n"+explained())
	fmt.Fprint(w, "\nExit status: 0 interrupted, 1 the address cannot be used, 2 used wrongly.\n")
}

func serve(ctx context.Context, s settings, stdout io.Writer) error {
	log := &log{w: stdout, key: s.key}
	opts := []aicontenttest.Option{
		aicontenttest.Addr(s.addr), aicontenttest.BasePath(s.basePath), aicontenttest.Latency(s.latency),
		aicontenttest.OnViolation(func(v aicontenttest.Violation) { log.printf("not allowed: %s", v) }),
	}
	if s.lenient {
		opts = append(opts, aicontenttest.Lenient())
	}
	if s.key != "" {
		opts = append(opts, aicontenttest.WithAPIKey(s.key))
	}
	opts = append(opts, s.personalities...)
	// The base URL is printed before the line of any request.
	log.mu.Lock()
	var srv *aicontenttest.Server
	opts = append(opts, aicontenttest.OnRequest(func(r aicontenttest.Request) {
		log.request(r)
		if r.Number%1000 == 0 {
			srv.ResetBook()
		}
	}))
	srv, err := aicontenttest.Start(opts...)
	if err != nil {
		return err
	}
	defer srv.Close()
	seed(srv, s.seed)
	fmt.Fprintln(stdout, srv.URL)
	if s.key == "" {
		fmt.Fprintf(stdout, "API key: %s\n", srv.APIKey)
		log.key = srv.APIKey
	}
	log.mu.Unlock()

	<-ctx.Done()
	return nil
}

// A log writes lines, with the key masked.
type log struct {
	mu  sync.Mutex
	w   io.Writer
	key string
}

func (l *log) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	if l.key != "" {
		line = strings.ReplaceAll(line, l.key, "***")
	}
	fmt.Fprintln(l.w, line)
}

// request writes the line of a request, escaped as it came.
func (l *log) request(r aicontenttest.Request) {
	address := r.EscapedPath
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	status := fmt.Sprint(r.Status)
	if r.Status == 0 {
		status = "no response"
	}
	what := string(r.Operation)
	if r.RecordID != "" {
		what += fmt.Sprintf(" %q", r.RecordID)
	}
	l.printf("%s %s %s %s", status, r.Method, address, what)
}
