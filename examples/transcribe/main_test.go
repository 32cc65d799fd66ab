package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modeVariable turns the test binary into the program under test or into the service of the kill test.
const modeVariable = "TRANSCRIBE_TEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(modeVariable) {
	case "program":
		main()
	case "service":
		serve()
	default:
		os.Exit(m.Run())
	}
}

// program returns a command that runs the program in its own process.
func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), modeVariable+"=program")
	return cmd
}

// recordingFile writes a WAV file of the length given, in bytes, whose content depends on the seed.
func recordingFile(t *testing.T, path string, seed byte, size int) string {
	t.Helper()
	data := bytes.Repeat([]byte{seed, 0}, size/2)
	copy(data, "RIFF\x00\x00\x00\x00WAVEfmt ")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
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

// transcribe runs the program within the test, and returns its status and what it wrote.
func transcribe(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, messages bytes.Buffer
	status = run(t.Context(), args, &out, &messages)
	return status, out.String(), messages.String()
}

func TestWrongUseIsStatus2AndSendsNothing(t *testing.T) {
	srv, _ := deployment(t)
	dir := t.TempDir()
	a := recordingFile(t, filepath.Join(dir, "one", "x", "a.wav"), 1, 1000)
	b := recordingFile(t, filepath.Join(dir, "two", "x", "a.wav"), 2, 1000)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing":              {nil, "no recording given"},
		"an unknown flag":      {[]string{"-port", "1"}, "flag provided but not defined: -port"},
		"no workers":           {[]string{a, "-j", "0"}, "-j must be 1 or more, not 0"},
		"a language":           {[]string{a, "-language", "en"}, `country code such as GB or DE, not "en"`},
		"no time to settle":    {[]string{a, "-settle", "0"}, "-settle must be 1s or more, not 0s"},
		"texts in a file":      {[]string{a, "-o", a}, "transcribe: -o: "},
		"two texts, one place": {[]string{filepath.Dir(a), filepath.Dir(b), "-o", dir, "-journal", t.TempDir()}, "would both be x/a.wav.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, stderr := transcribe(t, c.args...)
			assert.Equal(t, exitUsage, status)
			assert.Contains(t, stderr, c.says)
		})
	}
	for _, variable := range []string{"AICONTENT_BASE_URL", "AICONTENT_API_KEY"} {
		t.Run("no "+variable, func(t *testing.T) {
			t.Setenv(variable, "")
			status, _, stderr := transcribe(t, a, "-journal", t.TempDir())
			assert.Equal(t, exitUsage, status)
			assert.Equal(t, "transcribe: "+variable+": must be set in the environment\n", stderr)
		})
	}
	assert.Empty(t, srv.Requests())
}

func TestHelpExplainsTheFlags(t *testing.T) {
	status, _, stderr := transcribe(t, "-h")
	assert.Equal(t, exitDone, status)
	for _, says := range []string{"transcribe [flags] FILE|FOLDER...", "-settle", "only one journal", "Exit status: 0"} {
		assert.Contains(t, stderr, says)
	}
}

func TestTextsAreSavedInTheirFiles(t *testing.T) {
	srv, flags := deployment(t)
	dir, out := t.TempDir(), t.TempDir()
	recordingFile(t, filepath.Join(dir, "talks", "2024", "a.wav"), 1, 1000)
	recordingFile(t, filepath.Join(dir, "talks", "a.wav"), 2, 1000)
	recordingFile(t, filepath.Join(dir, "talks", "notes.txt"), 3, 1000)
	recordingFile(t, filepath.Join(dir, "talks", "._a.wav"), 4, 1000)
	recordingFile(t, filepath.Join(dir, "talks", ".trash", "b.wav"), 5, 1000)
	named := recordingFile(t, filepath.Join(dir, "voice.bin"), 6, 1000)

	status, stdout, stderr := transcribe(t, append(flags, filepath.Join(dir, "talks"), named, "-o", out, "-language", "GB", "-description", "minutes")...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "Files: 3. Different recordings: 3. Made: 3. Found: 0.\n")
	for _, name := range []string{"talks/2024/a.wav.txt", "talks/a.wav.txt", "voice.bin.txt"} {
		text, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		require.NoError(t, err)
		assert.Contains(t, string(text), "No transcript")
	}
	for _, record := range srv.Transcriptions() {
		assert.Equal(t, "GB", record.Language)
		assert.Equal(t, "minutes", record.Description)
	}
}

