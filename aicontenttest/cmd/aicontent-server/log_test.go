package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lines that are missing from a log must not look like requests that were not made.
func TestLinesThatNobodyReadAreCounted(t *testing.T) {
	read, write := io.Pipe()
	l := newLog(write, "KEY")
	l.line("first")
	first := make([]byte, 1)
	_, err := read.Read(first) // the writer is now in the middle of its line
	require.NoError(t, err)
	long := strings.Repeat("x", logLimit/4)
	for range 10 {
		l.printf("%s KEY", long)
	}
	rest := make(chan string)
	go func() {
		text, _ := io.ReadAll(read)
		rest <- string(text)
	}()
	l.close()
	require.NoError(t, write.Close())
	text := string(first) + <-rest
	assert.True(t, strings.HasPrefix(text, "first\n"), "the order is kept")
	assert.Equal(t, 3, strings.Count(text, long+" ***\n"))
	assert.True(t, strings.HasSuffix(text, "\n7 lines are missing here: nobody read the log\n"))
}

// A log on a disk that is full, or in a pipe that was closed, ends nothing.
func TestALogThatCannotBeWrittenIsGivenUp(t *testing.T) {
	read, write := io.Pipe()
	require.NoError(t, read.Close())
	l := newLog(write, "KEY")
	l.line("first")
	<-l.written
	l.line("second")
	l.close()
}

func TestTheLastLinesAreWritten(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, "KEY")
	for range 1000 {
		l.line("line")
	}
	l.close()
	assert.Equal(t, 1000, strings.Count(out.String(), "line\n"))
}
