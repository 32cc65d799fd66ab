package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const storeOp, listOp, showOp = aicontent.TranscriptionsStore, aicontent.TranscriptionsList,
	aicontent.TranscriptionsShow

// programVariable turns the test binary into the program under test.
const programVariable = "TRANSCRIBE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns a command that runs the program in its own process.
func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), programVariable+"=1")
	return cmd
}

// transcribe runs the program within the test, which must end with the status, and returns its output.
func transcribe(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	assert.Equal(t, status, run(t.Context(), args, &out, &messages), &messages)
	requireSum(t, messages.String())
	return out.String(), messages.String()
}

// requireSum requires that the numbers of a summary, if there is one, add up to the number of files.
func requireSum(t *testing.T, stderr string) {
	t.Helper()
	_, totals, _ := strings.Cut(stderr, "\nFiles: ")
	totals, _, _ = strings.Cut(totals, "\n")
	sum := 0
	for i, number := range regexp.MustCompile(`\d+`).FindAllString(totals, -1) {
		n, err := strconv.Atoi(number)
		require.NoError(t, err)
		if i == 0 {
			n = -n
		}
		sum += n
	}
	require.Zero(t, sum, stderr)
}

// deployment starts a service that a run finds in the environment, and returns flags that keep its journal in a
// temporary directory.
func deployment(t *testing.T, opts ...aicontenttest.Option) (srv *aicontenttest.Server, flags []string) {
	t.Helper()
	srv = aicontenttest.NewServer(t, append([]aicontenttest.Option{aicontenttest.BasePath("/tenant")}, opts...)...)
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	return srv, []string{"-journal", t.TempDir(), "-settle", "2s"}
}

// stores counts the create requests that the service received.
func stores(srv *aicontenttest.Server) (n int) {
	for _, r := range srv.Requests() {
		if r.Operation == storeOp {
			n++
		}
	}
	return n
}

// file writes a file, and the folders above it.
func file(t *testing.T, content string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

// wav returns the content of a recording, which depends on the seed.
func wav(seed int) string { return fmt.Sprintf("RIFF\x00\x00\x00\x00WAVEfmt %d %01000d", seed, seed) }

// folder makes a folder with n recordings: 0.wav, 1.wav and so on.
func folder(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		file(t, wav(i), dir, fmt.Sprintf("%d.wav", i))
	}
	return dir
}

// contentOf returns the content of a file.
func contentOf(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(content)
}

func TestWrongUseIsStatus2AndSendsNothing(t *testing.T) {
	srv, _ := deployment(t)
	dir := t.TempDir()
	a, b := file(t, wav(1), dir, "one", "a.wav"), file(t, wav(2), dir, "two", "a.wav")
	for name, c := range map[string]struct {
		args      []string // after the recording
		set, here string   // a variable and its value
		says      string
	}{
		"an unknown flag":   {args: []string{"-port", "1"}, says: `flag provided but not defined: -port`},
		"no workers":        {args: []string{"-j", "0"}, says: `-j must be 1 or more, not 0`},
		"a language":        {args: []string{"-language", "en"}, says: `country code such as GB or DE, not "en"`},
		"no time to settle": {args: []string{"-settle", "0"}, says: `-settle must be 1s or more, not 0s`},
		"texts in a file":   {args: []string{"-o", a}, says: `-o: mkdir .*: not a directory`},
		"two texts in one":  {args: []string{b, "-o", dir}, says: `would both be .*/a.wav.txt; `},
		"no journal": {
			set: "XDG_CONFIG_HOME", here: a,
			says: `the journal: .*/aicontent-transcribe: not a directory; give it another directory with -journal`,
		},
		"no base URL":   {set: "AICONTENT_BASE_URL", says: `AICONTENT_BASE_URL: must be `},
		"no key":        {set: "AICONTENT_API_KEY", says: `AICONTENT_API_KEY: must be `},
		"no encryption": {set: "AICONTENT_BASE_URL", here: "http://example.com", says: `must be like https://`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", a)
			t.Setenv(cmp.Or(c.set, "HOME"), c.here)
			_, stderr := transcribe(t, exitUsage, append([]string{a}, c.args...)...)
			assert.Regexp(t, `^transcribe: .*`+c.says+`.*\n$`, stderr)
			assert.NotContains(t, stderr, "With", "options of the SDK")
		})
	}
	_, stderr := transcribe(t, exitUsage)
	assert.Equal(t, "transcribe: no recording given; see transcribe -h\n", stderr)
	assert.Empty(t, srv.Requests())
}

func TestTextsAreSavedInTheirFiles(t *testing.T) {
	srv, flags := deployment(t)
	dir, out := t.TempDir(), t.TempDir()
	for i, path := range []string{"2024/a.wav", "a.wav", "notes.txt", "._a.wav", ".trash/b.wav"} {
		file(t, wav(i), dir, "talks", path)
	}
	named := file(t, wav(6), dir, "voice.bin")
	t.Chdir(filepath.Join(dir, "talks"))
	flags = append(flags, ".", named, "-o", out, "-language", "GB", "-description", "minutes")
	stdout, stderr := transcribe(t, exitDone, flags...)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "Files: 3. Made: 3. Found: 0.\n")
	for _, name := range []string{"talks/2024/a.wav.txt", "talks/a.wav.txt", "voice.bin.txt"} {
		assert.Contains(t, contentOf(t, out, name), "No transcript")
	}
	for _, record := range srv.Transcriptions() {
		assert.Equal(t, []string{"GB", "minutes"}, []string{string(record.Language), record.Description})
	}
}

