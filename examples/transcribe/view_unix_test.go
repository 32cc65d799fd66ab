//go:build unix

package main

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATerminalShowsABarWhileARecordingIsSentAndThenHowLongItWaits(t *testing.T) {
	_, flags := deployment(t, aicontenttest.LatencyOn(aicontenttest.TranscriptionsStore, 2*time.Second))
	file := recordingFile(t, filepath.Join(t.TempDir(), "talk.wav"), 1, 4<<20)
	cmd := program(t.Context(), append(flags, file)...)
	screen, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 120})
	require.NoError(t, err)
	shown, _ := io.ReadAll(screen) // Its error is that the program has ended.
	require.NoError(t, cmd.Wait(), "%s", shown)
	for _, want := range []string{"talk.wav", "[====", "waiting for its text for 1s", ": made, id 1", "No transcript", "Made: 1."} {
		assert.Contains(t, string(shown), want)
	}
}
