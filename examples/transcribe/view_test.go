package main

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/stretchr/testify/assert"
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
