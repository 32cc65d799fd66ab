package aicontenttest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
)

// TB is what the kit needs of a test. *testing.T is one.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Server is the service in memory. All of its methods are safe for concurrent use.
type Server struct {
	// URL is the base address for a client, with the base path and without a trailing slash.
	URL string
	// APIKey is the key that the server accepts.
	APIKey string

	config
	t                      TB // nil under Start
	origin                 string
	images, transcriptions *collection
	book                   *book
	faults                 *faults
	listener               *listener
	server                 *http.Server
	work                   *tracker
	closing                chan struct{}
	close                  sync.Once
	network                network
}

// NewServer starts a server for a test and closes it when the test ends. What a client sends
// and the interface does not allow is an error of the test, unless [Lenient] is given.
func NewServer(t TB, opts ...Option) *Server {
	t.Helper()
	s, err := newServer(t, opts)
	if err != nil {
		t.Fatalf("aicontenttest: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server for a program, which has to close it. Violations are only recorded.
func Start(opts ...Option) (*Server, error) {
	s, err := newServer(nil, opts)
	if err != nil {
		return nil, fmt.Errorf("aicontenttest: %w", err)
	}
	return s, nil
}

func newServer(t TB, opts []Option) (*Server, error) {
	s := &Server{
		config: newConfig(opts), t: t,
		book: newBook(), work: newTracker(), closing: make(chan struct{}),
	}
	if s.err != nil {
		return nil, s.err
	}
	s.APIKey = s.apiKey
	s.faults = newFaults(t)
	images, transcriptions := imagesResource(), transcriptionsResource()
	if s.shape.newer {
		images.renew()
		transcriptions.renew()
	}
	s.images = newCollection(images, s.shape.uuids)
	s.transcriptions = newCollection(transcriptions, s.shape.uuids)

	if err := s.listen(); err != nil {
		return nil, err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(!s.http2)
	protocols.SetUnencryptedHTTP2(s.http2)
	s.server = &http.Server{
		Handler:   http.HandlerFunc(s.serve),
		Protocols: &protocols,
		ErrorLog:  log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: func(c net.Conn, state http.ConnState) { c.(*conn).state(state) },
	}
	s.work.enter()
	go func() {
		defer s.work.leave()
		// It ends with http.ErrServerClosed, and with nothing else.
		_ = s.server.Serve(s.listener)
	}()
	return s, nil
}

type connKey struct{}

// listen opens the network and settles the address.
func (s *Server) listen() error {
	l, err := s.openNetwork()
	if err != nil {
		return err
	}
	s.listener = &listener{
		Listener: l, tls: s.network.serverTLS, http2: s.http2, work: s.work, open: make(map[*conn]struct{}),
	}
	if !s.inMemory {
		s.listener.refuse = s.refuseConnection
	}
	scheme := "http://"
	if s.tls {
		scheme = "https://"
	}
	host := l.Addr().String()
	if name, port, err := net.SplitHostPort(host); err == nil && net.ParseIP(name).IsUnspecified() {
		host = net.JoinHostPort("127.0.0.1", port)
	}
	s.origin = scheme + host
	s.URL = s.origin + s.basePath
	return nil
}

// Close ends the server with everything that it has begun: connections are cut, stalls end,
// records that would have appeared later do not. It returns when no goroutine of the server's
// is left, and may be called again.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		_ = s.server.Close()
		s.listener.closeAll()
		s.network.closeClients()
	})
	s.work.wait()
}

// CloseIdleConnections closes the kept-alive connections that no request is using, as servers
// do after a while.
func (s *Server) CloseIdleConnections() { s.listener.closeIdle() }

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.work.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.work.leave()
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, s.basePath); ok && !strings.HasPrefix(rest, apiPath+"/") && s.servePage(w, r, rest) {
		return
	}
	c := s.newCall(w, r)
	defer c.end()
	c.run()
}

// AddImage adds a record as if it had been stored, and returns it with its id.
func (s *Server) AddImage(i Image) Image {
	r := s.images.add(record{
		id: i.ID, name: i.Name, description: i.Description, resolution: i.Resolution,
		style: i.Style, medium: i.Medium, filter: i.Filter, quality: i.Quality,
		favorite: i.Favorite, createdAt: i.CreatedAt, updatedAt: i.UpdatedAt,
	})
	s.book.made(s.images, r, 0)
	return r.image()
}

// AddTranscription adds a record as if it had been stored, and returns it with its id.
func (s *Server) AddTranscription(t Transcription) Transcription {
	r := s.transcriptions.add(record{
		id: t.ID, name: t.Name, description: t.Description, language: t.Language,
		result: t.Result, favorite: t.Favorite, upload: t.Upload,
		createdAt: t.CreatedAt, updatedAt: t.UpdatedAt,
	})
	s.book.made(s.transcriptions, r, 0)
	return r.transcription()
}

// Images returns the images that are there now, oldest first.
func (s *Server) Images() []Image { return all(s.images, (*record).image) }

// Transcriptions returns the transcriptions that are there now, oldest first.
func (s *Server) Transcriptions() []Transcription {
	return all(s.transcriptions, (*record).transcription)
}
