package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// unconfigured takes the deployment of whoever runs the tests out of the environment.
func unconfigured(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("AICONTENT_API_KEY", "")
}

// deployment is a service that the quickstart finds in the environment. What the API does not allow fails the test.
func deployment(t *testing.T, opts ...aicontenttest.Option) *aicontenttest.Server {
	srv := aicontenttest.NewServer(t, append([]aicontenttest.Option{aicontenttest.BasePath("/tenant")}, opts...)...)
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	return srv
}

// untouched adds records of somebody else, and checks that they are all that is left in the end.
func untouched(t *testing.T, srv *aicontenttest.Server) {
	const name = "quickstart of somebody else"
	image := srv.AddImage(aicontenttest.Image{
		Name: name, Description: "a fox", Resolution: "512x512", Filter: "sepia",
	})
	transcription := srv.AddTranscription(aicontenttest.Transcription{Name: name, Result: "hello"})
	t.Cleanup(func() {
		assert.Equal(t, []aicontenttest.Image{image}, srv.Images(), "images left")
		assert.Equal(t, []aicontenttest.Transcription{transcription}, srv.Transcriptions(), "transcriptions left")
	})
}

// A newcomer without any configuration sees every step, and has a picture to look at.
func TestWithoutConfiguration(t *testing.T) {
	unconfigured(t)
	var out bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"-out", dir}, &out))

	path := filepath.Join(dir, "quickstart-coast.png")
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	require.NoError(t, err)
	assert.Equal(t, 512, picture.Bounds().Dx())
	assert.Equal(t, 512, picture.Bounds().Dy())

	data, err := recording.ReadFile("speech.wav")
	require.NoError(t, err)
	assert.Less(t, len(data), 200<<10)
	sum := sha256.Sum256(data)
	rest := out.String()
	for _, line := range []string{
		"the service runs in memory, at http://127.0.0.1:",
		"uploading  160.3 KiB of 160.3 KiB",
		"stored     quickstart ", ", recording (id 1)",
		"result     ", "5.13 seconds, 164124 bytes, sha256 " + hex.EncodeToString(sum[:]),
		"corrected  " + spoken,
		"stored     quickstart ", ", coast (id 231, 512×512)",
		"stored     quickstart ", ", harbor (id 232, 256×256)",
		"saved      " + path,
		"listed     1 of them in sepia", ", harbor\n",
		"walked     all pages: 232 images, 2 of them from this run",
		"shown      quickstart ", ", coast: Illustration, Watercolor\n", "updated    quickstart ", ", coast, favorite: true",
		"deleted    image 231", "deleted    image 232", "deleted    transcription 1",
		"Done in ",
	} {
		_, after, found := strings.Cut(rest, line)
		require.True(t, found, "%q is missing, or not in its place, in:\n%s", line, out.String())
		rest = after
	}
}

// On a deployment every operation is used, and nothing but what was there before is left.
func TestOnADeployment(t *testing.T) {
	srv := deployment(t)
	untouched(t, srv)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-out", t.TempDir()}, &out))
	assert.Contains(t, out.String(), "Using the deployment at "+srv.URL)
	assert.Contains(t, out.String(), "walked     all pages: 3 images, 2 of them from this run")

	used := map[aicontenttest.Operation]bool{}
	for _, request := range srv.Requests() {
		used[request.Operation] = true
		assert.Contains(t, request.Header.Get("User-Agent"), "aicontent-quickstart ")
	}
	for _, operation := range []aicontenttest.Operation{
		aicontenttest.ImagesStore, aicontenttest.ImagesList, aicontenttest.ImagesShow,
		aicontenttest.ImagesUpdate, aicontenttest.ImagesDelete,
		aicontenttest.TranscriptionsStore, aicontenttest.TranscriptionsUpdate,
		aicontenttest.TranscriptionsDelete,
	} {
		assert.True(t, used[operation], operation)
	}
}

