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
	journals  = flag.String("journal", filepath.Join(config, "aicontent-mcp"), "keep what was sent in `DIR`")
	limit     = flag.Uint("limit", 20, "create at most `N` records a day, from midnight UTC on")
	settle    = flag.Duration("settle", 10*time.Minute, "`time` in which a request becomes a record or nothing")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(2)
	}
}

// run serves until standard input ends. Standard output is for the protocol alone.
func run(ctx context.Context) error {
	if *demo {
		srv, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
		if err != nil {
			return err
		}
		os.Setenv("AICONTENT_BASE_URL", srv.URL)
		os.Setenv("AICONTENT_API_KEY", srv.APIKey)
		if *journals, err = os.MkdirTemp("", "aicontent-mcp"); err != nil {
			return err
		}
		defer os.RemoveAll(*journals)
	}
	if err := os.MkdirAll(*journals, 0o700); err != nil {
		return err
	}
	j := &journal{dir: *journals, limit: int(*limit), started: time.Now()}
	client, err := aicontent.NewClientFromEnv(
		aicontent.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		aicontent.WithSettleTime(*settle), aicontent.WithAttemptHook(j.attempt),
	)
	if err != nil {
		return fmt.Errorf("%w (-demo uses a service in memory)", err)
	}
	root, err := os.OpenRoot(*folder)
	if err != nil && *folder != "" {
		return err
	}
	return (&tools{client, j, root}).server().Run(ctx, &mcp.StdioTransport{})
}
