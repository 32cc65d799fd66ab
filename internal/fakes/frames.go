package fakes

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// Error codes of RFC 9113.
const (
	CodeProtocolError = 1
	CodeInternalError = 2
	CodeRefusedStream = 7
)

// Frame types and flags of RFC 9113.
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0, 1, 3, 4, 7
	flagEndStream, flagAck, flagEndHeaders                          = 1, 1, 4
)

// Frames is the server's side of an HTTP/2 connection. It writes single frames, because no HTTP/2 library can refuse a
// stream on demand.
type Frames struct {
	nc      net.Conn
	out     chan []byte
	written sync.WaitGroup
	ending  sync.Once
}

// ServeFrames calls do for each complete request on a connection until the client closes it.
func ServeFrames(nc net.Conn, do func(c *Frames, stream uint32)) {
	// A net.Pipe has no buffer, and the client does not read while it writes.
	c := &Frames{nc: nc, out: make(chan []byte, 100)}
	c.written.Go(func() {
		for frame := range c.out {
			_, _ = nc.Write(frame)
		}
	})
	defer c.Close()
	r := bufio.NewReader(nc)
	if _, err := io.CopyN(io.Discard, r, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	c.send(frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return
		}
		kind, flags := head[3], head[4]
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			c.send(frameSettings, flagAck, 0, nil)
		case (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0:
			do(c, binary.BigEndian.Uint32(head[5:]))
		}
	}
}

// Close sends the queued frames and closes the connection.
func (c *Frames) Close() {
	c.ending.Do(func() { close(c.out) })
	c.written.Wait()
	c.nc.Close()
}

func (c *Frames) send(kind, flags byte, stream uint32, payload []byte) {
	length := len(payload)
	head := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, flags}
	c.out <- append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// Header sends the header of a response with status 200, the eighth entry of HPACK's static table.
func (c *Frames) Header(stream uint32) {
	c.send(frameHeaders, flagEndHeaders, stream, []byte{0x88})
}

// Respond sends 200 and a body.
func (c *Frames) Respond(stream uint32, body string) {
	c.Header(stream)
	c.send(frameData, flagEndStream, stream, []byte(body))
}

// Reset ends a stream with an error.
func (c *Frames) Reset(stream, code uint32) {
	c.send(frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

// GoAway tells the client that the server has ignored all streams above last.
func (c *Frames) GoAway(last uint32) {
	c.send(frameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), 0))
}
