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
	config, _ = os.UserConfigDir()
	demo      = flag.Bool("demo", false, "use a service in memory, which bills nothing")
	folder    = flag.String("folder", "", "offer the recordings below `DIR` for transcription (default none)")
	journals  = flag.String("journal", filepath.Join(config, "aicontent-mcp"), "keep the journal of requests in `DIR`")
	limit     = flag.Uint("limit", 20, "create at most `N` records per UTC day")
	settle    = flag.Duration("settle", 10*time.Minute, "`time` within which a request may still become a record")
)

// Standard output is for the protocol alone.
func main() {
	flag.Parse()
	if *demo {
		srv, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
		check(err)
		os.Setenv("AICONTENT_BASE_URL", srv.URL)
		os.Setenv("AICONTENT_API_KEY", srv.APIKey)
		*journals, err = os.MkdirTemp("", "aicontent-mcp")
		check(err)
		defer os.RemoveAll(*journals)
	}
	t := &tools{journal: &journal{dir: *journals, limit: int(*limit), started: time.Now()}}
	var err error
	t.client, err = aicontent.NewClientFromEnv(
		aicontent.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		aicontent.WithSettleTime(*settle),
		aicontent.WithAttemptHook(t.journal.attempt),
	)
	check(err)
	check(os.MkdirAll(*journals, 0o700))
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
