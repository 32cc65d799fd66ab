package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program runs a command in a process of its own, which a wrong flag ends.
func program(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	cmd := newProcess(t, "fleet", args...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return cmd.ProcessState.ExitCode(), string(output)
}

func TestWrongArgumentsExitWith2(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no command":      {nil, "the first argument must be produce, work or results"},
		"unknown command": {[]string{"wrok"}, "the first argument must be produce, work or results"},
		"unknown flag":    {[]string{"results", "-x"}, "flag provided but not defined: -x"},
		"no files":        {[]string{"produce"}, "produce needs the names of files"},
		"no language": {[]string{"produce", "-language", "english", "x"},
			`-language must be a country code such as GB, not "english"`},
		"no replicas":      {[]string{"produce", "-replicas", "0", "x"}, "-replicas must be 1 to 5, not 0"},
		"surplus argument": {[]string{"work", "x"}, `work takes no arguments, but got "x"`},
		"idle worker":      {[]string{"work", "-concurrency", "0"}, "-concurrency must be at least 1"},
		"no rate":          {[]string{"work", "-rate", "NaN"}, "-rate 0.1 to 1000000"},
		"hasty worker":     {[]string{"work", "-settle", "1ms"}, "-settle at least 1s"},
		"no file wanted":   {[]string{"results", "x"}, `results takes no arguments, but got "x"`},
		"future":           {[]string{"results", "-since=-1h"}, "-since must be above 0, not -1h0m0s"},
		"no time":          {[]string{"results", "-since", "monday"}, `invalid value "monday" for flag -since`},
	}
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, out := program(t, test.args...)
			assert.Equal(t, exitUsage, status)
			assert.Contains(t, out, test.want)
		})
	}
}

func TestWrongEnvironmentExitsWith2(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	for _, test := range []struct{ url, command, want string }{
		{"", "work", "AICONTENT_BASE_URL"},
		{"", "results", "NATS_URL is not set, and no -context is given"},
		{"nats://user:a/b@127.0.0.1:1", "results", "write %2C for a comma, %2F for a slash"},
	} {
		t.Setenv("NATS_URL", test.url)
		status, _, errOut := command(t, test.command)
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, errOut, test.want)
	}
}

// An unescaped character makes Go see a part of a password as a host, a port or a path.
func TestNoPartOfAPasswordIsPrinted(t *testing.T) {
	for _, url := range []string{
		"nats://user:hu sh@127.0.0.1:1", "nats://user:hush/hush@127.0.0.1:1", "nats://user:hush",
		"nats://127.0.0.1:1,nats://user:%hush@127.0.0.1:2", "nats://u:hush\n@127.0.0.1:1",
		"nats://hush.invalid#x@127.0.0.1:1", "nats://hush.invalid?x@127.0.0.1:1", "nats://u:7,hush.invalid@127.0.0.1:1",
		"nats://127.0.0.1:99999999#hush@127.0.0.1:1", "nats://u:hush@127.0.0.1:1", "nats://hush@127.0.0.1:1",
		"nats://hush.invalid/sh@127.0.0.1:1", "nats://127.0.0.1:1,hush.invalid", "hush.invalid", "hush://u@127.0.0.1:1",
	} {
		t.Setenv("NATS_URL", url)
		status, out, errOut := command(t, "results")
		assert.NotZero(t, status)
		for _, part := range []string{"hush", "sh@", "99999999", "127.0.0.1"} {
			assert.NotContains(t, out+errOut, part, url)
		}
		assert.Contains(t, errOut, "fleet: ", url)
	}
}
