package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// programVariable turns the test binary into the program.
const programVariable = "LEDGER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestCommandNeedsOneFolder(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		args   []string
		status int
	}{
		"none":              {nil, 2},
		"an empty one":      {[]string{""}, 2},
		"two":               {[]string{folder, folder}, 2},
		"a flag at the end": {[]string{folder, "-all"}, 2},
		"an unknown flag":   {[]string{"-x", folder}, 2},
		"help":              {[]string{"-h"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			cmd.Env = append(os.Environ(), programVariable+"=1")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), "Usage: ledger [-all] FOLDER\n")
			assert.Contains(t, stderr.String(), "an absolute path if you run ledger with go -C")
			assert.Empty(t, stdout.String())
		})
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-all", folder)
	cmd.Env = append(os.Environ(), programVariable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	assert.Regexp(t, `^OPEN UNTIL .*NAME\n$`, string(out))
}

func TestCommandListsOpenNamesApartFromOthers(t *testing.T) {
	folder := t.TempDir()
	srv := aicontenttest.NewServer(t)
	names, err := once.New(srv.Client(), once.Dir(folder), once.WithMaxWait(0))
	require.NoError(t, err)
	store := func(name string) (aicontent.ID, error) {
		image, _, err := names.Images.Store(t.Context(), aicontent.ImageStoreParams{
			Name: name, Description: "d", Resolution: aicontent.Resolution256x256,
		})
		if err != nil {
			return "", err
		}
		return image.ID, nil
	}
	srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.HTMLPage(504))
	_, err = store("open\x1b[2J")
	require.Error(t, err)
	id, err := store("made")
	require.NoError(t, err)

	const time = `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`
	var open, other bytes.Buffer
	ledger := once.Dir(folder).(once.Lister)
	require.NoError(t, list(t.Context(), &open, ledger, true))
	assert.Regexp(t, `^`+time+` - {20}- {10}images "open\\x1b\[2J"\n$`, open.String())
	require.NoError(t, list(t.Context(), &other, ledger, false))
	assert.Regexp(t, `^- {20}`+time+` `+regexp.QuoteMeta(string(id))+` +images "made"\n$`, other.String())

	damaged := filepath.Join(folder, strings.Repeat("0", 64))
	require.NoError(t, os.WriteFile(damaged, []byte("zap\n"), 0o600))
	open.Reset()
	err = list(t.Context(), &open, ledger, true)
	require.ErrorContains(t, err, damaged+" is damaged")
	assert.Contains(t, open.String(), "open", "the other names are listed")
}
