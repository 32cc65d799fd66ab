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
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
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
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil:
		fmt.Fprintf(os.Stderr, "\nquickstart was interrupted and failed to %v\n", err)
		os.Exit(exitInterrupted)
	case errors.Is(err, errArguments):
		fmt.Fprintf(os.Stderr, "quickstart failed to %v\n", err)
		os.Exit(exitUsage)
	default:
		fmt.Fprintf(os.Stderr, "\nquickstart failed to %v\n", err)
		os.Exit(exitFailed)
	}
}

// The exit statuses other than 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

var errArguments = errors.New("read the arguments")

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
	flags.StringVar(&t.dir, "out", ".", "save the picture in this `directory`")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errArguments, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: unexpected %q", errArguments, flags.Arg(0))
	}
	if err := recorded(t.audio); err != nil {
		return fmt.Errorf("%w: -audio: %w", errArguments, err)
	}
	if err := writable(t.dir); err != nil {
		return fmt.Errorf("%w: -out: %w", errArguments, err)
	}
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
	if ctx.Err() == nil {
		return context.Cause(watched)
	}
	return nil
}

const usage = `Usage: quickstart [-audio FILE] [-out DIR]

Takes a transcription and two images through the whole life of a record, and deletes them. Without
configuration it starts the service in memory. With AICONTENT_BASE_URL and AICONTENT_API_KEY in the
environment it uses that deployment, which may charge for three Store calls for each run.

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

// formats are the file name extensions of -audio.
var formats = strings.Fields(".aac .aif .aiff .amr .caf .flac .m4a .mov .mp3 .mp4 .mpeg .mpga .oga .ogg .opus .wav " +
	".webm .wma")

// recorded returns an error if the file is no recording by its name or content. The SDK finds out the rest, such as
// archives, before it sends anything.
func recorded(path string) error {
	if path == "" {
		return nil
	}
	if !slices.Contains(formats, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("%q must end in one of %s", path, strings.Join(formats, ", "))
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q must be a regular file", path)
	}
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 512))
	if err == nil && len(head) > 0 && strings.HasPrefix(http.DetectContentType(head), "text/") {
		err = fmt.Errorf("%q is text, not a recording", path)
	}
	return err
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
