package network

import (
	"bytes"
	"net"
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

// Kind is the kind of a fault.
type Kind int

// The kinds of faults.
const (
	None      Kind = iota
	Responds       // another response is sent than the service's
	Closes         // the connection ends
	Stalls         // nothing more is read or sent
	Truncates      // the JSON is cut, the response is complete
	Garbles        // the response is no JSON
	ActsLate       // the service acts after the response
	Refuses        // the connection is refused
	TakesOver      // the test has the connection
)

// A Fault is one thing that goes wrong with an exchange.
type Fault struct {
	Kind  Kind
	Place Place
	Reset bool  // RST instead of FIN
	Bytes int64 // of the body until MidUpload
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
	case Truncates:
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