func TestATextIsPrintedBelowItsFileNameAndDoesNotWaitForTheOthers(t *testing.T) {
	read := make(chan struct{})
	_, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == storeOp && filepath.Ext(r.Request.File.Name) == ".mp3" {
			<-read
		}
	}))
	dir := folder(t, 2)
	require.NoError(t, os.Rename(filepath.Join(dir, "0.wav"), filepath.Join(dir, "0.mp3")))
	var stdout, stderr bytes.Buffer
	out := writerFunc(func(p []byte) (int, error) {
		if stdout.Len() == 0 {
			close(read)
		}
		return stdout.Write(p)
	})
	assert.Equal(t, exitDone, run(t.Context(), append(flags, dir), out, &stderr), &stderr)
	assert.Regexp(t, `^# \S+1\.wav\nNo transcript.*\n\n# \S+0\.mp3\nNo transcript.*\n\n$`, &stdout)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestTextsThatCannotBePrintedEndTheRun(t *testing.T) {
	srv, flags := deployment(t)
	dir := folder(t, 3)
	full := writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC })
	var stderr bytes.Buffer
	assert.Equal(t, exitSomeFailed, run(t.Context(), append(flags, "-j", "1", dir), full, &stderr))
	assert.Contains(t, stderr.String(), "0.wav: the texts cannot be printed: no space left on device\n")
	assert.Contains(t, stderr.String(), "Stopped: the texts cannot be printed.")
	assert.Contains(t, stderr.String(), "Made: 0. Found: 0. Not tried: 2. Failed: 1.\nBilled: 1.\n")
	assert.Len(t, srv.Records(), 1)

	out := t.TempDir()
	assert.Equal(t, exitDone, run(t.Context(), append(flags, "-o", out, dir), full, &stderr), "nothing is printed")
	stdout, messages := transcribe(t, exitDone, append(flags, dir)...)
	assert.Contains(t, stdout, "No transcript")
	assert.Contains(t, messages, "Made: 0. Found: 3.\n")
}

func TestABrokenPipeEndsTheRun(t *testing.T) {
	srv, flags := deployment(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	cmd := program(t.Context(), append(flags, "-j", "1", folder(t, 3))...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	_ = cmd.Run()
	assert.Equal(t, exitSomeFailed, cmd.ProcessState.ExitCode(), &stderr)
	assert.Contains(t, stderr.String(), "Made: 0. Found: 0. Not tried: 2. Failed: 1.\nBilled: 1.\n")
	assert.Len(t, srv.Records(), 1)
}

func TestTheNextRunContinuesAfterAnInterruptOrAKill(t *testing.T) {
	for name, c := range map[string]struct {
		signal  os.Signal
		status  int
		fault   aicontenttest.Fault
		records int    // before the signal
		last    string // what the program says at its end
		says    string // what the next run says
	}{
		"while the recording is sent": {
			syscall.SIGINT, exitInterrupted, aicontenttest.Stall(aicontenttest.MidUpload), 0,
			"Interrupted: 1.", `Made: 1\. Found: 0\.`,
		},
		"while the text is awaited": {
			syscall.SIGTERM, exitInterrupted, aicontenttest.Stall(aicontenttest.BeforeResponse), 1,
			"Interrupted: 1.", `Made: 0\. Found: 1\.`,
		},
		"killed while the text is awaited": {
			syscall.SIGKILL, -1, aicontenttest.Stall(aicontenttest.BeforeResponse), 1, "", `Made: 0\. Found: 1\.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t)
			srv.FaultOn(storeOp, 1, c.fault)
			flags = append(flags, file(t, wav(1)+string(make([]byte, 8<<20)), t.TempDir(), "a.wav"))
			cmd := program(t.Context(), flags...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return stores(srv) == 1 && len(srv.Records()) == c.records },
				time.Minute, time.Millisecond)
			require.NoError(t, cmd.Process.Signal(c.signal))
			_ = cmd.Wait()
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), c.last)
			assert.NotContains(t, stderr.String(), "a.wav: ", "the summary says it")
			requireSum(t, stderr.String())

			_, again := transcribe(t, exitDone, flags...)
			assert.Regexp(t, c.says, again)
			assert.NotContains(t, again, "its text is not there yet")
			assert.Len(t, srv.Records(), 1)
		})
	}
}

// While it looks for recordings, the program tries for each text whether it can be saved. A second interrupt ends it
// at once.
func TestAnInterruptLeavesNoStrayFile(t *testing.T) {
	_, flags := deployment(t)
	dir, out := folder(t, 3000), t.TempDir()
	texts := filepath.Join(out, filepath.Base(dir))
	for range 5 {
		cmd := program(t.Context(), append(flags, "-o", out, dir)...)
		require.NoError(t, cmd.Start())
		looking := func() bool { _, err := os.Stat(texts); return err == nil }
		require.Eventually(t, looking, time.Minute, time.Millisecond)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
		require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
		require.Empty(t, names(t, texts))
		require.NoError(t, os.Remove(texts))
	}
}

func TestAnInterruptedRunThatHangsIsEndedWithinASecond(t *testing.T) {
	assert.Less(t, grace, time.Second)
	srv, flags := deployment(t)
	dir := folder(t, 1)
	text := string(bytes.Repeat([]byte("text "), 1<<20))
	srv.AddTranscription(aicontent.Transcription{Name: recordOf(t, filepath.Join(dir, "0.wav")), Result: text})
	cmd := program(t.Context(), append(flags, dir)...)
	unread, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(unread, make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt)) // It waits for a reader of the other bytes.
	_ = cmd.Wait()
	assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
}

// recordOf returns the name of a file's record.
func recordOf(t *testing.T, path string) string {
	t.Helper()
	r := &recording{path: path}
	require.NoError(t, new(job).identify(t.Context(), r))
	return r.name
}
