package aicontenttest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// A call handles one request of the API or of a picture: it records, reads, executes and answers the request, with its
// fault.
type call struct {
	server   *Server
	request  service.Request
	exchange *network.Exchange
	fault    Fault
	entry    *Request // in the book; guarded by its lock
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, inside := strings.CutPrefix(r.URL.EscapedPath(), s.config.basePath)
	if inside && s.serveInspection(w, r, path) {
		return
	}
	c := &call{server: s, exchange: s.network.Exchange(w, r)}
	c.request = service.Request{Request: r, Body: c.exchange.Body(), Query: r.URL.Query(), Keys: s.config.keys}
	if inside {
		c.request.Route = s.service.Route(path)
	}
	c.open()
	defer c.end()
	if c.run() != nil {
		panic(http.ErrAbortHandler)
	}
}

// open records the request and draws its fault.
func (c *call) open() {
	r := c.request
	header := r.Header.Clone()
	if header.Get("Authorization") != "" {
		header.Set("Authorization", "Bearer ***")
	}
	c.entry = &Request{
		Operation: aicontent.Operation(r.Route.Operation(r.Method)), Method: r.Method, Path: r.URL.EscapedPath(),
		Query: r.Query, Header: header,
	}
	c.server.book.open(c.entry)
	c.fault = c.server.faults.draw(c.entry.clone())
	c.write(func() { c.entry.Fault = c.fault.Name })
	c.exchange.Meet(network.Fault{
		Kind: c.fault.kind, Place: network.Place(c.fault.Place), Reset: c.fault.reset,
		Bytes: c.fault.Bytes, Take: c.fault.take,
	})
}

// end passes the request to OnRequest. It reports a panic of a hook to the test.
func (c *call) end() {
	failure := recover()
	c.count()
	if f := c.server.config.onRequest; f != nil {
		f(c.snapshot())
	}
	if failure == nil {
		return
	}
	if failure != http.ErrAbortHandler && c.server.t != nil {
		c.server.t.Errorf("aicontenttest: %s %s: panic: %v", c.request.Method, c.request.URL.Path, failure)
	}
	panic(failure)
}

// write changes the entry, or another part of the book, under its lock.
func (c *call) write(change func()) {
	c.server.book.mu.Lock()
	defer c.server.book.mu.Unlock()
	change()
}

// count records the number of bytes read from the body. Callers count before they show the client the end of reading.
func (c *call) count() {
	c.write(func() { c.entry.Received = c.exchange.Received() })
}

func (c *call) snapshot() (r Request) {
	c.write(func() { r = c.entry.clone() })
	return r
}

func (c *call) strike(at Place) error {
	c.count()
	return c.exchange.Strike(network.Place(at))
}

// run handles the request. If it returns an error, the connection or stream must be aborted.
func (c *call) run() error {
	if err := c.strike(BeforeRead); err != nil {
		return err
	}
	responds := c.fault.kind == network.Responds
	if responds && c.fault.Place == BeforeRead {
		return c.send(c.fault.response())
	}
	reading := c.server.service.Read(c.request)
	c.write(func() { c.entry.Form, c.entry.File = reading.Form, (*Upload)(reading.Upload) })
	c.report(reading.Violations)
	if c.exchange.Broken() {
		return network.ErrEnded
	}
	if err := c.strike(MidUpload); err != nil {
		return err
	}
	if responds && c.fault.Place == MidUpload {
		return c.send(c.fault.response())
	}
	if err := c.exchange.Work(c.latency()); err != nil {
		return err
	}
	r := c.act(reading)
	if err := c.strike(BeforeResponse); err != nil {
		return err
	}
	for _, hook := range c.server.config.hooks {
		if r != nil {
			r.Request = c.snapshot()
			hook(r)
		}
	}
	return c.send(c.replace(r))
}

// latency returns the latency of the request.
func (c *call) latency() time.Duration {
	if d, found := c.server.config.latency[c.entry.Operation]; found {
		return d
	}
	return c.server.config.latency[""]
}

// act executes the request, unless the service refuses it or the fault prevents it. It returns nil if the service sends
// no response.
func (c *call) act(reading *service.Reading) *Response {
	if reading.Refusal != nil {
		return c.respond(*reading.Refusal)
	}
	execute := func() *Response {
		result := reading.Act()
		if result.Acted() {
			c.acted(result)
		}
		return c.respond(result)
	}
	switch {
	case c.fault.kind == network.ActsLate:
		c.server.network.After(c.fault.delay, func() { execute() })
		return nil
	case c.fault.Acts:
		return execute()
	}
	return nil
}

// acted records the execution of the request.
func (c *call) acted(result service.Result) {
	var id aicontent.ID
	if r := result.Record; r != nil {
		id = aicontent.ID(r.ID)
		switch {
		case result.Deleted:
			c.server.book.deleted(result.Collection, r, c.entry.Number)
		case c.request.Method == http.MethodPost:
			c.server.book.created(result.Collection, r, c.entry)
		}
	}
	c.write(func() { c.entry.Acted, c.entry.RecordID = true, id })
}

func (c *call) respond(result service.Result) *Response {
	r := c.server.responses.Write(result, c.request)
	return &Response{Status: r.Status, Header: r.Header, Body: r.Body}
}

// report records violations and fails the test.
func (c *call) report(violations []string) {
	for _, found := range violations {
		v := fmt.Sprintf("request %d: %s %s: %s", c.entry.Number, c.request.Method, c.request.RequestURI, found)
		c.write(func() { c.server.book.violations = append(c.server.book.violations, v) })
		if f := c.server.config.onViolation; f != nil {
			f(v)
		}
		if t := c.server.t; t != nil {
			t.Errorf("aicontenttest: not allowed by the API: %s", v)
		}
	}
}

func (f Fault) response() *Response {
	return &Response{Status: f.Status, Header: f.header, Body: []byte(f.Body)}
}

// replace returns the response to send instead of r, the service's. r is nil if the service did not act.
func (c *call) replace(r *Response) *Response {
	switch c.fault.kind {
	case network.Responds, network.ActsLate:
		return c.fault.response()
	}
	if r == nil {
		return HTMLPage(http.StatusServiceUnavailable).response()
	}
	r.Body = c.exchange.Corrupt(r.Body)
	return r
}

func (c *call) send(r *Response) error {
	c.count()
	c.write(func() { c.entry.Status = r.Status })
	return c.exchange.Send(r.Status, r.Header, r.Body)
}
