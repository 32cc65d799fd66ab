package network

import (
	"errors"
	"io"
	"time"
)

// pausesPerSecond is how often a slow reading pauses.
const pausesPerSecond = 20

// errInterrupted ends the reading of a body where a fault strikes.
var errInterrupted = errors.New("interrupted by a fault")

// body counts the bytes of a request body and ends where a fault interrupts it.
type body struct {
	from     io.Reader
	rate     int64                     // bytes a second; 0 is no limit
	pause    func(time.Duration) error // for the rate
	count    int64
	limit    int64 // -1 for none
	complete bool  // the end was seen
	broken   error // how the connection ended before the body
}

func (b *body) Read(p []byte) (int, error) {
	if b.broken != nil {
		return 0, b.broken
	}
	if b.limit >= 0 {
		if b.count >= b.limit || b.complete {
			return 0, errInterrupted
		}
		p = p[:min(int64(len(p)), b.limit-b.count)]
	}
	if b.rate > 0 {
		p = p[:min(int64(len(p)), max(1, b.rate/pausesPerSecond))]
	}
	n, err := b.from.Read(p)
	b.count += int64(n)
	if b.rate > 0 {
		if ended := b.pause(time.Duration(n) * time.Second / time.Duration(b.rate)); ended != nil {
			err = ended
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		b.complete = true
		if b.limit >= 0 {
			err = errInterrupted
		}
	case err != nil:
		b.broken = err
	}
	return n, err
}
