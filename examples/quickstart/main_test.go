package main

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modeVariable turns the test binary into the program.
const modeVariable = "QUICKSTART_TEST_MODE"

func TestMain(m *testing.M) {
	if os.Getenv(modeVariable) == "program" {
		main()
		return
	}
	os.Exit(m.Run())
}

// unconfigured removes the deployment of the person who runs the tests from the environment.
func unconfigured(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("AICONTENT_API_KEY", "")
}

// deployment starts a service that the quickstart finds in the environment. It has records of somebody else.
func deployment(t *testing.T, opts ...aicontenttest.Option) *aicontenttest.Server {
	srv := aicontenttest.NewServer(t, append([]aicontenttest.Option{aicontenttest.BasePath("/tenant")}, opts...)...)
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	srv.AddImage(aicontent.Image{Name: others, Resolution: "512x512", Filter: "sepia"})
	srv.AddTranscription(aicontent.Transcription{Name: others, Result: "hello"})
	return srv
}

const others = "quickstart of somebody else"

// assertClean checks that the tour has left the records of somebody else, and no other.
func assertClean(t *testing.T, srv *aicontenttest.Server) {
	t.Helper()
	images, transcriptions := srv.Images(), srv.Transcriptions()
	assert.Len(t, images, 1)
	assert.Len(t, transcriptions, 1)
	assert.Equal(t, others, images[0].Name)
	assert.Equal(t, others, transcriptions[0].Name)
}

// quickstart runs the program within the test.
func quickstart(t *testing.T, dir string) (status int, stdout, stderr string) {
	var out, messages bytes.Buffer
	status = run(t.Context(), dir, &out, &messages)
	return status, out.String(), messages.String()
}

// signalled runs the program in its own process, sends it the signal when the service has executed the operation, and
// lets the service respond at the end of the test alone.
func signalled(
	t *testing.T, operation aicontent.Operation, signal os.Signal, opts ...aicontenttest.Option,
) (srv *aicontenttest.Server, status int, stdout, stderr string) {
	reached, release := make(chan struct{}), make(chan struct{})
	srv = deployment(t, append(opts, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == operation {
			close(reached)
			<-release
		}
	}))...)
	t.Cleanup(func() { close(release) })
	cmd, out, messages := program(t, "-out", t.TempDir())
	require.NoError(t, cmd.Start())
	<-reached
	require.NoError(t, cmd.Process.Signal(signal))
	_ = cmd.Wait()
	return srv, cmd.ProcessState.ExitCode(), out.String(), messages.String()
}

// program returns a command that runs the program in its own process.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd, stdout, stderr = exec.CommandContext(t.Context(), os.Args[0], args...), new(bytes.Buffer), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), modeVariable+"=program")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func TestWithoutConfigurationTheTourShowsEveryStepAndSavesAPicture(t *testing.T) {
	unconfigured(t)
	dir := t.TempDir()
	status, out, said := quickstart(t, dir)
	require.Zero(t, status, said)
	path := filepath.Join(dir, "quickstart-coast.png")
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	require.NoError(t, err)
	assert.Equal(t, 512, picture.Bounds().Dx())
	rest := out
	for _, line := range []string{
		"a service in memory", ", recording (id 1)", "164124 bytes", "corrected  " + spoken,
		", coast (id 231, 512×512)", "listed     1 with ", "all pages: 231 images",
		"coast: Illustration, favorite: true",
		"saved      " + path, "deleted    image 231", "deleted    transcription 1",
	} {
		_, after, found := strings.Cut(rest, line)
		require.True(t, found, "%q is missing, or not in its place, in:\n%s", line, out)
		rest = after
	}
}

func TestWrongUseExits2AndSendsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		variable, value string
		args            []string
		says            string
	}{
		"no key":          {"AICONTENT_BASE_URL", "https://content.example.com", nil, "AICONTENT_API_KEY: must be "},
		"no base URL":     {"AICONTENT_API_KEY", "a-key-that-is-secret", nil, "AICONTENT_BASE_URL: must be like"},
		"an argument":     {"AICONTENT_BASE_URL", "", []string{"audio.wav"}, `unexpected argument "audio.wav"`},
		"an unknown flag": {"AICONTENT_BASE_URL", "", []string{"-sound"}, "flag provided but not defined: -sound"},
		"no folder":       {"AICONTENT_BASE_URL", "", []string{"-out", "/does/not/exist"}, "-out: "},
	} {
		t.Run(name, func(t *testing.T) {
			unconfigured(t)
			t.Setenv(c.variable, c.value)
			cmd, stdout, stderr := program(t, c.args...)
			cmd.Dir = t.TempDir()
			_ = cmd.Run()
			assert.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), c.says)
			assert.NotContains(t, stderr.String(), "secret")
			assert.Empty(t, stdout.String())
			files, err := os.ReadDir(cmd.Dir)
			require.NoError(t, err)
			assert.Empty(t, files)
		})
	}
}

