// Mcp is a server for the Model Context Protocol. Its tools create images and transcriptions, and an agent that does
// not know what came of a call may make it again. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	demo    = flag.Bool("demo", false, "use a service in memory, which bills nothing")
	folder  = flag.String("folder", "", "offer the recordings below `DIR` for transcription (default none)")
	journal = flag.String("journal", "", "remember in `DIR` what was created (default aicontent-mcp where the\n"+
		"system keeps a user's settings)")
	limit  = flag.Uint("limit", 20, "create at most `N` records per UTC day")
	settle = flag.Duration("settle", 15*time.Minute, "`time` after a request in which its record may still appear; "+
		"more than the\nservice ever takes, and the same for all servers of a journal")
	wait = flag.Duration("wait", 45*time.Second, "answer a tool call that only waits after this `time`")
)

// Standard output is for the protocol alone.
func main() {
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage); flag.PrintDefaults() }
	flag.Parse()
	var err error
	switch config, errConfig := os.UserConfigDir(); {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; see mcp -h", flag.Arg(0))
	case *settle < time.Second: // with none, two servers would create one record each
		err = fmt.Errorf("-settle must be 1s or more, not %v", *settle)
	case *demo:
		srv, errStart := aicontenttest.Start(aicontenttest.Latency(time.Second))
		check(errStart)
		os.Setenv("AICONTENT_BASE_URL", srv.URL)
		os.Setenv("AICONTENT_API_KEY", srv.APIKey)
		*journal, err = os.MkdirTemp("", "aicontent-mcp")
		defer os.RemoveAll(*journal)
	case *journal == "" && errConfig != nil:
		err = fmt.Errorf("-journal must be given: %w", errConfig)
	case *journal == "":
		*journal = filepath.Join(config, "aicontent-mcp")
	}
	check(err)
	days := filepath.Join(*journal, "days")
	check(os.MkdirAll(days, 0o700))
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	life, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	t := &tools{budget: &budget{days, *limit}, settle: *settle, wait: *wait, life: life}
	t.client, err = aicontent.NewClientFromEnv(aicontent.WithLogger(log), aicontent.WithAttemptHook(t.budget.attempt))
	check(err)
	t.names, err = once.New(t.client, once.Dir(filepath.Join(*journal, "names")),
		once.WithSettleTime(*settle), once.WithLogger(log))
	check(err)
	if *folder != "" {
		t.folder, err = os.OpenRoot(*folder)
		check(err)
	}
	fmt.Fprintf(os.Stderr, "mcp: %d of %d records left today; the journal is %s\n", t.budget.left(), *limit, *journal)

	// Its host ends a server by the end of its input. A signal does the same: calls under way are noted.
	in, host := io.Pipe()
	context.AfterFunc(life, func() { stop(); host.Close() })
	go func() { _, _ = io.Copy(host, os.Stdin); stop() }()
	check(t.server().Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: os.Stdout}))
}

const usage = `Usage: mcp [flags]

Offers tools to the agent that has started it, over standard input and output: they create images
and transcriptions on the deployment that AICONTENT_BASE_URL and AICONTENT_API_KEY name. Each start
prints the journal: it has a file for each record that was created on a day or may have been, which
the limit counts, and one for each name.

`

// check ends the program if there is an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(2)
	}
}
