//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATerminalShowsABarWhileARecordingIsSentAndThenHowLongItWaits(t *testing.T) {
	_, flags := deployment(t, aicontenttest.LatencyOn(storeOp, 2*time.Second))
	talk := file(t, wav(1)+strings.Repeat("\x00", 4<<20), t.TempDir(), "talk.wav")
	cmd := program(t.Context(), append(flags, talk)...)
	screen, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 120})
	require.NoError(t, err)
	shown, _ := io.ReadAll(screen) // Its error is that the program has ended.
	require.NoError(t, cmd.Wait(), "%s", shown)
	for _, want := range []string{
		"talk.wav", "[====", "waiting for its text for 1s", ": made, id 1", "No transcript", "Made: 1.",
	} {
		assert.Contains(t, string(shown), want)
	}
}

// Containers have terminals without a size, at least for a moment.
func TestATerminalWithoutASizeShowsLinesInsteadOfBars(t *testing.T) {
	for name, size := range map[string]pty.Winsize{"none": {}, "no columns": {Rows: 24}, "no rows": {Cols: 120}} {
		t.Run(name, func(t *testing.T) {
			screen, terminal, err := pty.Open()
			require.NoError(t, err)
			defer screen.Close()
			require.NoError(t, pty.Setsize(terminal, &size))
			synctest.Test(t, func(t *testing.T) {
				v := newView(terminal, terminal)
				f := v.begin(&recording{path: "a.wav"})
				time.Sleep(10500 * time.Millisecond)
				require.NoError(t, pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 120}))
				f.progress(aicontent.Progress{Sent: 1 << 10, Total: 2 << 10})
				time.Sleep(10 * time.Second)
				f.bar.Abort(true)
				time.Sleep(time.Minute)
				v.bars.Wait()
				v.texts.Print("its text")
			})
			require.NoError(t, terminal.Close())
			shown, _ := io.ReadAll(screen) // Its error is that nobody has the terminal open.
			assert.Equal(t, "a.wav: looking for its text for 10s\r\na.wav: sending, 1 of 2 KiB in 10s\r\nits text\r\n",
				string(shown))
		})
	}
}

func TestAnInterruptEndsTheReadingOfAHugeRecording(t *testing.T) {
	_, flags := deployment(t)
	dir := folder(t, 2)
	require.NoError(t, os.Truncate(filepath.Join(dir, "1.wav"), 1<<40))
	ctx, interrupt := context.WithCancel(t.Context())
	messages := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "0.wav: made") {
			interrupt()
		}
		return len(p), nil
	})
	assert.Equal(t, exitInterrupted, run(ctx, append(flags, dir), io.Discard, messages))
}

func TestWhatIsSkippedIsListedAsFailed(t *testing.T) {
	srv, flags := deployment(t)
	dir, elsewhere, empty := t.TempDir(), folder(t, 1), t.TempDir()
	pipe, link, round := filepath.Join(dir, "pipe.wav"), filepath.Join(dir, "archive"), filepath.Join(dir, "round.mp3")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(elsewhere, link))
	require.NoError(t, os.Symlink(dir, round))
	require.NoError(t, os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, "broken")))
	file(t, wav(1), empty, ".hidden", "a.wav")
	_, stderr := transcribe(t, exitSomeFailed, append(flags, dir, empty)...)
	const linked = ": skipped: a link to a folder, which is searched only if it is named itself\n"
	for _, skipped := range []string{
		pipe + ": skipped: neither a file nor a folder\n", link + linked, round + linked,
		empty + ": skipped: no audio file in it (.aac ",
	} {
		assert.Contains(t, stderr, "\n  "+skipped)
	}
	assert.Contains(t, stderr, "Files: 4. Made: 0. Found: 0. Failed: 4.\n")
	assert.NotContains(t, stderr, "Run it again")
	assert.Empty(t, srv.Requests())

	out := t.TempDir()
	transcribe(t, exitDone, append(flags, "-o", out, link)...)
	assert.FileExists(t, filepath.Join(out, "archive", "0.wav.txt"))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "0.wav"), filepath.Join(empty, "b.wav")))
	_, stderr = transcribe(t, exitDone, append(flags, empty)...)
	assert.Contains(t, stderr, "Found: 1.", "a link to a file")
}

func TestControlCharactersInAFileNameAreQuotedAndNotSent(t *testing.T) {
	srv, flags := deployment(t)
	dir, out := folder(t, 1), t.TempDir()
	evil, missing := file(t, wav(1), dir, "a\x1b[31m\n# forged\xff.wav"), filepath.Join(dir, "missing\x1b[2K.wav")
	stdout, stderr := transcribe(t, exitSomeFailed, append(flags, dir, missing)...)
	assert.Contains(t, stdout, "# "+strconv.Quote(evil)+"\nNo transcript")
	assert.Contains(t, stderr, strconv.Quote(evil)+": made, id ")
	assert.Contains(t, stderr, "  "+strconv.Quote(missing)+": \"open ")
	assert.NotContains(t, stdout+stderr, "\x1b")
	assert.NotContains(t, stdout, "\n# forged")
	for _, record := range srv.Created() {
		assert.Equal(t, record.Name+".wav", record.File.Name)
	}
	transcribe(t, exitDone, append(flags, "-o", out, dir)...)
	assert.FileExists(t, filepath.Join(out, filepath.Base(dir), filepath.Base(evil)+".txt"))
}
