package network

import (
	"bytes"
	"net"
	"time"
)

// Place is the moment at which a fault strikes.
type Place int

// The places, in the order in which a request passes them.
const (
	BeforeRead Place = iota
	MidUpload
	BeforeResponse
	MidResponse
)

// Kind is what goes wrong.
type Kind int

// The kinds of faults.
const (
	None      Kind = iota
	Responds       // another response is sent than the service's
	Closes         // the connection ends
	Stalls         // nothing more is read or sent
	Trickles       // the response is sent byte by byte
	Truncates      // the JSON is cut, the response is complete
	Halves         // the same, and the response says so
	Garbles        // the response is no JSON
	Swells         // the response is much longer
	ActsLate       // the service acts after the response
	Refuses        // the connection is refused
	TakesOver      // the test has the connection
)

// A Fault is one thing that goes wrong with an exchange.
type Fault struct {
	Kind  Kind
	Place Place
	Reset bool          // RST instead of FIN
	Bytes int64         // of the body until MidUpload; added by Swells
	Delay time.Duration // between two bytes of Trickles
	Take  func(net.Conn)
}

// interruptsBody reports whether the body must not be read beyond Bytes.
func (f Fault) interruptsBody() bool {
	if f.Place != MidUpload {
		return false
	}
	switch f.Kind {
	case Responds, Closes, Stalls, Refuses, TakesOver:
		return true
	}
	return false
}

// Corrupt returns the body of a response as the fault sends it.
func (x *Exchange) Corrupt(body []byte) []byte {
	switch x.fault.Kind {
	case Truncates, Halves:
		return body[:len(body)/2]
	case Garbles:
		garbled := bytes.Replace(body, []byte(`":`), []byte(`" =>`), 1)
		if len(garbled) == len(body) {
			garbled = append(garbled, `" =>`...)
		}
		return garbled
	}
	return body
}

// padding returns what surrounds the filler, so that the whole is still JSON: a first member of the
// object, or a first element of the array. To anything else, such as a picture, the filler is appended.
func padding(body []byte) (before, after []byte) {
	if len(body) < 2 || body[0] != '{' && body[0] != '[' {
		return body, nil
	}
	before, after = []byte(`{"padding":"`), append([]byte(`",`), body[1:]...)
	if body[0] == '[' {
		before = []byte(`["`)
	}
	if body[1] == '}' || body[1] == ']' {
		after = []byte{'"', body[1]}
	}
	return before, after
}
