// Quickstart takes a transcription and two images through the whole life of a record: stored,
// looked at, listed, changed and deleted.
//
//	go run ./examples/quickstart [-audio FILE] [-out DIR]
//
// Without configuration it starts the service in memory. With AICONTENT_BASE_URL and
// AICONTENT_API_KEY in the environment it uses that deployment, which may charge for the three Store
// calls. The calls are in tour.go.
package main

import (
	"context"
	"crypto/rand"
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

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func main() {
	// A signal that nohup or a shell has switched off stays off.
	signals := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// The first one still cleans up, a second one ends the program.
	context.AfterFunc(ctx, stop)
	// A pipe that nobody reads is an error of the write, which ends the tour. It must not end the clean-up.
	signal.Ignore(syscall.SIGPIPE)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "\nquickstart failed to", err)
		if ctx.Err() != nil {
			os.Exit(exitInterrupted)
		}
		os.Exit(exitFailed)
	}
}

// The exit statuses other than 0.
const exitFailed, exitInterrupted = 1, 130

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &output{w: stdout, stop: stop}
	t := tour{out: out, mark: "quickstart " + strings.ToLower(rand.Text()[:8])}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&t.audio, "audio", "", "upload this audio `file` instead of the example's recording")
	dir := flags.String("out", ".", "save the picture in this `directory`")
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected %q", flags.Arg(0))
	}
	if err == nil {
		err = t.open(*dir)
	}
	if err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	defer os.Remove(t.picture.Name()) // fails once the picture has its own name
	defer t.picture.Close()
	client, end, err := connect(out)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer end()
	t.client = client
	start := time.Now()
	if err := t.take(watched); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nDone in %v.\n", time.Since(start).Round(time.Millisecond))
	return context.Cause(watched)
}

const usage = `Usage: quickstart [-audio FILE] [-out DIR]

Stores, changes and deletes a transcription and two images: without configuration in a service in memory, with
AICONTENT_BASE_URL and AICONTENT_API_KEY on that deployment, which may charge for three Store calls for each run.

`

// output ends the tour when a write fails, as if it were interrupted: what nobody sees should not be paid for.
type output struct {
	w    io.Writer
	stop context.CancelCauseFunc
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.stop(fmt.Errorf("print: %w", err))
	}
	return n, err
}

// connect returns a client of the deployment in the environment, or of a service in memory. end stops what it
// has started.
func connect(out io.Writer) (client *aicontent.Client, end func(), err error) {
	if os.Getenv("AICONTENT_BASE_URL") != "" || os.Getenv("AICONTENT_API_KEY") != "" {
		// One of the two alone is an error that names the other.
		client, err = aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-quickstart"))
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintln(out, "Using the deployment at", os.Getenv("AICONTENT_BASE_URL"))
		return client, client.CloseIdleConnections, nil
	}
	srv, err := aicontenttest.Start()
	if err != nil {
		return nil, nil, err
	}
	// As on any deployment, there is something already: enough for more than one page.
	for n := range 230 {
		name := fmt.Sprintf("Study no. %d", n+1)
		srv.AddImage(aicontenttest.Image{Name: name, Description: "A study", Resolution: "256x256"})
	}
	fmt.Fprintln(out, "AICONTENT_BASE_URL and AICONTENT_API_KEY are not set: the service runs in memory, at", srv.URL)
	fmt.Fprintln(out, "It draws pictures by a formula, and of a recording it only says what it received.")
	return srv.Client(), srv.Close, nil
}
