package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		assert.Less(t, time.Since(began), lastWords, "it had to be ended by force")
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
	page := (&fixture{t: t}).page(resp, err)
	says(t, page, "42 in total")
	assert.True(t, strings.Contains(page, "the service runs in memory"))
}

func TestItUsesTheDeploymentOfTheEnvironment(t *testing.T) {
	service := aicontenttest.NewServer(t, aicontenttest.BasePath("/tenant"), aicontenttest.APIKey(testKey))
	service.AddImage(aicontenttest.Image{Name: "Harbor", Description: "A harbor", Resolution: "256x256"})
	t.Setenv("AICONTENT_BASE_URL", service.URL)
	t.Setenv("AICONTENT_API_KEY", testKey)
	said, url := start(t)
	folder := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aicontent-gallery")
	assert.Equal(t, "What was created is remembered in "+folder, said[0])
	resp, err := http.Get(url + "/pictures")
	page := (&fixture{t: t}).page(resp, err)
	says(t, page, "Harbor")
	assert.False(t, strings.Contains(page, "in memory"))
	assert.Contains(t, service.Requests()[0].Header.Get("User-Agent"), "aicontent-gallery")
}

// An upload that goes on, or stands still, does not keep the program from ending in order: start checks how it ends.
func TestItEndsInTheMiddleOfAnUpload(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("AICONTENT_API_KEY", "")
	for name, sent := range map[string]int{"in the form": 3, "in the file": 1 << 20, "at the end": 4 << 20} {
		t.Run(name, func(t *testing.T) {
			_, url := start(t)
			body, contentType := operaBody(t, 4<<20)
			f := &fixture{t: t, url: url}
			f.beginUpload(contentType, len(body), body[:sent])
			// The gallery has accepted the connection before this one.
			f.get("/pictures")
		})
	}
}

func TestWrongArguments(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("AICONTENT_API_KEY", "")
	for args, want := range map[string]string{
		"extra":                      `unexpected argument "extra"`,
		"-max-upload 0":              "-max-upload must be from 1 to 1048576, not 0",
		"-max-upload 17592186044416": "-max-upload must be from 1 to 1048576, not 17592186044416",
		"-private-pictures 10.0.0.1": `invalid value "10.0.0.1" for flag -private-pictures`,
		"-addr":                      "flag needs an argument: -addr",
		"-addr nowhere:port":         "-addr: listen tcp",
		"-addr 0.0.0.0:0":            "put a proxy with a login in front",
		"-addr :0":                   "put a proxy with a login in front",
	} {
		assert.ErrorContains(t, run(t.Context(), strings.Fields(args), io.Discard, io.Discard), want)
	}
	t.Setenv("AICONTENT_BASE_URL", "https://content.example.com")
	assert.ErrorContains(t, run(t.Context(), nil, io.Discard, io.Discard), "AICONTENT_API_KEY")
	t.Setenv("AICONTENT_API_KEY", testKey)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, run(t.Context(), []string{"-ledger", file}, io.Discard, io.Discard), "-ledger: ")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	assert.ErrorContains(t, run(t.Context(), nil, io.Discard, io.Discard), "use -ledger")
}
