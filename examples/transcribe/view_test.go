package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vbauerster/mpb/v8"
)

// story shows two recordings from start to end.
func story(v *view) {
	r := &recording{input: input{path: "talks/a recording with a very long name.wav"}, size: 4 << 20}
	l := v.begin(r)
	l.progress(aicontent.Progress{Sent: 1 << 20, Total: 4 << 20, Attempt: 1})
	l.last = l.last.Add(-11 * time.Second)
	l.progress(aicontent.Progress{Sent: 2 << 20, Total: 4 << 20, Attempt: 2})
	l.progress(aicontent.Progress{Sent: 4 << 20, Total: 4 << 20, Attempt: 2})
	_ = v.print(r, "Hello.\n")
	l.end(result{recording: r, status: made, id: "7", text: "Hello."})
	other := &recording{input: input{path: "b.wav"}, size: 1}
	l = v.begin(other)
	log := slog.New(waits{})
	ctx := context.WithValue(context.Background(), lineKey{}, l)
	log.InfoContext(ctx, "waits", "until", time.Now().Add(time.Hour), "holder", "another")
	log.InfoContext(ctx, "looks for it", "until", time.Now().Add(time.Hour))
	log.WarnContext(ctx, "not written", "error", errors.New("disk full"))
	log.InfoContext(context.Background(), "of another call")
	l.end(result{recording: other, status: failed, err: errors.New("no")})
	v.close()
}

// A log of a long upload has a line every ten seconds, not one for every report.
func TestPlainLines(t *testing.T) {
	var out bytes.Buffer
	story(newView(&out, io.Discard))
	assert.Regexp(t, `^talks/a recording with a very long name.wav: 2097152 of 4194304 bytes, sending, attempt 2
talks/a recording with a very long name.wav: made, id 7
b.wav: another run is at it, or was killed at it; waiting until \d\d:\d\d:\d\d, or for as long as it runs
b.wav: may have been sent before; looking for its text until \d\d:\d\d:\d\d
b.wav: the journal could not be written: disk full
b.wav: failed: no
$`, out.String())
}

func TestBarsLeaveTheSameLinesBehind(t *testing.T) {
	var out bytes.Buffer
	bars := mpb.New(mpb.WithOutput(&out), mpb.WithAutoRefresh())
	story(&view{w: bars, bars: bars, texts: bars})
	assert.Contains(t, out.String(), "Hello.\n")
	assert.Contains(t, out.String(), "talks/a recording with a very long name.wav: made, id 7\n")
	assert.Contains(t, out.String(), "b.wav: failed: no\n")
}

// What reads the pipe may write to the terminal, and bars would be drawn over it.
func TestAPipeIsKnown(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	assert.True(t, isPipe(w))
	file, err := os.Create(filepath.Join(t.TempDir(), "texts"))
	require.NoError(t, err)
	defer file.Close()
	assert.False(t, isPipe(file))
	assert.False(t, isPipe(io.Discard))
}
