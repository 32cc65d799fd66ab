// Mcp is a server for the Model Context Protocol. Its tools create images and transcriptions, and an agent may
// repeat a call whose result it did not get. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	folder  = flag.String("folder", "", "offer the recordings below `DIR` for transcription (default none)")
	journal = flag.String("journal", "", "remember in `DIR` what was created; the same for all servers of an account")
	limit   = flag.Uint("limit", 20, "create at most `N` records per UTC day")
	settle  = flag.Duration("settle", 15*time.Minute, "`time` after a request in which its record may still appear; "+
		"more than the\nservice ever takes, and the same for all servers of a journal")
	wait = flag.Duration("wait", 45*time.Second, "end a tool call that would only wait for longer than this `time`")
)

// Standard output is for the protocol alone.
func main() {
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		check(fmt.Errorf("unexpected argument %q; see mcp -h", flag.Arg(0)))
	case *journal == "":
		check(errors.New("-journal must be given; see mcp -h"))
	case *settle < time.Second: // with none, two servers would create one record each
		check(fmt.Errorf("-settle must be 1s or more, not %v", *settle))
	}
	days := filepath.Join(*journal, "days")
	check(os.MkdirAll(days, 0o700))
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	t := &tools{budget: &budget{days, *limit}, log: log, wait: *wait}
	var err error
	t.client, err = aicontent.NewClientFromEnv(aicontent.WithLogger(log), aicontent.WithAttemptHook(t.budget.attempt))
	check(err)
	t.names, err = once.New(t.client, once.Dir(filepath.Join(*journal, "names")),
		once.WithSettleTime(*settle), once.WithMaxWait(*wait), once.WithLogger(log))
	check(err)
	if *folder != "" {
		t.folder, err = os.OpenRoot(*folder)
		check(err)
	}
	// Its host ends a server by the end of its input. What is under way stands in the journal, as after a kill.
	in, host := io.Pipe()
	go func() {
		_, err := io.Copy(host, os.Stdin)
		if err == nil {
			os.Exit(0)
		}
		_ = host.CloseWithError(err) // Run returns the error, or has rejected the input.
	}()
	if err := t.server().Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// check ends the program if its arguments or its environment are wrong.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(2)
	}
}
