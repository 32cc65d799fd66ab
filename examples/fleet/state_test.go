package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adrg/xdg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// stateFolder makes a folder that is the user's for the test.
func stateFolder(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	xdg.Reload()
	return home
}

func TestTwoRunsForOneAccountDoNotShareAFolder(t *testing.T) {
	home := stateFolder(t)
	srv := aicontenttest.NewServer(t)
	t.Setenv("NATS_URL", "")
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	file := write(t, t.TempDir(), "a.wav", recording(1))
	dir := accountFolder(strings.Replace(srv.URL, "127.0.0.1", "LOCALHOST", 1)+"/", "default")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	_, unlock, err := openFolder(t.Context(), dir, use{start: true})
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	status, out, errOut := command(t, "-deployment", "-rate", "100", file)
	assert.Equal(t, exitUsage, status)
	assert.Empty(t, out)
	assert.Regexp(t, `^fleet: the queue in `+regexp.QuoteMeta(home)+`/aicontent-fleet/localhost-[0-9a-f]{16}/default: `+
		`another run is using it; wait until it ends\n$`, errOut)
	assert.Empty(t, srv.Requests())

	unlock()
	for range 2 {
		t.Chdir(t.TempDir())
		status, out, errOut = command(t, "-deployment", "-rate", "100", file)
		assert.Zero(t, status, errOut)
		assert.Contains(t, out, "a.wav\tdone\t1\t")
	}
	assert.Contains(t, errOut, "Files queued: 0, already known: 1\n", "another folder has another queue")
	assert.Equal(t, 1, uploads(srv))
	err = filepath.WalkDir(home, func(path string, entry os.DirEntry, err error) error {
		assert.NotContains(t, path, srv.APIKey)
		return err
	})
	require.NoError(t, err)
}

func TestSpellingsOfADeploymentAreOneAndOthersAreNot(t *testing.T) {
	tests := map[string]struct {
		base string
		same bool
	}{
		"the same":       {"http://127.0.0.1:8080/ai", true},
		"localhost":      {"http://LocalHost:8080/ai", true},
		"IPv6":           {"http://[::1]:8080/ai", true},
		"long IPv6":      {"http://[0:0:0:0:0:0:0:1]:8080/ai/", true},
		"another port":   {"http://127.0.0.1:8081/ai", false},
		"another scheme": {"https://127.0.0.1:8080/ai", false},
		"another path":   {"http://127.0.0.1:8080/ai2", false},
		"another host":   {"http://10.0.0.1:8080/ai", false},
	}
	want := site("http://127.0.0.1:8080/ai")
	assert.Regexp(t, "^localhost-[0-9a-f]{16}$", want)
	for name, test := range tests {
		assert.Equal(t, test.same, want == site(test.base), name)
	}
	assert.Equal(t, site("https://example.com"), site("HTTPS://EXAMPLE.COM:443//"))
	assert.Equal(t, site("http://localhost"), site("http://127.0.0.1:80"))
	assert.Regexp(t, `^fe80\.\.1-[0-9a-f]{16}$`, site("http://[fe80::1]"))
}

func TestStateFolderThatCannotBeMadeIsAnError(t *testing.T) {
	deployment(t)
	t.Setenv("NATS_URL", "")
	t.Setenv("XDG_STATE_HOME", write(t, t.TempDir(), "file", "no folder"))
	xdg.Reload()
	status, _, errOut := command(t, "-deployment")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: no folder for the queue: ")
}

// localDeployment is a service, and a queue in a state folder.
func localDeployment(t *testing.T) *aicontenttest.Server {
	t.Helper()
	stateFolder(t)
	srv, _ := deployment(t)
	t.Setenv("NATS_URL", "")
	return srv
}

func TestAReplacedKeyHasTheQueueOfTheAccount(t *testing.T) {
	srv := localDeployment(t)
	file := write(t, t.TempDir(), "a.wav", recording(1))
	srv.FaultOn(aicontenttest.TranscriptionsList, 100, aicontenttest.Status(401, `{"message":"Unauthenticated."}`))
	t.Setenv("AICONTENT_API_KEY", "a-revoked-key")
	status, _, _ := command(t, "-deployment", "-rate", "100", file)
	assert.Equal(t, exitFailed, status)

	srv.ClearFaults()
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	for range 2 {
		status, out, errOut := command(t, "-deployment", file)
		assert.Zero(t, status, errOut)
		assert.Contains(t, out, "a.wav\tdone\t1\t")
	}
	assert.Len(t, srv.Records(), 1)
}

func TestUnfinishedJobsOfAnotherAccountAreTold(t *testing.T) {
	srv := localDeployment(t)
	file := write(t, t.TempDir(), "a.wav", recording(1))
	t.Setenv("AICONTENT_API_KEY", "a-wrong-key")
	status, _, _ := command(t, "-deployment", "-account", "studio", "-rate", "100", file)
	assert.Equal(t, exitFailed, status)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	status, _, errOut := command(t, "-deployment")
	assert.Zero(t, status, errOut)
	assert.Contains(t, errOut, "Another account of this deployment has 1 unfinished jobs; see -account studio\n")
	status, out, errOut := command(t, "-deployment", "-account", "studio")
	assert.Zero(t, status, errOut)
	assert.Contains(t, out, "a.wav\tdone\t1\t")
	_, _, errOut = command(t, "-deployment")
	assert.NotContains(t, errOut, "Another account")
}

// Between two runs, and beside one, a queue is reached by its folder.
func TestQueueIsReachedByItsFolder(t *testing.T) {
	srv := localDeployment(t)
	file := write(t, t.TempDir(), "a.wav", recording(1))
	status, _, errOut := command(t, "-deployment", "-rate", "100", file)
	assert.Zero(t, status, errOut)
	dir := accountFolder(srv.URL, "default")
	for _, args := range [][]string{{"set", "-rate", "7"}, {"set", "-queue", dir}} {
		status, out, errOut := command(t, args...)
		assert.Zero(t, status, errOut)
		assert.Contains(t, out, "-rate 7\n")
	}
	status, out, errOut := command(t, "results", "-queue", dir)
	assert.Zero(t, status, errOut)
	assert.Contains(t, out, "a.wav\tdone\t1\t")
	status, _, errOut = command(t, "watch")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, dir+": no run is using it\n")

	_, end, err := openFolder(t.Context(), dir, use{start: true})
	require.NoError(t, err)
	defer end()
	status, _, errOut = command(t, "set", "-rate", "9")
	assert.Zero(t, status, errOut)

	empty := t.TempDir()
	status, _, errOut = command(t, "results", "-queue", empty)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errOut, "fleet: the queue in "+empty+": there is none yet")
	left, err := os.ReadDir(empty)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Other users of the machine can reach the port.
func TestQueueOnThisMachineNeedsTheTokenOfItsFolder(t *testing.T) {
	dir := t.TempDir()
	url, end, err := openFolder(t.Context(), dir, use{start: true})
	require.NoError(t, err)
	token := regexp.MustCompile("//.*@").FindString(url)
	_, err = openQueue(t.Context(), strings.Replace(url, token, "//", 1), nil)
	require.ErrorContains(t, err, "Authorization Violation")
	info, err := os.Stat(filepath.Join(dir, addressFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	end()
	_, err = os.Stat(filepath.Join(dir, addressFile))
	require.ErrorIs(t, err, os.ErrNotExist)
	again, end, err := openFolder(t.Context(), dir, use{start: true})
	require.NoError(t, err)
	defer end()
	assert.NotContains(t, again, token)
}