func TestAFailingStepExits1AndLeavesNothingBehind(t *testing.T) {
	for _, c := range []struct {
		operation aicontent.Operation
		skip      int // requests of the operation that succeed before
	}{
		{aicontent.TranscriptionsStore, 0}, {aicontent.TranscriptionsUpdate, 0}, {aicontent.ImagesStore, 0},
		{aicontent.ImagesList, 0}, {aicontent.ImagesList, 1}, {aicontent.ImagesShow, 0},
		{aicontent.ImagesUpdate, 0},
	} {
		t.Run(string(c.operation), func(t *testing.T) {
			srv := deployment(t)
			seen := 0
			srv.FaultWhen(func(r *aicontenttest.Request) bool {
				if r.Operation == c.operation {
					seen++
				}
				return r.Operation == c.operation && seen == c.skip+1
			}, 1, aicontenttest.Status(http.StatusForbidden, `{"message":"Not with this plan."}`))
			status, _, said := quickstart(t, t.TempDir())
			assert.Equal(t, exitFailed, status)
			assert.Contains(t, said, string(c.operation)+": 403: Not with this plan.")
			assert.NotContains(t, said, srv.APIKey)
			assertClean(t, srv)
		})
	}
}

func TestALostStoreIsFoundByItsNameAndDeleted(t *testing.T) {
	for _, operation := range []aicontent.Operation{
		aicontent.ImagesStore, aicontent.TranscriptionsStore,
	} {
		t.Run(string(operation), func(t *testing.T) {
			srv := deployment(t)
			srv.FaultOn(operation, 1, aicontenttest.LoseResponse())
			status, out, said := quickstart(t, t.TempDir())
			assert.Equal(t, exitFailed, status)
			assert.NotContains(t, said, "may still appear")
			assert.Contains(t, out, "deleted ")
			assertClean(t, srv)
		})
	}
}

func TestAPictureThatCannotBeFetchedExits1AndTheEarlierOneStays(t *testing.T) {
	srv, dir := deployment(t), t.TempDir()
	path := filepath.Join(dir, "quickstart-coast.png")
	require.NoError(t, os.WriteFile(path, []byte("of an earlier run"), 0o600))
	srv.FaultOn(aicontent.ImagesDownload, 9, aicontenttest.CloseMidResponse())
	status, _, said := quickstart(t, dir)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, said, "images.download")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "of an earlier run", string(kept))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing else is left")
	assertClean(t, srv)
}

func TestARecordThatCannotBeDeletedIsNamedAndTheOtherIsDeleted(t *testing.T) {
	srv := deployment(t)
	srv.FaultOn(aicontent.ImagesDelete, 1, aicontenttest.Status(http.StatusForbidden, `{"message":"Kept."}`))
	status, _, said := quickstart(t, t.TempDir())
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, said, "image 2 is still there: images.delete: 403: Kept.")
	assert.Len(t, srv.Images(), 2)
	assert.Len(t, srv.Transcriptions(), 1)
}

func TestASignalEndsTheTourAndItsRecordsAreDeleted(t *testing.T) {
	for name, signal := range map[string]os.Signal{
		"Ctrl-C": os.Interrupt, "kill": syscall.SIGTERM, "a closed terminal": syscall.SIGHUP,
	} {
		t.Run(name, func(t *testing.T) {
			srv, status, out, said := signalled(t, aicontent.ImagesShow, signal)
			assert.Equal(t, exitInterrupted, status)
			assert.Contains(t, said, "quickstart failed: ")
			assert.Contains(t, out, "deleted    transcription 2\n")
			assertClean(t, srv)
		})
	}
}

func TestAnInterruptedStoreIsNamedBecauseItsRecordMayStillAppear(t *testing.T) {
	for operation, name := range map[aicontent.Operation]string{
		aicontent.ImagesStore: "coast", aicontent.TranscriptionsStore: "recording",
	} {
		t.Run(name, func(t *testing.T) {
			_, status, _, said := signalled(t, operation, os.Interrupt, aicontenttest.LaggingList)
			assert.Equal(t, exitInterrupted, status)
			assert.Regexp(t, `"quickstart \w+, `+name+`" may still appear, and be billed`, said)
		})
	}
}

func TestTheCleanUpEndsIfTheServiceDoesNotRespond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		stall := aicontenttest.Stall(aicontenttest.BeforeRead)
		srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LoseResponse())
		srv.FaultOn(aicontent.ImagesList, 9, stall)
		srv.FaultOn(aicontent.TranscriptionsDelete, 9, stall)
		start, tour := time.Now(), &tour{client: srv.Client(), out: io.Discard, mark: "quickstart"}
		err := tour.take(t.Context())
		assert.LessOrEqual(t, time.Since(start), 2*time.Minute)
		assert.ErrorContains(t, err, `"quickstart, coast" may still appear`)
		assert.ErrorContains(t, err, "transcription 1 is still there")
	})
}

func TestOutputThatCannotBeWrittenExits1AndNothingMoreIsBilled(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	var once sync.Once
	srv := deployment(t, aicontenttest.OnRequest(func(request aicontenttest.Request) {
		if request.Operation == aicontent.TranscriptionsStore {
			once.Do(func() { assert.NoError(t, r.Close()) })
		}
	}))
	cmd, _, stderr := program(t, "-out", t.TempDir())
	cmd.Stdout = w
	_ = cmd.Run()
	assert.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	assert.Contains(t, stderr.String(), "print: write /dev/stdout: broken pipe")
	assertClean(t, srv)
	for _, request := range srv.Requests() {
		assert.NotEqual(t, aicontent.ImagesStore, request.Operation)
	}
}
