package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// TestMain runs the command in the processes that the signal tests start.
func TestMain(m *testing.M) {
	if os.Getenv("AICONTENT_SERVER_ARGS") != "" {
		os.Args = append(os.Args[:1], strings.Fields(os.Getenv("AICONTENT_SERVER_ARGS"))...)
		main()
	}
	os.Exit(m.Run())
}

// start runs the command until cancel is called. It returns the URL that the command prints. wait returns the exit
// status.
func start(t *testing.T, stderr io.Writer, args ...string) (url string, cancel func(), wait func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), write, stderr)
		write.Close()
	}()
	stdout := bufio.NewReader(read)
	line, err := stdout.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), cancel, func() int {
		rest, err := io.ReadAll(stdout)
		require.NoError(t, err)
		assert.Empty(t, rest, "a reader of the URL may read to the end")
		return <-status
	}
}

// served runs the command. end stops it, and returns the lines of its log.
func served(t *testing.T, args ...string) (url string, end func() (log []string)) {
	t.Helper()
	var stderr bytes.Buffer
	url, cancel, wait := start(t, &stderr, args...)
	return url, func() []string {
		cancel()
		assert.Equal(t, exitDone, wait())
		return strings.FieldsFunc(stderr.String(), func(r rune) bool { return r == '\n' })
	}
}

// client returns a client that makes one attempt.
func client(t *testing.T, url, key string) *aicontent.Client {
	t.Helper()
	c, err := aicontent.NewClient(url, key, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	return c
}

var imageParams = aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: aicontent.Resolution256x256}

func TestServesAndLogsOneLineARequest(t *testing.T) {
	url, end := served(t, "-key", "s3cret-key", "-seed", "3", "-base-path", "/tenant",
		"-personality", "null-urls, unwrapped-records", "-personality", "store-responds-200")
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/tenant$`, url)
	c := client(t, url, "s3cret-key")
	page, err := c.Images.List(t.Context(), aicontent.ImageListParams{Search: "s3cret-key"})
	require.NoError(t, err)
	assert.Empty(t, page.Items)
	image, err := c.Images.Store(t.Context(), imageParams)
	require.NoError(t, err)
	assert.Empty(t, image.URL, "which is null")
	resp, err := http.Get(url + "/api/v1/images?colour=red")
	require.NoError(t, err)
	resp.Body.Close()
	// A client may send the next request before the line of the last one is written.
	assert.ElementsMatch(t, []string{
		"200 GET /tenant/api/v1/images?search=*** images.list",
		fmt.Sprintf("200 POST /tenant/api/v1/images images.store %q", image.ID),
		`not allowed: request 3: GET /tenant/api/v1/images?colour=red: authorization: Authorization=""`,
		"401 GET /tenant/api/v1/images?colour=red images.list",
	}, end())
}

func TestTheDefaultKeyIsPrinted(t *testing.T) {
	_, end := served(t, "-lenient", "-latency", "1ms", "-personality", "")
	assert.Equal(t, []string{"API key: aicontenttest-key"}, end())
}

func TestQuietWritesNoLog(t *testing.T) {
	for flag, log := range map[string][]string{
		"-quiet=false": {"200 GET /api/v1/images images.list"}, "-quiet": nil,
	} {
		url, end := served(t, "-key", "test-key", flag)
		_, err := client(t, url, "test-key").Images.List(t.Context(), aicontent.ImageListParams{})
		require.NoError(t, err)
		assert.ElementsMatch(t, log, end(), flag)
	}
}

// A wrong flag is one line, not lost above the help, and nothing is served.
func TestBadFlagIsOneLineAndNothingIsServed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	const badKey = "flag -key: must be printable ASCII without spaces"
	for name, c := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"an unknown flag":         {[]string{"-port", "1"}, exitUsage, "flag provided but not defined: -port"},
		"an argument":             {[]string{"8080"}, exitUsage, `unexpected argument "8080"`},
		"a personality":           {[]string{"-personality", "surly"}, exitUsage, `unknown personality "surly"`},
		"an address that is none": {[]string{"-addr", "nowhere"}, exitUsage, "missing port"},
		"an address that is taken": {
			[]string{"-addr", taken.Addr().String()}, exitFailed,
			"; -addr chooses another address, port 0 a free port",
		},
		"a base path of two words":  {[]string{"-base-path", "x y"}, exitUsage, `BasePath: must be the path of a URL`},
		"a second key of two words": {[]string{"-key", "first-key", "-key", "a b"}, exitUsage, badKey},
		"a negative latency":        {[]string{"-latency", "-2s"}, exitUsage, "latency: must not be negative: -2s"},
		"a negative seed":           {[]string{"-seed", "-1"}, exitUsage, `invalid value "-1" for flag -seed`},
		"a key from an unset shell": {[]string{"-key", ""}, exitUsage, badKey},
		"a key of other letters":    {[]string{"-key", "schlüssel"}, exitUsage, badKey},
		"a share above 1":           {[]string{"-chaos", "2"}, exitUsage, "-chaos must be between 0 and 1, not 2"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"-addr", "127.0.0.1:0"}, c.args...)
			assert.Equal(t, c.status, run(t.Context(), args, &stdout, &stderr))
			assert.Contains(t, stderr.String(), c.says)
			assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			assert.Empty(t, stdout.String())
		})
	}
}

func TestHelpNamesEachPersonality(t *testing.T) {
	var out bytes.Buffer
	assert.Equal(t, exitDone, run(t.Context(), []string{"-h"}, io.Discard, &out))
	for _, p := range aicontenttest.Personalities() {
		assert.Regexp(t, `(?m)  `+string(p)+`( |$)`, out.String())
	}
	assert.Contains(t, out.String(), manual)
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, len(line), 100, "a terminal breaks it: %s", line)
	}
}

// process runs the command in a process whose two outputs are pipes, and returns the URL that it prints.
func process(t *testing.T) (cmd *exec.Cmd, url string, outputs []io.Closer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // one that hangs fails the test
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "AICONTENT_SERVER_ARGS=-addr 127.0.0.1:0 -key test-key -lenient")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	// A byte at a time: nothing is read ahead.
	line, err := bufio.NewReaderSize(iotest.OneByteReader(stdout), 16).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.TrimSpace(line), []io.Closer{stdout, stderr}
}

// A program in another language starts the service, reads the URL, and forgets the pipes. The log of these requests is
// several times what a pipe holds.
func TestAParentThatDoesNotReadItsPipesIsServed(t *testing.T) {
	for name, closed := range map[string]bool{"left unread": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			cmd, url, outputs := process(t)
			if closed {
				for _, output := range outputs {
					require.NoError(t, output.Close())
				}
			}
			c, padding := client(t, url, "test-key"), strings.Repeat("x", 10_000)
			for range 100 {
				_, err := c.Images.List(t.Context(), aicontent.ImageListParams{Search: padding})
				require.NoError(t, err)
			}
			if runtime.GOOS == "windows" {
				require.NoError(t, cmd.Process.Kill())
				_ = cmd.Wait()
				return
			}
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, cmd.Wait(), "it ends although its last lines have no reader")
		})
	}
}

func TestSignalsEndItInGoodOrder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent these signals on Windows")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, _, _ := process(t)
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait(), "the status is 0")
	}
}
