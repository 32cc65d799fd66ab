package network

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// ErrEnded says that an exchange has ended: its handler must abort.
var ErrEnded = errors.New("the exchange has ended")

// An Exchange is one request and its response. It belongs to the request's goroutine.
type Exchange struct {
	network *Network
	w       http.ResponseWriter
	r       *http.Request
	conn    *Conn
	fault   Fault
	body    body
}

// Exchange returns the exchange of a request.
func (n *Network) Exchange(w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{network: n, w: w, r: r, conn: connOf(r)}
	x.body = body{from: r.Body, limit: -1, rate: n.config.UploadRate, pause: x.pauseReading}
	x.body.complete = r.ContentLength == 0
	return x
}

// Meet sets the fault of the exchange. It comes before anything is read or sent.
func (x *Exchange) Meet(f Fault) {
	x.fault = f
	if f.interruptsBody() {
		x.body.limit = f.Bytes
	}
}

// Body is the request body. Where the fault interrupts it, it ends with an error.
func (x *Exchange) Body() io.Reader { return &x.body }

// Received is the number of bytes read from the body.
func (x *Exchange) Received() int64 { return x.body.count }

// Broken reports whether the client has ended the connection before the end of the body.
func (x *Exchange) Broken() bool { return x.body.broken != nil }

// Strike ends the exchange if its fault does so at this place.
func (x *Exchange) Strike(at Place) error {
	if x.fault.Place != at {
		return nil
	}
	switch x.fault.Kind {
	case Stalls:
		select {
		case <-x.r.Context().Done():
		case <-x.conn.gone():
		case <-x.network.closing:
		}
	case TakesOver:
		x.handOver()
		return ErrEnded
	case Closes, Refuses:
	default:
		return nil
	}
	if x.r.ProtoMajor == 1 {
		x.fill()
	}
	switch {
	case x.fault.Reset:
		x.conn.reset()
	case x.r.ProtoMajor == 1:
		x.finish()
	}
	return ErrEnded
}

// linger is how long a fault in memory waits for a client that neither sends nor closes.
const linger = 100 * time.Millisecond

// fill has the client send, in memory, as much of the body as the connection holds, before a fault ends it. Otherwise
// it would be up to the scheduler whether a small body is sent whole.
func (x *Exchange) fill() {
	p, inMemory := x.conn.raw.(*pipeConn)
	waits := x.body.count == 0 && x.r.Header.Get("Expect") != "" // for the server to ask for the body
	if !inMemory || x.body.complete || waits {
		return
	}
	p.in.seal()
	_ = p.SetReadDeadline(time.Now().Add(linger))
	_, err := io.Copy(io.Discard, x.r.Body)
	x.body.complete = err == nil
}

// finish closes the connection so that the client sees the end of the stream. While something is unread, TCP would
// reset it: over loopback that is read first. In memory it stays unread.
func (x *Exchange) finish() {
	_ = x.conn.CloseWrite()
	if p, inMemory := x.conn.raw.(*pipeConn); inMemory && !x.body.complete {
		select {
		case <-p.in.ended:
		case <-time.After(linger):
		case <-x.network.closing:
		}
	} else if !x.body.complete {
		_, _ = io.Copy(io.Discard, x.conn.raw)
	}
	_ = x.conn.Close()
}

// handOver passes the connection to the test.
func (x *Exchange) handOver() {
	hijacker, ok := x.w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	x.fault.Take(conn)
}

// Work waits while the service works. A client that leaves does not stop it, and when the network closes, the work is
// done at once. Where abandoned requests are dropped, Work returns ErrEnded instead.
func (x *Exchange) Work(d time.Duration) error {
	if x.network.config.DropAbandoned {
		return x.pause(d)
	}
	x.network.wait(d)
	return nil
}

// pauseReading waits before more of the body is read. If the client leaves meanwhile, everything it has sent is read at
// once, perhaps to the end of the body.
func (x *Exchange) pauseReading(d time.Duration) error {
	err := x.pause(d)
	if err == nil || x.network.config.DropAbandoned || x.network.isClosing() {
		return err
	}
	x.body.rate = 0
	return nil
}

// pause waits. It returns ErrEnded if the client leaves or the network closes meanwhile.
func (x *Exchange) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-x.r.Context().Done():
	case <-x.conn.gone():
	case <-x.network.closing:
	}
	return ErrEnded
}

// Send sends the response.
func (x *Exchange) Send(status int, header http.Header, body []byte) error {
	maps.Copy(x.w.Header(), header)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		body = nil
	} else {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.w.WriteHeader(status)
	if x.fault.Place == MidResponse {
		half := len(body) / 2
		_, _ = x.w.Write(body[:half])
		body = body[half:]
		_ = http.NewResponseController(x.w).Flush()
		if err := x.Strike(MidResponse); err != nil {
			return err
		}
	}
	if len(body) == 0 {
		return nil
	}
	if _, err := x.w.Write(body); err != nil {
		return ErrEnded
	}
	return nil
}
