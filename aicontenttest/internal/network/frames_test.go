package network

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFramesAreFollowedByteByByte(t *testing.T) {
	const (
		settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		data     = "\x00\x00\x03\x00\x00\x00\x00\x00\x05abc"
		reset    = "\x00\x00\x04\x03\x00\x00\x00\x00\x05\x00\x00\x00\x02"
		other    = "\x00\x00\x04\x03\x00\x00\x00\x00\x07\x00\x00\x00\x02"
		refused  = "\x00\x00\x04\x03\x00\x00\x00\x00\x05\x00\x00\x00\x07"
	)
	sent := settings + data + other + reset + other
	for size := range len(sent) {
		f := new(frames)
		f.refuse(5)
		var got []byte
		for p := []byte(sent); len(p) > 0; {
			n := min(size+1, len(p))
			got = append(got, f.rewrite(p[:n])...)
			p = p[n:]
		}
		assert.Equal(t, settings+data+other+refused+other, string(got))
	}
}
