package aicontenttest

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// strike ends the call where its fault says that it ends at this place.
func (c *call) strike(at Place) {
	if c.fault.Place != at {
		return
	}
	c.count()
	switch c.fault.kind {
	case closing, refusing, declining:
		c.hangUp()
	case stalling:
		select {
		case <-c.r.Context().Done():
		case <-c.conn.gone():
		case <-c.server.closing:
		}
		c.hangUp()
	case seizing:
		c.handOver()
	}
}

// hangUp ends the connection, or over HTTP/2 the stream, and with it the call.
func (c *call) hangUp() {
	switch {
	case c.fault.Reset:
		c.conn.reset()
	case c.r.ProtoMajor == 1:
		c.conn.finish(!c.body.done)
	case c.fault.kind == declining:
		c.conn.frames.refuse(streamOf(c.w))
	}
	panic(http.ErrAbortHandler)
}

// handOver lets the test answer for the server.
func (c *call) handOver() {
	hijacker, ok := c.w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	c.fault.take(conn)
	panic(http.ErrAbortHandler)
}

// later acts after the delay, unless the server ends before.
func (s *Server) later(delay time.Duration, act func() *Answer) {
	if !s.work.enter() {
		return
	}
	go func() {
		defer s.work.leave()
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			act()
		case <-s.closing:
		}
	}()
}

// answer is the one that the fault itself gives.
func (f *Fault) answer() *Answer {
	a := &Answer{Status: f.Status, Header: f.Header.Clone(), Body: []byte(f.Body)}
	if a.Header == nil {
		a.Header = make(http.Header)
	}
	return a
}

// replace returns what is sent in place of the service's answer, which is nil when it did not act.
func (f *Fault) replace(a *Answer) *Answer {
	if a == nil {
		a = htmlAnswer(http.StatusServiceUnavailable, "The service did not act.")
	}
	switch f.kind {
	case answering, late:
		return f.answer()
	case truncating:
		a.Body = a.Body[:len(a.Body)/2]
	case garbling:
		garbled := bytes.Replace(a.Body, []byte(`":`), []byte(`" =>`), 1)
		if len(garbled) == len(a.Body) {
			garbled = append(garbled, `" =>`...)
		}
		a.Body = garbled
	}
	return a
}

// send sends the answer as the fault wants it sent.
func (c *call) send(a *Answer) {
	header := c.w.Header()
	for name, values := range a.Header {
		header[name] = values
	}
	bodiless := a.Status == http.StatusNoContent || a.Status == http.StatusNotModified
	if !bodiless {
		length := int64(len(a.Body))
		if c.fault.kind == swelling {
			before, after := padding(a.Body)
			length = int64(len(before)+len(after)) + c.fault.Bytes
		}
		header.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	c.count()
	c.server.book.write(func() { c.entry.Status = a.Status })
	c.answered(c.fault.Place != MidAnswer || bodiless && c.fault.kind == trickling)
	c.w.WriteHeader(a.Status)
	if err := c.sendBody(a, bodiless); err != nil {
		c.answered(false)
		panic(http.ErrAbortHandler)
	}
}

// answered is written down before the last byte is, so that it is true when the client looks.
func (c *call) answered(whole bool) {
	c.server.book.write(func() { c.entry.Answered = whole })
}

func (c *call) sendBody(a *Answer, bodiless bool) error {
	if c.fault.Place == MidAnswer && c.fault.kind != trickling {
		if !bodiless {
			_, _ = c.w.Write(a.Body[:len(a.Body)/2])
		}
		_ = http.NewResponseController(c.w).Flush()
		c.strike(MidAnswer)
	}
	if bodiless {
		return nil
	}
	switch c.fault.kind {
	case trickling:
		for i, b := range a.Body {
			c.pause(c.fault.Delay)
			c.answered(i == len(a.Body)-1)
			if _, err := c.w.Write([]byte{b}); err != nil {
				return err
			}
			if err := http.NewResponseController(c.w).Flush(); err != nil {
				return err
			}
		}
		return nil
	case swelling:
		return c.sendPadded(a)
	}
	_, err := c.w.Write(a.Body)
	return err
}

// padding returns what stands around the filler, so that the whole is still JSON: one more
// member of the object, or one more element of the array, in front.
func padding(body []byte) (before, after []byte) {
	if len(body) < 2 {
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

func (c *call) sendPadded(a *Answer) error {
	before, after := padding(a.Body)
	if _, err := c.w.Write(before); err != nil {
		return err
	}
	chunk := bytes.Repeat([]byte("x"), 32<<10)
	for left := c.fault.Bytes; left > 0; left -= int64(len(chunk)) {
		if _, err := c.w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			return err
		}
	}
	_, err := c.w.Write(after)
	return err
}
