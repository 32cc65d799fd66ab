package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lines that are missing from a log must not look like requests that were not made.
func TestLinesThatNobodyReadAreCounted(t *testing.T) {
	read, write := io.Pipe()
	l := newLog(write, "test-key")
	l.line("first")
	first := make([]byte, 1)
	_, err := read.Read(first) // the writer is now in the middle of its line
	require.NoError(t, err)
	for i := range logLimit + 7 {
		l.printf("%d test-key", i)
	}
	lines := bufio.NewReader(io.MultiReader(bytes.NewReader(first), read))
	line := func() string {
		text, err := lines.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSuffix(text, "\n")
	}
	assert.Equal(t, "first", line(), "the order is kept")
	for i := range logLimit {
		require.Equal(t, fmt.Sprint(i)+" ***", line())
	}
	l.line("next")
	assert.Equal(t, "7 lines are missing here: nobody read the log", line())
	assert.Equal(t, "next", line())
	l.line("last")
	assert.Equal(t, "last", line(), "and they are counted once")
}

// A log on a disk that is full, or in a pipe that was closed, ends nothing.
func TestALogThatCannotBeWrittenIsGivenUp(t *testing.T) {
	read, write := io.Pipe()
	require.NoError(t, read.Close())
	l := newLog(write, "test-key")
	l.line("first")
	<-l.written
	l.line("second")
	l.close()
}

func TestTheLastLinesAreWritten(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, "test-key")
	for range 1000 {
		l.line("line")
	}
	l.close()
	assert.Equal(t, 1000, strings.Count(out.String(), "line\n"))
}
