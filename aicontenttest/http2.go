package aicontenttest

import (
	"encoding/binary"
	"net/http"
	"reflect"
	"sync"
)

const (
	frameHeader   = 9
	frameReset    = 3
	refusedStream = 7
)

// frames follows what a server of HTTP/2 writes, to turn the resets of refused streams into
// what net/http has no way to say: that the request was not looked at.
type frames struct {
	mu      sync.Mutex
	refused map[uint32]bool // by stream
	header  [frameHeader]byte
	have    int // bytes of the header
	left    int // bytes of the payload
}

func (f *frames) refuse(stream uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = make(map[uint32]bool)
	}
	f.refused[stream] = true
}

// pass returns what is written in place of p, which may begin and end within a frame.
func (f *frames) pass(p []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.refused) > 0 {
		p = append([]byte(nil), p...)
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

// streamOf is the number of the stream that w answers on; 0 over HTTP/1.1. The number stands
// nowhere but in fields of net/http's own.
func streamOf(w http.ResponseWriter) uint32 {
	v := reflect.ValueOf(w)
	for _, name := range []string{"rws", "stream", "id"} {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return 0
		}
		v = v.FieldByName(name)
	}
	if v.Kind() != reflect.Uint32 {
		return 0
	}
	return uint32(v.Uint())
}