// A deployment of another kind than the default changes nothing for the newcomer.
func TestOnEveryPersonality(t *testing.T) {
	for _, personality := range aicontenttest.Personalities() {
		t.Run(string(personality), func(t *testing.T) {
			srv := deployment(t, personality)
			untouched(t, srv)
			err := run(t.Context(), []string{"-out", t.TempDir()}, io.Discard)
			if personality == aicontenttest.SaysNo {
				assert.ErrorContains(t, err, "upload the recording: transcriptions.store: 200")
				return
			}
			assert.NoError(t, err)
		})
	}
}

// The user's own file is uploaded as it is, under its name, and without the country of the recording.
func TestOwnAudio(t *testing.T) {
	srv := deployment(t, aicontenttest.KeepUploads())
	untouched(t, srv)
	audio := filepath.Join(t.TempDir(), "interview.flac")
	content := []byte("fLaC\x00\x00\x00\x22 not much of an interview")
	require.NoError(t, os.WriteFile(audio, content, 0o600))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-out", t.TempDir(), "-audio", audio}, &out))
	assert.Contains(t, out.String(), " (checked)\n")
	for _, request := range srv.Requests() {
		if request.Operation == aicontenttest.TranscriptionsStore {
			assert.Equal(t, "interview.flac", request.File.Name)
			assert.Equal(t, content, request.File.Data)
			assert.NotContains(t, request.Form, "language")
		}
	}
}

// Whoever mistypes a path does not pay for it, and sends nobody a file that is no recording.
func TestBadPathsAreNoticedBeforeAnythingIsBilled(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	scan, empty := file("scan.mp3", "%PDF-1.7 and so on"), file("empty.mp3", "")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.wav"), 0o700))
	for name, c := range map[string]struct{ flag, path, says string }{
		"no audio file":      {"-audio", filepath.Join(dir, "missing.mp3"), "missing.mp3"},
		"an empty file":      {"-audio", empty, "empty"},
		"a folder":           {"-audio", filepath.Join(dir, "folder.wav"), "upload the recording: "},
		"a scan":             {"-audio", scan, "upload the recording: "},
		"no folder":          {"-out", filepath.Join(dir, "missing"), "read the arguments: "},
		"a file as a folder": {"-out", scan, "read the arguments: "},
	} {
		t.Run(name, func(t *testing.T) {
			srv := deployment(t)
			before, err := os.ReadDir(dir)
			require.NoError(t, err)
			err = run(t.Context(), []string{"-out", dir, c.flag, c.path}, io.Discard)
			assert.ErrorContains(t, err, c.says)
			assert.Empty(t, srv.Requests())
			after, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, after, len(before), "nothing is left in the directory")
		})
	}
}

// Whoever asks for help learns what a run may cost.
func TestHelpSaysWhatItCosts(t *testing.T) {
	unconfigured(t)
	var out bytes.Buffer
	assert.ErrorIs(t, run(t.Context(), []string{"-h"}, &out), flag.ErrHelp)
	for _, says := range []string{"AICONTENT_BASE_URL", "charge for three Store calls", "deletes", "-audio", "-out"} {
		assert.Contains(t, out.String(), says)
	}
}

// One variable without the other, or an argument by mistake, is said plainly, before anything is sent.
func TestConfigurationErrors(t *testing.T) {
	for name, test := range map[string]struct {
		variable, value string
		args            []string
		want            string
	}{
		"no key": {
			"AICONTENT_BASE_URL", "https://content.example.com", nil,
			"connect: aicontent.NewClientFromEnv: AICONTENT_API_KEY: must be set in the environment",
		},
		"no base URL": {
			"AICONTENT_API_KEY", "a-key-that-is-secret", nil,
			"connect: aicontent.NewClientFromEnv: AICONTENT_BASE_URL: must be set in the environment",
		},
		"argument": {"AICONTENT_BASE_URL", "", []string{"audio.wav"}, `read the arguments: unexpected "audio.wav"`},
		"unknown flag": {
			"AICONTENT_BASE_URL", "", []string{"-sound", "audio.wav"},
			"read the arguments: flag provided but not defined: -sound",
		},
	} {
		t.Run(name, func(t *testing.T) {
			unconfigured(t)
			t.Setenv(test.variable, test.value)
			assert.EqualError(t, run(t.Context(), test.args, io.Discard), test.want)
		})
	}
}
