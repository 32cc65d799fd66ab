// Mcp is a server for the Model Context Protocol. Its tools create images and transcriptions, and an agent that does
// not know what came of a call may make it again. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	demo     = flag.Bool("demo", false, "use a service in memory, which bills nothing")
	folder   = flag.String("folder", "", "offer the recordings below `DIR` for transcription (default none)")
	journals = flag.String("journal", "",
		"keep the journal of requests in `DIR` (default aicontent-mcp in the user's configuration folder)")
	limit  = flag.Uint("limit", 20, "create at most `N` records per UTC day")
	settle = flag.Duration("settle", 10*time.Minute, "`time` within which a request may still become a record")
)

// Standard output is for the protocol alone.
func main() {
	flag.Parse()
	var err error
	switch config, errConfig := os.UserConfigDir(); {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; see mcp -h", flag.Arg(0))
	case *demo:
		srv, errStart := aicontenttest.Start(aicontenttest.Latency(time.Second))
		check(errStart)
		os.Setenv("AICONTENT_BASE_URL", srv.URL)
		os.Setenv("AICONTENT_API_KEY", srv.APIKey)
		*journals, err = os.MkdirTemp("", "aicontent-mcp")
		defer os.RemoveAll(*journals)
	case *journals == "" && errConfig != nil:
		err = fmt.Errorf("-journal must be given: %w", errConfig)
	case *journals == "":
		*journals = filepath.Join(config, "aicontent-mcp")
	}
	check(err)
	t := &tools{journal: &journal{dir: *journals, limit: *limit, started: time.Now()}}
	t.client, err = aicontent.NewClientFromEnv(
		aicontent.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		aicontent.WithSettleTime(*settle),
		aicontent.WithAttemptHook(t.journal.attempt),
	)
	check(err)
	check(os.MkdirAll(*journals, 0o700))
	fmt.Fprintf(os.Stderr, "mcp: %d of %d records left today; the journal is %s\n", t.journal.left(), *limit, *journals)
	if *folder != "" {
		t.folder, err = os.OpenRoot(*folder)
		check(err)
	}
	check(t.server().Run(context.Background(), &mcp.StdioTransport{}))
}

// check ends the program if there is an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(2)
	}
}
