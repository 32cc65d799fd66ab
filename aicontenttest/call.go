package aicontenttest

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// A call is one request on its way through the server: examined, acted on, answered, with a
// fault striking at its place.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	conn   *conn
	route  route
	query  url.Values
	entry  *Request // written under the book's lock
	body   *meter
	fault  Fault
}

func (s *Server) newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{server: s, w: w, r: r, body: &meter{body: r.Body}}
	c.conn = r.Context().Value(connKey{}).(*conn)
	c.body.done = r.ContentLength == 0
	c.route = s.routeOf(r.URL.EscapedPath())
	// A malformed query is found later; what can be read of it counts.
	c.query, _ = url.ParseQuery(r.URL.RawQuery)
	header := r.Header.Clone()
	if header.Get("Authorization") != "" {
		header.Set("Authorization", "Bearer ***")
	}
	c.entry = &Request{
		Connection: c.conn.number, Operation: c.route.operation(r.Method), Method: r.Method,
		Path: r.URL.Path, EscapedPath: r.URL.EscapedPath(), Query: c.query, Header: header,
	}
	s.book.open(c.entry)
	c.fault = s.faults.draw(c.entry.clone())
	s.book.write(func() { c.entry.Fault = c.fault.Name })
	return c
}

// end writes down what is known of the request however it ended.
func (c *call) end() {
	failure := recover()
	c.count()
	if f := c.server.onRequest; f != nil {
		f(c.snapshot())
	}
	if failure == nil {
		return
	}
	if failure != http.ErrAbortHandler && c.server.t != nil {
		c.server.t.Errorf("aicontenttest: %s %s: panic: %v", c.r.Method, c.r.URL.Path, failure)
	}
	panic(failure)
}

// count writes down what was received, before the client can see that no more will be.
func (c *call) count() {
	c.server.book.write(func() { c.entry.Received = c.body.count })
}

func (c *call) snapshot() (r Request) {
	c.server.book.write(func() { r = c.entry.clone() })
	return r
}

func (c *call) run() {
	c.strike(BeforeRead)
	c.body.strikeAt(c.fault, func() { c.strike(MidUpload) })
	if c.fault.kind == answering && c.fault.Place == BeforeRead {
		c.send(c.fault.answer())
		return
	}
	act, answer := c.examine()
	if c.body.broken() {
		panic(http.ErrAbortHandler)
	}
	// Where the body was not read at all, the fault has not struck yet.
	c.strike(MidUpload)
	c.pause(c.server.latency)
	switch {
	case act == nil:
	case c.fault.kind == late:
		c.server.later(c.fault.Delay, act)
	case c.fault.Acts:
		answer = act()
	}
	c.strike(BeforeAnswer)
	if answer != nil {
		for _, hook := range c.server.hooks {
			answer.Request = c.snapshot()
			hook(answer)
		}
	}
	c.send(c.fault.replace(answer))
}

// examine finds what is wrong with the request and answers that; otherwise it returns what
// remains to be done.
func (c *call) examine() (act func() *Answer, refusal *Answer) {
	if c.route.methods == nil {
		c.violate(RulePath, "", "")
		return nil, c.message(http.StatusNotFound, "Resource not found.")
	}
	if c.entry.Operation == "" {
		c.violate(RuleMethod, "", "")
		return nil, c.methodNotAllowed()
	}
	if a := c.authorized(); a != nil {
		return nil, a
	}
	if c.r.Method == http.MethodGet && !c.server.lenient && !acceptsJSON(c.r.Header) {
		c.violate(RuleAccept, "Accept", c.r.Header.Get("Accept"))
		return nil, c.message(http.StatusNotAcceptable, "Not Acceptable.")
	}
	var parameters []field
	if c.r.Method == http.MethodGet && c.route.id == "" {
		parameters = c.route.collection.list
	}
	problems := c.checkQuery(parameters)
	switch c.r.Method {
	case http.MethodGet, http.MethodDelete:
		if c.hasBody() {
			c.violate(RuleBody, "", "")
			if !c.server.lenient {
				return nil, c.message(http.StatusBadRequest, "Bad Request.")
			}
		}
		act = c.read
		if c.r.Method == http.MethodDelete {
			act = c.remove
		}
	default:
		mediaType, fields := urlencoded, c.route.collection.update
		if c.r.Method == http.MethodPost {
			mediaType, fields = c.route.collection.mediaType, c.route.collection.store
		}
		f, refusal := c.readForm(mediaType)
		c.server.book.write(func() { c.entry.Form, c.entry.File = f.values, f.upload })
		if refusal != nil || c.body.broken() {
			return nil, refusal
		}
		problems = append(problems, c.checkForm(fields, f)...)
		act = func() *Answer { return c.change(f) }
		if c.r.Method == http.MethodPost {
			act = func() *Answer { return c.store(f) }
		}
	}
	if len(problems) > 0 {
		return nil, c.invalid(problems)
	}
	return act, nil
}

// hasBody reports whether a request that is to have no body has one, a byte at least.
func (c *call) hasBody() bool {
	n, _ := io.ReadFull(c.body, make([]byte, 1))
	return n > 0
}

// pause waits; a client that leaves, or the server's end, ends the request.
func (c *call) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-c.server.closing:
		panic(http.ErrAbortHandler)
	}
}

// A meter counts the bytes of a body and strikes when the fault's number is reached, or the
// end where the body is shorter.
type meter struct {
	body   io.Reader
	count  int64
	done   bool  // the end was seen
	err    error // how else the reading ended
	limit  int64
	strike func()
}

func (m *meter) strikeAt(f Fault, strike func()) {
	if f.Place == MidUpload {
		m.limit, m.strike = f.Bytes, strike
	}
}

func (m *meter) Read(p []byte) (int, error) {
	if m.strike != nil {
		if m.count >= m.limit || m.done {
			m.strike()
		}
		p = p[:min(int64(len(p)), m.limit-m.count)]
	}
	n, err := m.body.Read(p)
	m.count += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		m.done = true
		if m.strike != nil {
			m.strike()
		}
	case err != nil:
		m.err = err
	}
	return n, err
}

// broken reports whether the connection ended before the body did.
func (m *meter) broken() bool { return m.err != nil }
