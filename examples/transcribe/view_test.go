package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/stretchr/testify/assert"
)

func TestARecordingInFlightHasALineEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		v := newView(io.Discard, &out)
		f := v.begin(&recording{path: "a.wav"})
		time.Sleep(10500 * time.Millisecond)
		for sent := range int64(15) {
			time.Sleep(time.Second)
			f.progress(aicontent.Progress{Sent: (sent + 1) << 10, Total: 15 << 10})
		}
		time.Sleep(10 * time.Second)
		f.bar.Abort(true)
		time.Sleep(time.Minute)
		v.bars.Wait()
		synctest.Wait()
		const story = "a.wav: looking for its text for 10s\na.wav: sending, 9 of 15 KiB in 9s\n" +
			"a.wav: waiting for its text for 5s\n"
		assert.Equal(t, story, out.String())
	})
}
