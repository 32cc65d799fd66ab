// Quickstart takes a transcription and an image through the whole life of a record: see README.md, and tour.go for the
// calls.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

const exitFailed, exitUsage, exitInterrupted = 1, 2, 130 // the exit statuses other than 0

func main() {
	dir := flag.String("out", ".", "save the picture in this `directory`. "+
		"The deployment in AICONTENT_BASE_URL may charge for two Store calls")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "quickstart: unexpected argument %q; see quickstart -h\n", flag.Arg(0))
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)   // The first signal ends the tour, a second one the program.
	signal.Ignore(syscall.SIGPIPE) // A pipe without a reader must not end the clean-up.
	os.Exit(run(ctx, *dir, os.Stdout, os.Stderr))
}

// run returns the exit status.
func run(ctx context.Context, dir string, stdout, stderr io.Writer) int {
	// The file is made before anything is paid for. The picture of an earlier run stays until the new one is whole.
	picture, err := os.CreateTemp(filepath.Clean(dir), "quickstart-*.tmp") // Without Clean, "" is another folder.
	if err != nil {
		fmt.Fprintln(stderr, "quickstart: -out:", err)
		return exitUsage
	}
	defer os.Remove(picture.Name()) // It fails if the picture has its own name by now.
	defer picture.Close()
	touring, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &tour{
		out: stdout, stop: stop, mark: "quickstart " + strings.ToLower(rand.Text()[:8]),
		picture: picture, path: filepath.Join(dir, "quickstart-coast.png"),
	}
	end, err := t.connect()
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return exitUsage
	}
	defer end()
	if err = t.take(touring); err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "\nquickstart failed:", err)
	if ctx.Err() != nil { // Its cause matches context.Canceled in newer releases of Go only.
		return exitInterrupted
	}
	return exitFailed
}

// connect uses the deployment in the environment, or a service in memory.
func (t *tour) connect() (end func(), err error) {
	if os.Getenv("AICONTENT_BASE_URL") != "" || os.Getenv("AICONTENT_API_KEY") != "" {
		if t.client, err = aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-quickstart")); err != nil {
			return nil, err
		}
		t.say("using", "the deployment at %s", t.client.BaseURL())
		return t.client.CloseIdleConnections, nil
	}
	srv, err := aicontenttest.Start()
	if err != nil {
		return nil, err
	}
	for n := range 230 { // more than one page
		srv.AddImage(aicontent.Image{Name: fmt.Sprintf("Study no. %d", n+1), Resolution: "256x256"})
	}
	t.client = srv.Client()
	t.say("using", "a service in memory, which draws by a formula: AICONTENT_BASE_URL is not set")
	return srv.Close, nil
}
