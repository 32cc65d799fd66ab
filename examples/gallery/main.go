// Gallery is a web gallery: it creates pictures from descriptions and transcripts from recordings, and shows them.
//
//	go run . [flags]
//
// With AICONTENT_BASE_URL and AICONTENT_API_KEY set, it uses that deployment, which may charge for each record.
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
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A usageError is a mistake in the arguments or the environment.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(exitStatus(run(ctx, os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// exitStatus prints the error, if any, and returns the status that the program exits with.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "gallery:", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("gallery", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addr := flags.String("addr", "127.0.0.1:8081", "`address` to listen on; other than loopback only with -host")
	host := flags.String("host", "", "host `name` that browsers use, of the proxy in front, which must have a login")
	folder := flags.String("ledger", defaultFolder(), "`folder` that remembers which forms were sent")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "Usage: gallery [flags]\n\nServes a web gallery of the deployment that "+
			"AICONTENT_BASE_URL and AICONTENT_API_KEY name.\nWithout them, it uses a service in memory.")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return err
	} else if err != nil {
		return usageError{err}
	} else if flags.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	}
	client, demo, err := connect()
	if err != nil {
		return usageError{err}
	}
	ledger, where := once.Dir(*folder), "The forms that were sent are remembered in "+*folder
	if demo != nil {
		defer demo.Close()
		ledger = once.InMemory()
		where = "AICONTENT_BASE_URL is not set: the service runs in memory, and loses its records when it stops."
	}
	gallery, err := newServer(client, ledger, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return usageError{fmt.Errorf("-ledger %q: %s", *folder, aicontent.Reason(err))}
	}
	gallery.host = *host
	listener, err := net.Listen("tcp", *addr)
	switch {
	case errors.As(err, new(syscall.Errno)): // The address is right, but taken, or belongs to others.
		return fmt.Errorf("-addr: %w", err)
	case err != nil:
		return usageError{fmt.Errorf("-addr: %w", err)}
	case !listener.Addr().(*net.TCPAddr).IP.IsLoopback() && *host == "":
		listener.Close()
		return usageError{fmt.Errorf("-addr %s: whoever reaches it can use your API key; put a proxy with a login in "+
			"front, and give the name that browsers use with -host", *addr)}
	}
	fmt.Fprintf(stdout, "%s\nThe gallery is at http://%s\n", where, listener.Addr())
	return gallery.serve(ctx, listener)
}

// connect returns a client of the deployment that the environment names. If it names none, connect starts a service in
// memory, which the caller must close.
func connect() (*aicontent.Client, *aicontenttest.Server, error) {
	if os.Getenv("AICONTENT_BASE_URL") != "" || os.Getenv("AICONTENT_API_KEY") != "" {
		client, err := aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-gallery"))
		return client, nil, err
	}
	// The slow upload shows its progress.
	service, err := aicontenttest.Start(aicontenttest.FullRecords, aicontenttest.SlowUpload(4<<20))
	if err != nil {
		return nil, nil, err
	}
	return service.Client(), service, nil
}

// defaultFolder returns the folder of the ledger, or "" if this user has no place for it.
func defaultFolder() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "aicontent-gallery")
}

// grace is how long create requests may take after ctx ends.
const grace = 2 * time.Minute

// serve serves until ctx ends. Unfinished uploads end with ctx; create requests continue for grace.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	creating, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	s.creating = creating
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Hour,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		s.log.Info("stopping once nothing is being created; interrupt again to stop now", "grace", grace)
		defer time.AfterFunc(grace, giveUp).Stop()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+5*time.Second)
		defer cancel()
		srv.Shutdown(ending)
		ended <- srv.Close()
	})
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
