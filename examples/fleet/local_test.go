package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// deployment is a service and a queue that the environment names.
func deployment(t *testing.T) (*aicontenttest.Server, *queue) {
	t.Helper()
	srv, q := aicontenttest.NewServer(t), testQueue(t, limits{rate: 100})
	t.Setenv("NATS_URL", q.nc.ConnectedUrl())
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	return srv, q
}

// uploads counts the create requests that the service has seen.
func uploads(srv *aicontenttest.Server) (n int) {
	for _, r := range srv.Requests() {
		if r.Operation == aicontenttest.TranscriptionsStore {
			n++
		}
	}
	return n
}

func TestDemoBillsNothingAndTouchesNoQueue(t *testing.T) {
	srv, q := deployment(t)
	data := t.TempDir()
	t.Setenv("TMPDIR", data)
	status, _, errOut := command(t, "-rate", "100", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Zero(t, status, errOut)
	assert.Empty(t, srv.Requests())
	assert.Empty(t, outcome(t, q))
	assert.Contains(t, errOut, "nothing is billed")
	assert.Contains(t, errOut, "with its store in "+filepath.Join(data, "fleet-"))
	left, err := filepath.Glob(filepath.Join(data, "*"))
	assert.NoError(t, err)
	assert.Empty(t, left)
}

func TestDeploymentSaysWhatItMayBillFirst(t *testing.T) {
	srv, q := deployment(t)
	dir := t.TempDir()
	assert.NoError(t, produceAll(t.Context(), q, &strings.Builder{}, write(t, t.TempDir(), "a.wav", recording(1))))
	before := -1
	var out, errOut strings.Builder
	say := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "may bill") {
			before = uploads(srv)
		}
		return errOut.Write(p)
	})
	write(t, dir, "notes.txt", "no recording")
	write(t, dir, "b.wav", recording(2))
	write(t, dir, "equal.wav", recording(2))
	status := run(t.Context(), []string{"-deployment", dir}, &out, say)
	assert.Equal(t, exitFailed, status, "a file was skipped")
	assert.Contains(t, errOut.String(), "notes.txt: not a recording by its extension")
	assert.Contains(t, errOut.String(),
		"The service may bill 2 transcriptions, including files queued earlier.\n")
	assert.Zero(t, before, "something was sent before, or nothing was said")
	assert.Len(t, srv.Records(), 2)
	assert.Contains(t, out.String(), "b.wav\tdone\t")
}

// A text that the queue has, and a record that the service has made for another queue, cost nothing more.
func TestBillLeavesOutFilesWhoseRecordExists(t *testing.T) {
	srv, _ := deployment(t)
	dir := t.TempDir()
	write(t, dir, "a.wav", recording(1))
	status, _, errOut := command(t, "-deployment", "-rate", "100", dir)
	assert.Zero(t, status, errOut)
	assert.Contains(t, errOut, "The service may bill 1 transcriptions,")
	for _, r := range srv.Transcriptions() {
		require.NoError(t, srv.Client().Transcriptions.Delete(t.Context(), aicontent.ID(r.ID)))
	}

	made := write(t, dir, "made.wav", recording(2))
	srv.AddTranscription(aicontenttest.Transcription{Name: fileID(t, made), Result: "text"})
	for n := range uint64(120) {
		srv.AddTranscription(aicontenttest.Transcription{Name: fmt.Sprint("fleet-", n)})
	}
	write(t, dir, "new.wav", recording(3))
	status, out, errOut := command(t, "-deployment", "-rate", "100", dir)
	assert.Zero(t, status, errOut)
	assert.Contains(t, errOut, "The service may bill 1 transcriptions,")
	assert.Contains(t, out, "made.wav\tdone\t")
	assert.Equal(t, 2, uploads(srv))

	status, _, errOut = command(t, "-deployment", dir)
	assert.Zero(t, status, errOut)
	assert.Contains(t, errOut, "The service may bill 0 transcriptions,")
}

func TestDeploymentWithoutFilesMakesUpNone(t *testing.T) {
	srv, _ := deployment(t)
	status, out, errOut := command(t, "-deployment")
	assert.Zero(t, status, errOut)
	assert.Empty(t, out)
	assert.Zero(t, uploads(srv))
}

func TestDeploymentWithAWrongKeyEnds(t *testing.T) {
	deployment(t)
	t.Setenv("AICONTENT_API_KEY", "a-wrong-key")
	status, _, errOut := command(t, "-deployment", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: the service refuses the API key: 401: ")
}

func TestDeploymentNeedsAnAddress(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	status, _, errOut := command(t, "-deployment")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "-deployment needs AICONTENT_BASE_URL and AICONTENT_API_KEY")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
