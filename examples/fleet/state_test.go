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
	_, unlock, err := openState(strings.Replace(srv.URL, "127.0.0.1", "LOCALHOST", 1)+"/", srv.APIKey)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	status, out, errOut := command(t, "-deployment", "-rate", "100", file)
	assert.Equal(t, exitUsage, status)
	assert.Empty(t, out)
	assert.Regexp(t, `^fleet: the queue in `+regexp.QuoteMeta(home)+`/aicontent-fleet/[0-9a-f]{16}: `+
		`another run is using it; wait until it ends\n$`, errOut)
	assert.Empty(t, srv.Requests())

	require.NoError(t, unlock())
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

func TestSpellingsOfAnAccountAreOneAndOtherAccountsAreNot(t *testing.T) {
	tests := map[string]struct {
		base, key string
		same      bool
	}{
		"the same":         {"http://127.0.0.1:8080/ai", "key", true},
		"localhost":        {"http://LocalHost:8080/ai", "key", true},
		"IPv6":             {"http://[::1]:8080/ai", "key", true},
		"long IPv6":        {"http://[0:0:0:0:0:0:0:1]:8080/ai/", "key", true},
		"another port":     {"http://127.0.0.1:8081/ai", "key", false},
		"another scheme":   {"https://127.0.0.1:8080/ai", "key", false},
		"another path":     {"http://127.0.0.1:8080/ai2", "key", false},
		"another host":     {"http://10.0.0.1:8080/ai", "key", false},
		"another key":      {"http://127.0.0.1:8080/ai", "kez", false},
		"key in the path?": {"http://127.0.0.1:8080/", "ai\nkey", false},
	}
	want := account("http://127.0.0.1:8080/ai", "key")
	assert.Len(t, want, 16)
	for name, test := range tests {
		assert.Equal(t, test.same, want == account(test.base, test.key), name)
	}
	assert.Equal(t, account("https://example.com", "key"), account("HTTPS://EXAMPLE.COM:443//", "key"))
	assert.Equal(t, account("http://localhost", "key"), account("http://127.0.0.1:80", "key"))
}

func TestStateFolderThatCannotBeMadeIsAnError(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", write(t, t.TempDir(), "file", "no folder"))
	xdg.Reload()
	_, _, err := openState("https://example.com", "key")
	require.ErrorContains(t, err, "no folder for the queue: ")
}
