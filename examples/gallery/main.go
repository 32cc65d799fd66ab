// Gallery is a web gallery: it creates pictures from descriptions and transcripts from recordings, and shows them.
//
//	go run . [flags]
//
// With AICONTENT_BASE_URL and AICONTENT_API_KEY set, it uses that deployment, which may charge for what is created.
// Without them it runs against the service in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go/once"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("gallery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	addr := flags.String("addr", "127.0.0.1:8081", "`address` to listen on; other than loopback only with -host")
	host := flags.String("host", "", "host `name` that browsers use, of the proxy in front, which must have a login")
	folder := flags.String("ledger", defaultFolder(), "`folder` that remembers what was created, so that no form "+
		"creates twice")
	maxUpload := flags.Int64("max-upload", 1024, "largest upload to accept, in `MiB`")
	grace := flags.Duration("grace", 2*time.Minute,
		"how long an interrupt or SIGTERM waits for what the service is still creating")
	var private []netip.Prefix
	flags.Func("private-pictures", "`network`, such as 10.1.0.0/16, of non-public addresses from which pictures "+
		"may be fetched; repeatable", func(text string) error {
		network, err := netip.ParsePrefix(text)
		private = append(private, network)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *maxUpload < 1 || *maxUpload > 1<<20 {
		return fmt.Errorf("-max-upload must be from 1 to %d, not %d", 1<<20, *maxUpload)
	}
	client, demo, err := connect()
	if err != nil {
		return err
	}
	ledger, where := once.InMemory(), "AICONTENT_BASE_URL is not set: the service runs in memory, "+
		"and what you create is lost when the gallery stops."
	if demo != nil {
		defer demo.Close()
		private = append(private, netip.MustParsePrefix("127.0.0.1/32"))
	} else if *folder == "" {
		return errors.New("there is no home directory to remember in what was created; use -ledger")
	} else if err := os.MkdirAll(*folder, 0o700); err != nil {
		return fmt.Errorf("-ledger: %w", err)
	} else {
		ledger, where = once.Dir(*folder), "What was created is remembered in "+*folder
	}
	gallery, err := newServer(client, ledger, slog.New(slog.NewTextHandler(stderr, nil)), private)
	if err != nil {
		return err
	}
	gallery.host, gallery.maxUpload, gallery.inMemory = *host, *maxUpload<<20, demo != nil
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() && *host == "" {
		listener.Close()
		return fmt.Errorf("-addr %s: whoever reaches it can use your API key; put a proxy with a login in front, "+
			"and give the name that browsers use with -host", *addr)
	}
	fmt.Fprintln(stdout, where)
	fmt.Fprintf(stdout, "The gallery is at http://%s\n", listener.Addr())
	return gallery.serve(ctx, listener, *grace)
}

const usage = `Usage: gallery [flags]

Serves a web gallery of the pictures and recordings of the deployment that AICONTENT_BASE_URL and
AICONTENT_API_KEY name, which may charge for what visitors create. Without them it uses a service in
memory. SIGINT and SIGTERM stop it when what is being created is there.

`

// defaultFolder returns where the gallery remembers what was created, or "" if this user has no such place.
func defaultFolder() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "aicontent-gallery")
}

// lastWords is how long other requests may take to end when the program ends, and create requests after their grace.
const lastWords = 5 * time.Second

// serve serves until ctx ends. Unfinished uploads end with ctx; create requests continue for grace.
func (s *server) serve(ctx context.Context, listener net.Listener, grace time.Duration) error {
	creating, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	s.creating = creating
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		s.log.Info("stopping once nothing is being created; interrupt again to stop now", "grace", grace)
		defer time.AfterFunc(grace, giveUp).Stop()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+lastWords)
		defer cancel()
		srv.Shutdown(ending)
		ended <- srv.Close()
	})
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
