package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
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

// served runs the command. It returns the lines that it prints, and a function that ends it.
func served(t *testing.T, args ...string) (lines *bufio.Scanner, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), write, write)
		write.Close()
	}()
	t.Cleanup(func() {
		cancel()
		read.Close()
	})
	return bufio.NewScanner(read), func() int {
		cancel()
		return <-status
	}
}

func TestServesAndLogsOneLineARequest(t *testing.T) {
	lines, end := served(t, "-key", "s3cret-key", "-seed", "3", "-base-path", "/tenant",
		"-personality", "uuids, bare-records", "-personality", "store-responds-200")
	require.True(t, lines.Scan())
	base := lines.Text()
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/tenant$`, base)
	c, err := aicontent.NewClient(base, "s3cret-key")
	require.NoError(t, err)

	var page *aicontent.Page[aicontent.Image]
	done := make(chan error)
	go func() {
		var err error
		page, err = c.Images.List(t.Context(), aicontent.ImageListParams{Search: "s3cret-key"})
		done <- err
	}()
	require.True(t, lines.Scan())
	require.NoError(t, <-done)
	assert.Equal(t, "200 GET /tenant/api/v1/images?search=*** images.list", lines.Text(), "the key is nowhere")
	assert.Empty(t, page.Items)

	go func() {
		image, err := c.Images.Store(t.Context(), aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: "256x256"})
		if err == nil && len(image.ID) != 36 {
			t.Errorf("%q is no UUID", image.ID)
		}
		done <- err
	}()
	require.True(t, lines.Scan())
	require.NoError(t, <-done)
	assert.Regexp(t, `^200 POST /tenant/api/v1/images images.store "[0-9a-f-]{36}"$`, lines.Text())

	go func() {
		resp, err := http.Get(base + "/api/v1/images?colour=red")
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	require.True(t, lines.Scan())
	assert.Equal(t, "not allowed: authorization: request 3: GET /tenant/api/v1/images?colour=red: Authorization=\"\"", lines.Text())
	require.True(t, lines.Scan())
	assert.Equal(t, "302 GET /tenant/api/v1/images?colour=red images.list", lines.Text())
	<-done
	assert.Equal(t, 0, end())
}

func TestTheDefaultKeyIsPrinted(t *testing.T) {
	lines, end := served(t, "-lenient", "-latency", "1ms", "-personality", "")
	require.True(t, lines.Scan())
	require.True(t, lines.Scan())
	assert.Equal(t, "API key: aicontenttest-key", lines.Text())
	assert.Equal(t, 0, end())
}

// A wrong flag is one line, not lost above the help, and nothing is served.
func TestBadFlags(t *testing.T) {
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
		"a port that is none":     {[]string{"-addr", "127.0.0.1:99999"}, exitUsage, "invalid port"},
		"an address that is taken": {
			[]string{"-addr", taken.Addr().String()}, exitFailed,
			"; -addr chooses another address, port 0 a free port",
		},
		"a base path of two words":  {[]string{"-base-path", "x y"}, exitUsage, `BasePath: must be the path of a URL`},
		"a second key of two words": {[]string{"-key", "first-key", "-key", "a b"}, exitUsage, badKey},
		"a negative latency":        {[]string{"-latency", "-2s"}, exitUsage, "Latency: must not be negative: -2s"},
		"a negative seed":           {[]string{"-seed", "-1"}, exitUsage, `invalid value "-1" for flag -seed`},
		"a seed that is no number":  {[]string{"-seed", "many"}, exitUsage, `invalid value "many" for flag -seed`},
		"a key from an unset shell": {[]string{"-key", ""}, exitUsage, badKey},
		"a key in two words":        {[]string{"-key", "a b"}, exitUsage, badKey},
		"a key of other letters":    {[]string{"-key", "schlüssel"}, exitUsage, badKey},
		"a share above 1":           {[]string{"-chaos", "2"}, exitUsage, "-chaos must be between 0 and 1, not 2"},
		"a negative share":          {[]string{"-chaos", "-0.1"}, exitUsage, "-chaos must be between 0 and 1, not -0.1"},
		"a share that is none":      {[]string{"-chaos", "NaN"}, exitUsage, "-chaos must be between 0 and 1, not NaN"},
		"contradictions": {
			[]string{"-personality", "simple-paginator,cursor-paginator"}, exitUsage,
			"simple-paginator and cursor-paginator are mutually exclusive",
		},
		"contradictions in two flags": {
			[]string{"-personality", "message-only-422", "-personality", "fields-as-message"}, exitUsage,
			"message-only-422 and fields-as-message are mutually exclusive",
		},
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

// started runs the command in a process whose two outputs are pipes, and returns the URL that it prints.
func started(t *testing.T) (cmd *exec.Cmd, url string, outputs []io.Closer) {
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
			cmd, url, outputs := started(t)
			if closed {
				for _, output := range outputs {
					require.NoError(t, output.Close())
				}
			}
			padding := strings.Repeat("x", 10_000)
			for range 100 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/images?tenant="+padding, nil)
				require.NoError(t, err)
				req.Header.Set("Authorization", "Bearer test-key")
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, http.StatusOK, resp.StatusCode)
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

// Whoever reads the URL may read to the end.
func TestTheStandardOutputIsTheURLAlone(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		args := []string{"-addr", "127.0.0.1:0", "-key", "test-key"}
		if quiet {
			args = append(args, "-quiet")
		}
		read, write := io.Pipe()
		var stderr bytes.Buffer
		status := make(chan int, 1)
		go func() {
			status <- run(ctx, args, write, &stderr)
			write.Close()
		}()
		stdout := bufio.NewReader(read)
		url, err := stdout.ReadString('\n')
		require.NoError(t, err)
		client, err := aicontent.NewClient(strings.TrimSpace(url), "test-key")
		require.NoError(t, err)
		_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
		require.NoError(t, err)
		cancel()
		assert.Equal(t, 0, <-status)
		rest, err := io.ReadAll(stdout)
		require.NoError(t, err)
		assert.Empty(t, rest)
		log := "200 GET /api/v1/images images.list\n"
		if quiet {
			log = ""
		}
		assert.Equal(t, log, stderr.String())
	}
}

// gate is a log that takes its time.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	text strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// The line that says what went wrong is often the last one.
func TestItWaitsForItsLogAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write := io.Pipe()
	log := &gate{open: make(chan struct{})}
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"-addr", "127.0.0.1:0", "-key", "test-key"}, write, log) }()
	url, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	url = strings.TrimSpace(url)
	idle, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer idle.Close()
	client, err := aicontent.NewClient(url, "test-key")
	require.NoError(t, err)
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	cancel()
	_, err = idle.Read(make([]byte, 1))
	require.Error(t, err, "the server is closed")
	close(log.open)
	assert.Equal(t, 0, <-status)
	assert.Equal(t, "200 GET /api/v1/images images.list\n", log.String())
}

func TestSignalsEndItInGoodOrder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent these signals on Windows")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AICONTENT_SERVER_ARGS=-addr 127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan())
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait(), "the status is 0")
	}
}
