package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// programVariable turns the test binary into the program under test.
const programVariable = "MCP_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	// Under nohup, the programs that a test starts would ignore a hangup, as this one does.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// program returns a command that runs the program with a deployment, and what it writes to standard error.
func program(t *testing.T, env []string, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), programVariable+"=1", "AICONTENT_BASE_URL=", "AICONTENT_API_KEY=")
	cmd.Env = append(cmd.Env, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	return cmd, &stderr
}

// deployment starts a service on loopback, and returns the environment of a program that uses it.
func deployment(t *testing.T) (*aicontenttest.Server, []string) {
	t.Helper()
	srv := aicontenttest.NewServer(t, aicontenttest.BasePath("/tenant"))
	return srv, []string{"AICONTENT_BASE_URL=" + srv.URL, "AICONTENT_API_KEY=" + srv.APIKey}
}

// connect connects to a server.
func connect(t *testing.T, transport mcp.Transport) *agent {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil).Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	return &agent{ClientSession: session}
}

// dial starts the program and connects to it over its standard input and output.
func dial(t *testing.T, cmd *exec.Cmd) *agent {
	t.Helper()
	return connect(t, &mcp.CommandTransport{Command: cmd})
}

// begin creates an image, and sends the error of the call when it has ended.
func (a *agent) begin(ctx context.Context) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, _, err := a.call(ctx, "create_image", lighthouse(1))
		ended <- err
	}()
	return ended
}

// arrives waits for the first create request.
func arrives(t *testing.T, srv *aicontenttest.Server) {
	t.Helper()
	arrived := func() bool { return requests(srv, aicontent.ImagesStore) == 1 }
	require.Eventually(t, arrived, time.Minute, time.Millisecond)
}

func TestWithoutADeploymentItRefusesToStart(t *testing.T) {
	_, env := deployment(t)
	for name, c := range map[string]struct {
		args, env []string
		says      string
	}{
		"no base URL": {nil, nil, "AICONTENT_BASE_URL: must be like"},
		"no key":      {nil, env[:1], "AICONTENT_API_KEY: must be at least"},
		"no folder":   {[]string{"-folder", "/does/not/exist"}, env, "/does/not/exist"},
		"no journal":  {[]string{"-journal", filepath.Join(os.Args[0], "x")}, env, os.Args[0]},
		"no limit":    {[]string{"-limit", "-1"}, env, `invalid value "-1" for flag -limit`},
		"no time":     {[]string{"-settle", "0s"}, env, "-settle must be 1s or more, not 0s"},
		"no flag":     {[]string{"-journal", ""}, env, "-journal must be given"},
		"a flag":      {[]string{"-port", "1"}, env, "-port"},
		"an argument": {[]string{"recordings", "-limit", "1"}, env, `unexpected argument "recordings"`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stderr := program(t, c.env, append([]string{"-journal", t.TempDir()}, c.args...)...)
			stdout, err := cmd.Output()
			require.Error(t, err)
			assert.Equal(t, 2, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), c.says)
			assert.Empty(t, stdout, "standard output is for the protocol")
		})
	}
}

func TestStandardOutputHasNothingButTheProtocol(t *testing.T) {
	srv, env := deployment(t)
	srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LateAct(504, time.Second))
	cmd, stderr := program(t, env, "-journal", t.TempDir())
	var lines strings.Builder
	a := connect(t, &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: &lines})
	assert.True(t, a.mustCreate(t, "create_image", lighthouse(1)).Billed)
	require.NoError(t, a.Close())
	assert.Contains(t, stderr.String(), "once waits for what a create request may have become")
	assert.NotContains(t, stderr.String(), srv.APIKey)
	assert.Contains(t, lines.String(), "billed_by_this_call")
	assert.Equal(t, strings.Count(lines.String(), "read error: "), strings.Count(lines.String(), "read error: EOF\n"))
}

func TestInputOutsideTheProtocolExits1AndSaysWhy(t *testing.T) {
	_, env := deployment(t)
	for name, input := range map[string]string{
		"no JSON, and much more": "no JSON\n" + strings.Repeat(" ", 1<<20),
		"a line of 20 MiB":       `{"method":"` + strings.Repeat("x", 20<<20),
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 { // The program may end for two reasons at once.
				cmd, stderr := program(t, env, "-journal", t.TempDir())
				cmd.Stdin = strings.NewReader(input)
				stdout, err := cmd.Output()
				require.Error(t, err)
				assert.Equal(t, 1, cmd.ProcessState.ExitCode())
				assert.Contains(t, stderr.String(), "mcp: ")
				assert.Empty(t, stdout)
			}
		})
	}
}

func TestItEndsWithItsClientWhileACallIsUnderWay(t *testing.T) {
	for name, cancelled := range map[string]bool{"and is waited for": false, "and was cancelled": true} {
		t.Run(name, func(t *testing.T) {
			srv, env := deployment(t)
			srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.Stall(aicontenttest.BeforeResponse))
			cmd, _ := program(t, env, "-journal", t.TempDir())
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			a := connect(t, &mcp.IOTransport{Reader: stdout, Writer: stdin})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := a.begin(ctx)
			arrives(t, srv)
			if cancelled {
				cancel()
				require.Error(t, <-ended)
				require.NoError(t, a.Ping(t.Context(), nil)) // the server has read of it
			}
			require.NoError(t, stdin.Close())
			require.NoError(t, cmd.Wait())
		})
	}
}
