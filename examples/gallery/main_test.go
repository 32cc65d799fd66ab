package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start runs the program with args on a free port until the test ends, and returns what it says and its address.
func start(t *testing.T, args ...string) (said []string, url string) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, append(args, "-addr", "127.0.0.1:0"), in, io.Discard) }()
	t.Cleanup(func() {
		began := time.Now()
		stop()
		assert.NoError(t, <-ended)
		assert.Less(t, time.Since(began), 5*time.Second, "it had to be ended by force")
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if _, url, found := strings.Cut(lines.Text(), "The gallery is at "); found {
			return said, url
		}
	}
	require.FailNow(t, "it does not start")
	return nil, ""
}

func TestWithoutConfigurationItRunsInMemory(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("AICONTENT_API_KEY", "")
	said, url := start(t)
	assert.Contains(t, said[0], "the service runs in memory")
	resp, err := http.Get(url + "/")
	says(t, pageOf(t, resp, err), "Nothing was found.")
}

func TestItUsesTheDeploymentOfTheEnvironment(t *testing.T) {
	service := aicontenttest.NewServer(t, aicontenttest.BasePath("/tenant"), aicontenttest.APIKey(testKey))
	service.AddImage(aicontent.Image{Name: "Harbor", Description: "A harbor", Resolution: "256x256"})
	t.Setenv("AICONTENT_BASE_URL", service.URL)
	t.Setenv("AICONTENT_API_KEY", testKey)
	said, url := start(t)
	folder := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aicontent-gallery")
	assert.Equal(t, "The forms that were sent are remembered in "+folder, said[0])
	resp, err := http.Get(url + "/pictures")
	says(t, pageOf(t, resp, err), "Harbor")
	assert.Contains(t, service.Requests()[0].Header.Get("User-Agent"), "aicontent-gallery")
}

func TestUsageErrorsExitWith2(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("AICONTENT_API_KEY", "")
	exits := func(status int, args, want string) {
		t.Helper()
		var said strings.Builder
		assert.Equal(t, status, exitStatus(run(t.Context(), strings.Fields(args), &said, &said), &said), args)
		assert.Contains(t, said.String(), want)
	}
	exits(2, "extra", `gallery: unexpected argument "extra"`)
	exits(2, "-nothing", "gallery: flag provided but not defined: -nothing")
	exits(2, "-addr", "flag needs an argument: -addr")
	exits(2, "-addr 0.0.0.0:0", "put a proxy with a login in front")
	exits(2, "-addr :0", "put a proxy with a login in front")
	exits(2, "-addr nonsense", "-addr: listen tcp: address nonsense: missing port in address")
	exits(2, "-addr :99999999", "-addr: listen tcp: address 99999999: invalid port")
	exits(2, "-addr nowhere:port", "-addr: listen tcp")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	exits(1, "-addr "+taken.Addr().String(), "-addr: listen tcp "+taken.Addr().String())
	exits(0, "-h", "Usage: gallery [flags]")
	t.Setenv("AICONTENT_BASE_URL", "https://content.example.com")
	exits(2, "", "AICONTENT_API_KEY")
	// A form that cannot be remembered would be billed again.
	t.Setenv("AICONTENT_API_KEY", testKey)
	exits(2, "-addr 127.0.0.1:0 -ledger /dev/null/below", "gallery: -ledger ")
}
