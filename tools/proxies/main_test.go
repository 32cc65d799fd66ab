package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
)

// programVariable turns the test binary into the program.
const programVariable = "PROXIES_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestWrongArgumentsExitWith2AndStartNothing(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an argument":          {[]string{"varnish"}, `proxies: unexpected argument "varnish"; see proxies -h`},
		"a negative time":      {[]string{"-store", "-5s"}, "proxies: -store must be more than 1s, "},
		"the time of a proxy":  {[]string{"-store", "1s"}, "proxies: -store must be more than 1s, "},
		"a time without units": {[]string{"-store", "5"}, `invalid value "5" for flag -store`},
		"an unknown flag":      {[]string{"-x"}, "flag provided but not defined: -x"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			cmd.Env = append(os.Environ(), programVariable+"=1")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			assert.Equal(t, 2, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), c.says)
			assert.Empty(t, stdout.String())
		})
	}
}
