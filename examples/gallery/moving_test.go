package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener whose connections are pipes, for synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// dial connects and sends the head of a request.
func (p *pipes) dial(request string) net.Conn {
	browser, gallery := net.Pipe()
	p.conns <- gallery
	io.WriteString(browser, request)
	return browser
}

// served runs test against a gallery in a bubble, where time costs nothing. It returns how long the gallery took to
// end.
func served(t *testing.T, test func(f *fixture, gallery *pipes)) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		service := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		f := &fixture{t: t, service: service}
		f.gallery = newServer(service.Client(), slog.New(slog.NewTextHandler(&f.log, nil)))
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- serve(ctx, listener, f.gallery.handler()) }()
		test(f, listener)
		began := time.Now()
		stop()
		assert.NoError(t, <-ended)
		took = time.Since(began)
	})
	return took
}

// uploadHead is a request that begins an upload of the length.
func uploadHead(length int, contentType string) string {
	return fmt.Sprintf("POST /new-recording HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\n\r\n", contentType, length)
}

// formHead is a request with a form of which only the beginning is there.
func formHead(path, host string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" +
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nname"
}

// Whoever begins to send a form and stops, or sends it byte by byte, is not waited for.
func TestStalledFormsAreClosed(t *testing.T) {
	const boundary = "multipart/form-data; boundary=x"
	for name, test := range map[string]struct {
		request string
		trickle bool
	}{
		"in an upload":               {request: uploadHead(1e6, boundary) + "--x"},
		"in an upload, byte by byte": {request: uploadHead(1e6, boundary) + "--x", trickle: true},
		"in a form":                  {request: formHead("/new-picture", "localhost")},
		"in a form that is not read": {request: formHead("/nowhere", "localhost")},
		"with a foreign name":        {request: formHead("/", "evil.example")},
	} {
		t.Run(name, func(t *testing.T) {
			served(t, func(f *fixture, gallery *pipes) {
				began := time.Now()
				closed := make(chan time.Duration)
				var trickles sync.WaitGroup
				for range 300 {
					browser := gallery.dial(test.request)
					go func() {
						io.Copy(io.Discard, browser)
						closed <- time.Since(began)
						browser.Close()
					}()
					if test.trickle {
						trickles.Go(func() {
							for _, err := browser.Write([]byte("x")); err == nil; _, err = browser.Write([]byte("x")) {
								time.Sleep(maxWait / 2)
							}
						})
					}
				}
				for range 300 {
					assert.LessOrEqual(f.t, <-closed, maxWait+time.Second)
				}
				trickles.Wait()
				assert.Empty(f.t, f.service.Requests())
			})
		})
	}
}

// A large upload on a slow line takes more than a day, and is not cut off.
func TestSlowUploadArrives(t *testing.T) {
	const size, piece = 300 << 20, 64 << 10
	served(t, func(f *fixture, gallery *pipes) {
		began := time.Now()
		body, contentType := uploadBody(f.t, map[string]string{"name": "Opera"}, "opera.wav", recording(piece))
		head, tail, _ := bytes.Cut(body, recording(piece))
		browser := gallery.dial(uploadHead(size+len(head)+len(tail), contentType))
		defer browser.Close()
		browser.Write(head)
		for range size / piece {
			time.Sleep(20 * time.Second)
			_, err := browser.Write(recording(piece))
			require.NoError(f.t, err)
		}
		browser.Write(tail)
		answer := make([]byte, len("HTTP/1.1 303"))
		_, err := io.ReadFull(browser, answer)
		require.NoError(f.t, err)
		assert.Equal(f.t, "HTTP/1.1 303", string(answer))
		assert.EqualValues(f.t, size, f.service.Transcriptions()[0].Upload.Size)
		assert.Greater(f.t, time.Since(began), 24*time.Hour)
		go io.Copy(io.Discard, browser)
	})
}

// The end of the program ends what goes on, at once where it can, and always within the time of grace.
func TestItEndsInOrder(t *testing.T) {
	body, contentType := uploadBody(t, map[string]string{"name": "Opera"}, "opera.wav", recording(4<<20))
	for name, test := range map[string]struct {
		sent string
		in   time.Duration
	}{
		"in the form":             {uploadHead(len(body), contentType) + string(body[:3]), grace / 2},
		"in the file":             {uploadHead(len(body), contentType) + string(body[:1<<20]), grace / 2},
		"transcribing":            {uploadHead(len(body), contentType) + string(body), grace / 2},
		"in the header":           {"POST /new-rec", grace},
		"before anything":         {"", grace},
		"in a form not looked at": {formHead("/nowhere", "localhost"), grace},
	} {
		t.Run(name, func(t *testing.T) {
			took := served(t, func(f *fixture, gallery *pipes) {
				f.service.Fault(aicontenttest.Stall(aicontenttest.BeforeResponse))
				browser := gallery.dial(test.sent)
				go io.Copy(io.Discard, browser)
				f.t.Cleanup(func() { browser.Close() })
				synctest.Wait()
			})
			assert.LessOrEqual(t, took, test.in)
		})
	}
}

// What is read of a body ends with its request, also where the deadline of a read was set a moment before.
func TestReadingEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body := &movingBody{ReadCloser: http.NoBody, ctx: ctx, conn: http.NewResponseController(nil), left: maxWait}
	_, err := body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, context.Canceled)
}
