package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

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

func TestDemoBillsNothingAndTouchesNoQueue(t *testing.T) {
	srv, q := deployment(t)
	data := t.TempDir()
	t.Setenv("TMPDIR", data)
	status, out, errOut := command(t, "-rate", "100", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Zero(t, status, errOut)
	assert.Empty(t, srv.Requests())
	assert.Empty(t, outcome(t, q))
	assert.Contains(t, out, "nothing is billed")
	assert.Contains(t, out, "with its store in "+filepath.Join(data, "fleet-"))
	left, err := filepath.Glob(filepath.Join(data, "*"))
	assert.NoError(t, err)
	assert.Empty(t, left)
}

func TestDeploymentSaysWhatItMayBillFirst(t *testing.T) {
	srv, q := deployment(t)
	dir := t.TempDir()
	assert.NoError(t, produceAll(t.Context(), q, &strings.Builder{}, write(t, dir, "a.wav", recording(1))))
	var requests int
	var out strings.Builder
	say := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "may bill") {
			requests = len(srv.Requests())
		}
		return out.Write(p)
	})
	write(t, dir, "notes.txt", "no recording")
	write(t, dir, "b.wav", recording(2))
	var errOut strings.Builder
	status := run(t.Context(), []string{"-deployment", "-price", "0.5", dir}, say, &errOut)
	assert.Equal(t, exitFailed, status, "a file was skipped")
	assert.Contains(t, errOut.String(), "notes.txt: its name is not that of a recording")
	assert.Contains(t, out.String(), "The service may bill 2 transcriptions and 1 queued earlier: 1.50 at -price 0.5.")
	assert.Zero(t, requests, "something was sent before")
	assert.Len(t, srv.Records(), 2)
	assert.Contains(t, out.String(), "b.wav\tdone\t")
}

func TestDeploymentWithAWrongKeyEnds(t *testing.T) {
	deployment(t)
	t.Setenv("AICONTENT_API_KEY", "wrong")
	status, _, errOut := command(t, "-deployment", write(t, t.TempDir(), "a.wav", recording(1)))
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: the service refuses the API key: 401: ")
}

func TestDeploymentNeedsAnAddress(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	status, _, errOut := command(t, "-deployment")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "AICONTENT_BASE_URL is not set")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
