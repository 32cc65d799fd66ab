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

// settings are the flags.
type settings struct {
	addr, key, basePath string
	personalities       string
	latency             time.Duration
	seed                int
	lenient             bool
}

// run serves until the context ends and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("aicontent-server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&s.key, "key", "", "API `key` to accept; the default is printed")
	flags.StringVar(&s.basePath, "base-path", "", "`path` of the whole service")
	flags.StringVar(&s.personalities, "personality", "", "comma separated `list` of:\n"+personalityNames())
	flags.DurationVar(&s.latency, "latency", 0, "`time` that each request takes, such as 2s")
	flags.IntVar(&s.seed, "seed", 0, "`number` of images and of transcriptions at the start")
	flags.BoolVar(&s.lenient, "lenient", false, "accept what the API does not allow, as deployments do")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "aicontent-server: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	if err := serve(ctx, s, stdout); err != nil {
		fmt.Fprintf(stderr, "aicontent-server: %v\n", err)
		return 1
	}
	return 0
}

func personalityNames() string {
	var names []string
	for _, p := range aicontenttest.Personalities() {
		names = append(names, string(p))
	}
	return strings.Join(names, "\n")
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
	for name := range strings.SplitSeq(s.personalities, ",") {
		if name = strings.TrimSpace(name); name != "" {
			opts = append(opts, aicontenttest.Personality(name))
		}
	}
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
	what := r.Operation
	if r.RecordID != "" {
		what += fmt.Sprintf(" %q", r.RecordID)
	}
	l.printf("%s %s %s %s", status, r.Method, address, what)
}
