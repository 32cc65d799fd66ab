package network

import (
	"bytes"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
)

// net/http has no way to refuse a stream, nor does it tell a handler the stream of its request. So frames
// works on the frames below it: it adds a header with the number of the stream to each request, and
// changes the error code of the RST_STREAM with which net/http aborts a refused one.

const (
	clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeader   = 9

	frameHeaders      = 1
	frameReset        = 3
	frameContinuation = 9

	flagEndHeaders = 4
	flagPadded     = 8

	refusedStream = 7

	// streamHeader is the header that carries the number of the stream.
	streamHeader = "aicontenttest-stream"
)

// frames follows the frames of one connection. Where the client speaks HTTP/1.1, it changes nothing.
type frames struct {
	in inbound

	mu      sync.Mutex
	refused map[uint32]bool // by stream
	header  [frameHeader]byte
	have    int // bytes of the header
	left    int // bytes of the payload
}

func newFrames(conn net.Conn) *frames { return &frames{in: inbound{conn: conn}} }

// refuse makes REFUSED_STREAM of the error code with which the stream is reset.
func (f *frames) refuse(stream uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = make(map[uint32]bool)
	}
	f.refused[stream] = true
}

// rewrite returns what is written instead of p, which may begin and end within a frame.
func (f *frames) rewrite(p []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.refused) > 0 {
		p = bytes.Clone(p)
	}
	for rest := p; len(rest) > 0; {
		if f.have < frameHeader {
			n := copy(f.header[f.have:], rest)
			f.have, rest = f.have+n, rest[n:]
			f.left = int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
		} else {
			n := min(f.left, len(rest))
			stream := binary.BigEndian.Uint32(f.header[5:])
			if f.header[3] == frameReset && f.refused[stream] {
				code := [4]byte{3: refusedStream}
				copy(rest[:n], code[len(code)-f.left:])
			}
			f.left, rest = f.left-n, rest[n:]
		}
		if f.have == frameHeader && f.left == 0 {
			f.have = 0
		}
	}
	return p
}

func (f *frames) read(p []byte) (int, error) { return f.in.read(p) }

// inbound adds streamHeader to the requests that a client sends.
type inbound struct {
	conn    net.Conn
	buf     []byte // for reading
	started bool   // the preface was seen
	plain   bool   // there is none: HTTP/1.1
	raw     []byte // read and not looked at
	ready   []byte // to be handed out
	left    int    // bytes of the frame that are handed out as they are
	last    uint32 // the highest stream so far
	opening uint32 // the stream whose header block goes on in CONTINUATION frames
	err     error
}

func (i *inbound) read(p []byte) (int, error) {
	for len(i.ready) == 0 {
		if err := i.err; err != nil {
			i.err = nil // a deadline may be moved
			return 0, err
		}
		if i.plain {
			return i.conn.Read(p)
		}
		if i.buf == nil {
			i.buf = make([]byte, 16<<10)
		}
		n, err := i.conn.Read(i.buf)
		i.raw, i.err = append(i.raw, i.buf[:n]...), err
		i.parse()
		if err != nil {
			i.ready, i.raw = append(i.ready, i.raw...), nil
		}
	}
	n := copy(p, i.ready)
	i.ready = i.ready[n:]
	return n, nil
}

// parse moves what is complete from raw to ready.
func (i *inbound) parse() {
	if !i.started {
		n := min(len(i.raw), len(clientPreface))
		switch {
		case string(i.raw[:n]) != clientPreface[:n]:
			i.plain = true
			i.move(len(i.raw))
			return
		case n < len(clientPreface):
			return
		}
		i.started = true
		i.move(n)
	}
	for {
		n := min(i.left, len(i.raw))
		i.move(n)
		if i.left -= n; len(i.raw) < frameHeader {
			return
		}
		length := int(i.raw[0])<<16 | int(i.raw[1])<<8 | int(i.raw[2])
		if kind := i.raw[3]; kind != frameHeaders && kind != frameContinuation {
			i.left = frameHeader + length
			continue
		}
		if len(i.raw) < frameHeader+length {
			return
		}
		i.addStream(i.raw[:frameHeader+length])
		i.raw = i.raw[frameHeader+length:]
	}
}

func (i *inbound) move(n int) {
	i.ready = append(i.ready, i.raw[:n]...)
	i.raw = i.raw[n:]
}

// addStream hands out a frame of a header block, with streamHeader at the end of a request's.
func (i *inbound) addStream(frame []byte) {
	stream := binary.BigEndian.Uint32(frame[5:]) &^ (1 << 31)
	end := len(frame)
	if frame[3] == frameHeaders {
		i.opening = 0
		if stream > i.last { // else trailers
			i.last, i.opening = stream, stream
		}
		if frame[4]&flagPadded != 0 && end > frameHeader {
			end = max(frameHeader, end-int(frame[frameHeader]))
		}
	}
	if frame[4]&flagEndHeaders == 0 || i.opening == 0 {
		i.ready = append(i.ready, frame...)
		return
	}
	i.opening = 0
	number := strconv.FormatUint(uint64(stream), 10)
	// A literal that enters no table of HPACK: each length fits into one byte.
	field := append([]byte{0, byte(len(streamHeader))}, streamHeader...)
	field = append(append(field, byte(len(number))), number...)
	length := len(frame) - frameHeader + len(field)
	i.ready = append(i.ready, byte(length>>16), byte(length>>8), byte(length))
	i.ready = append(i.ready, frame[3:end]...)
	i.ready = append(i.ready, field...)
	i.ready = append(i.ready, frame[end:]...)
}
