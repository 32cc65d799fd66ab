package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// settleTime is longer than anything that the service does late in these tests.
const settleTime = 5 * time.Minute

// bubble runs a test against a service in memory, in a bubble where waiting takes no time.
func bubble(t *testing.T, test func(*testing.T, *aicontenttest.Server), opts ...aicontenttest.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts = append(opts, aicontenttest.InMemoryNetwork(), aicontenttest.BasePath("/tenant"))
		test(t, aicontenttest.NewServer(t, opts...))
	})
}

// An agent is an MCP client of a server of its own.
type agent struct {
	*mcp.ClientSession
	progress chan *mcp.ProgressNotificationParams
}

// startAgent starts a server, whose journal is in dir, and connects to it. The end of ctx is that of the server.
func startAgent(t *testing.T, srv *aicontenttest.Server, dir string, limit int, root *os.Root) *agent {
	t.Helper()
	j := &journal{dir: dir, limit: limit, started: time.Now()}
	client := srv.Client(aicontent.WithSettleTime(settleTime), aicontent.WithAttemptHook(j.attempt))
	here, there := mcp.NewInMemoryTransports()
	server, err := (&tools{client, j, root}).server().Connect(t.Context(), there, nil)
	require.NoError(t, err)
	a := &agent{progress: make(chan *mcp.ProgressNotificationParams, 1000)}
	a.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "agent"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			a.progress <- r.Params
		},
	}).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		a.Close()
		_ = server.Wait()
	})
	return a
}

// call calls a tool and returns the text of its result.
func (a *agent) call(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool, err error) {
	res, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", false, err
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError, nil
}

// A created is what a tool that creates returns.
type created struct {
	Record struct{ ID, Name, URL, Result string }
	Billed bool `json:"billed_by_this_call"`
}

// mustCreate calls a tool that has to succeed.
func (a *agent) mustCreate(t *testing.T, tool string, arguments map[string]any) (c created) {
	t.Helper()
	text, isError, err := a.call(t.Context(), tool, arguments)
	require.NoError(t, err)
	require.False(t, isError, text)
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	return c
}

// mustFail calls a tool that has to fail, and returns the text of the error.
func (a *agent) mustFail(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	text, isError, err := a.call(t.Context(), tool, arguments)
	require.NoError(t, err)
	require.True(t, isError, text)
	return text
}

// obey makes a call, and makes it again where the error says so, or says to ask the user, who is stubborn. It reports
// whether there is a record in the end.
func (a *agent) obey(t *testing.T, tool string, arguments map[string]any) (c created, ok bool) {
	for range 30 {
		text, isError, err := a.call(t.Context(), tool, arguments)
		switch {
		case err != nil:
			assert.NoError(t, err)
			return c, false
		case !isError:
			assert.NoError(t, json.Unmarshal([]byte(text), &c))
			return c, true
		case strings.Contains(text, "Create nothing before midnight UTC"):
			return c, false
		}
		if !strings.Contains(text, "ask the user") && !assert.Contains(t, text, "Call again") {
			return c, false
		}
		time.Sleep(time.Minute)
	}
	assert.Fail(t, "an agent that does as it is told gets no record", "%s %v", tool, arguments)
	return c, false
}

func lighthouse(number int) map[string]any {
	return map[string]any{"description": fmt.Sprintf("Lighthouse %d", number), "resolution": "256x256"}
}

// recordings makes a folder with n recordings.
func recordings(t *testing.T, n int) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		data := fmt.Appendf([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), "recording %d", i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.wav", i)), data, 0o600))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

// The promise: an agent whose calls time out and fail, and which calls again, pays once for each record, and never
// more a day than the limit.
func TestEachCallMadeTwiceUnderFaultsIsBilledOnceAndTheLimitHolds(t *testing.T) {
	const calls, files, limit = 200, 40, 130
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		a := startAgent(t, srv, dir, limit, recordings(t, files))
		srv.Chaos(1, 0.2)
		tool := func(i int) (string, map[string]any) {
			if i < files {
				return "transcribe_file", map[string]any{"path": fmt.Sprintf("%d.wav", i), "language": "GB"}
			}
			return "create_image", lighthouse(i)
		}
		day := func() (ids []string) {
			ids = make([]string, calls)
			slots := make(chan struct{}, 8)
			var wg sync.WaitGroup
			for i := range calls {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					name, arguments := tool(i)
					if i%3 == 0 {
						// This agent loses patience, at a time of its own, before it calls twice.
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Millisecond)
						_, _, _ = a.call(ctx, name, arguments)
						cancel()
					}
					var both sync.WaitGroup
					var first, second created
					both.Go(func() { first, _ = a.obey(t, name, arguments) })
					both.Go(func() { second, _ = a.obey(t, name, arguments) })
					both.Wait()
					if first.Record.ID != "" && second.Record.ID != "" {
						assert.Equal(t, first.Record.ID, second.Record.ID, "the same call is the same record")
					}
					ids[i] = first.Record.ID
				})
			}
			wg.Wait()
			return ids
		}
		missing := func(ids []string) int {
			return len(slices.DeleteFunc(ids, func(id string) bool { return id != "" }))
		}

		assert.NotZero(t, missing(day()), "the limit must be met on the first day")
		t.Logf("first day: %d records, %d requests", len(srv.Records()), len(srv.Requests()))
		assert.LessOrEqual(t, len(srv.Records()), limit)
		assert.Greater(t, len(srv.Records()), limit*3/4, "what was not created must not count")
		firstDay := len(srv.Records())
		midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		time.Sleep(time.Until(midnight))

		assert.Zero(t, missing(day()), "the limit ends at midnight")
		assert.LessOrEqual(t, len(srv.Records())-firstDay, limit)
		assert.Len(t, srv.Records(), calls, "each call made twice is one record")
		names := make(map[string]bool)
		for _, record := range srv.Records() {
			names[record.Name] = true
		}
		assert.Len(t, names, calls)
		faulty := len(slices.DeleteFunc(srv.Requests(), func(r aicontenttest.Request) bool { return r.Fault == "" }))
		t.Logf("%d requests, %d of them faulty", len(srv.Requests()), faulty)
		assert.Greater(t, faulty*6, len(srv.Requests()), "a fifth of the requests is faulty")
	}, aicontenttest.Latency(time.Second))
}
