package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/stretchr/testify/assert"
)

// A log of a long upload has a line every ten seconds, not one for every report.
func TestALongUploadHasALineEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		v := &view{w: &out}
		report := v.progress(&recording{input: input{path: "a.wav"}})
		for sent := range int64(25) {
			report(aicontent.Progress{Sent: sent, Total: 25, Attempt: 2})
			time.Sleep(time.Second)
		}
		assert.Equal(t, "a.wav: attempt 2 has sent 10 of 25 bytes\na.wav: attempt 2 has sent 20 of 25 bytes\n", out.String())
	})
}
