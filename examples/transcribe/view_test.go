package main

import (
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buffer is a strings.Builder for several goroutines.
type buffer struct {
	mu sync.Mutex
	strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func TestARecordingInFlightHasALineEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out buffer
		f := newView(io.Discard, &out, false).begin(&recording{inputs: []input{{path: "a.wav"}}})
		time.Sleep(500 * time.Millisecond)
		for sent := range int64(25) {
			time.Sleep(time.Second)
			f.progress(aicontent.Progress{Sent: (sent + 1) << 10, Total: 25 << 10})
		}
		time.Sleep(10 * time.Second)
		f.end()
		time.Sleep(time.Minute)
		const story = "a.wav: sending, 9 of 25 KiB in 9s\na.wav: sending, 19 of 25 KiB in 19s\n" +
			"a.wav: waiting for its text for 5s\n"
		assert.Equal(t, story, out.String())
	})
}

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