func TestTextsArePrintedBelowTheNamesOfTheirFiles(t *testing.T) {
	_, flags := deployment(t)
	dir := t.TempDir()
	b, a := recordingFile(t, filepath.Join(dir, "b.wav"), 1, 1000), recordingFile(t, filepath.Join(dir, "a.wav"), 2, 2000)
	again := recordingFile(t, filepath.Join(dir, "c.wav"), 1, 1000)
	status, stdout, stderr := transcribe(t, append(flags, "-j", "1", b, a, again)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Regexp(t, `^# \S+b\.wav = \S+c\.wav\nNo transcript.* 1000 bytes.*\n\n# \S+a\.wav\nNo transcript.* 2000 bytes.*\n\n$`, stdout)
}

func TestATextDoesNotWaitForTheOthers(t *testing.T) {
	dir := t.TempDir()
	quick, slow := recordingFile(t, filepath.Join(dir, "quick.wav"), 1, 1000), recordingFile(t, filepath.Join(dir, "slow.wav"), 2, 2000)
	read := make(chan struct{})
	_, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.TranscriptionsStore && r.Request.File.Name == "slow.wav" {
			<-read
		}
	}))
	var stdout bytes.Buffer
	out := writerFunc(func(p []byte) (int, error) {
		if stdout.Len() == 0 {
			close(read)
		}
		return stdout.Write(p)
	})
	var stderr bytes.Buffer
	assert.Equal(t, exitDone, run(t.Context(), append(flags, slow, quick), out, &stderr), &stderr)
	assert.Regexp(t, `^# \S+quick\.wav\nNo transcript.* 1000 bytes.*\n\n# \S+slow\.wav\nNo transcript.* 2000 bytes.*\n\n$`, &stdout)
}

func TestTextsThatCannotBePrintedAreAFailure(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	file := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	other := recordingFile(t, filepath.Join(dir, "b.wav"), 2, 1000)
	full := writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC })
	var messages bytes.Buffer
	assert.Equal(t, exitSomeFailed, run(t.Context(), append(flags, "-j", "1", file, other), full, &messages))
	assert.Contains(t, messages.String(), "  "+file+": the texts cannot be printed: no space left on device\n")
	assert.Contains(t, messages.String(), "Stopped: the texts cannot be printed.")
	assert.Contains(t, messages.String(), "Made: 1. Found: 0. Not tried: 1. Failed: 1.")
	assert.Len(t, srv.Records(), 1)

	out := t.TempDir()
	assert.Equal(t, exitDone, run(t.Context(), append(flags, "-o", out, file), full, &messages), "nothing is printed")
	status, stdout, stderr := transcribe(t, append(flags, file)...)
	assert.Equal(t, exitDone, status)
	assert.Contains(t, stdout, "No transcript")
	assert.Contains(t, stderr, "Made: 0. Found: 1.\n")
	assert.Len(t, srv.Records(), 1)
}

func TestABrokenPipeEndsTheRun(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	for i := range 3 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), byte(i), 1000)
	}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	cmd := program(t.Context(), append(flags, "-j", "1", dir)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	_ = cmd.Run()
	assert.Equal(t, exitSomeFailed, cmd.ProcessState.ExitCode(), &stderr)
	assert.Contains(t, stderr.String(), "Made: 1. Found: 0. Not tried: 2. Failed: 1.")
	assert.Len(t, srv.Records(), 1)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestAnInterruptEndsTheProgramWithinASecond(t *testing.T) {
	t.Run("while the recording is sent", func(t *testing.T) {
		srv, flags := deployment(t)
		reached := make(chan struct{})
		srv.FaultWhen(func(r *aicontenttest.Request) bool {
			if isStore(r) {
				close(reached)
			}
			return isStore(r)
		}, 1, aicontenttest.Stall(aicontenttest.MidUpload))
		args := append(flags, recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 8<<20))
		interrupt(t, syscall.SIGINT, reached, args)
		status, _, stderr := transcribe(t, args...)
		assert.Equal(t, exitDone, status)
		assert.Contains(t, stderr, "Made: 1. Found: 0.")
		assert.NotContains(t, stderr, "its text is not there yet", "an upload that was cut off makes no record")
	})
	t.Run("while the text is awaited", func(t *testing.T) {
		reached, release := make(chan struct{}), make(chan struct{})
		srv, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
			if r.Request.Operation == aicontenttest.TranscriptionsStore {
				close(reached)
				<-release
			}
		}))
		t.Cleanup(func() { close(release) })
		args := append(flags, recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 8<<20))
		interrupt(t, syscall.SIGTERM, reached, args)
		status, _, stderr := transcribe(t, args...)
		assert.Equal(t, exitDone, status)
		assert.Contains(t, stderr, "Made: 0. Found: 1.")
		assert.Len(t, srv.Records(), 1)
	})
}

// interrupt starts the program, and interrupts it when a channel is closed.
func interrupt(t *testing.T, signal os.Signal, when <-chan struct{}, args []string) {
	t.Helper()
	cmd := program(t.Context(), args...)
	messages, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	<-when
	start := time.Now()
	require.NoError(t, cmd.Process.Signal(signal))
	said, err := io.ReadAll(messages)
	require.NoError(t, err)
	_ = cmd.Wait()
	assert.Less(t, time.Since(start), 1500*time.Millisecond, "a second, and some time for a busy machine")
	assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(said), "Interrupted: 1.")
}
