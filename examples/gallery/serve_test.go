package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
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
func served(
	t *testing.T, test func(f *fixture, gallery *pipes), opts ...aicontenttest.Option,
) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		service := aicontenttest.NewServer(t, append(opts, aicontenttest.InMemoryNetwork())...)
		f := &fixture{t: t, service: service, ledger: once.InMemory()}
		f.open(service.Client())
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.gallery.serve(ctx, listener) }()
		test(f, listener)
		began := time.Now()
		stop()
		assert.NoError(t, <-ended)
		took = time.Since(began)
	})
	return took
}

// bubble runs test against a gallery without a network, where waiting costs nothing.
func bubble(t *testing.T, test func(f *fixture), opts ...aicontenttest.Option) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, ledger: once.InMemory()}
		f.service = aicontenttest.NewServer(t, append(opts, aicontenttest.InMemoryNetwork())...)
		f.open(f.service.Client(aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})))
		test(f)
	})
}

// send sends a form and returns the page that it leads to, without a network. Without a form it gets the page.
func (f *fixture) send(path string, form url.Values) (status int, page string) {
	path, form = inAddress(path, form)
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if form != nil {
		r = httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, r.URL.String(),
			strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	f.gallery.handler().ServeHTTP(w, r)
	if to := w.Header().Get("Location"); to != "" {
		return f.send(to, nil)
	}
	return w.Code, w.Body.String()
}

// operaBody is the form of a recording of the size.
func operaBody(t *testing.T, size int) (body []byte, contentType string) {
	return uploadBody(t, map[string]string{"name": "Opera"}, "opera.wav", recording(size))
}

// uploadHead is a request that begins an upload of the length.
func uploadHead(length int, contentType string) string {
	return fmt.Sprintf("POST /new-recording?form=%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"+
		"Content-Length: %d\r\n\r\n", newToken(), contentType, length)
}

// An upload may take most of an hour. One that stands still ends after an hour, and creates nothing.
func TestUploadMayTakeAnHour(t *testing.T) {
	body, contentType := operaBody(t, 1<<20)
	for pause, records := range map[time.Duration]int{50 * time.Minute: 1, 70 * time.Minute: 0} {
		t.Run(pause.String(), func(t *testing.T) {
			served(t, func(f *fixture, gallery *pipes) {
				browser := gallery.dial(uploadHead(len(body), contentType) + string(body[:1<<19]))
				defer browser.Close()
				go io.Copy(io.Discard, browser)
				time.Sleep(pause)
				browser.Write(body[1<<19:])
				synctest.Wait()
				assert.Len(f.t, f.service.Records(), records)
			})
		})
	}
}

// The end of the program ends what goes on, at once where it can, and always within a minute. Create requests that were
// sent have their grace, and then still tell what is known of them.
func TestItEndsInOrder(t *testing.T) {
	body, contentType := operaBody(t, 4<<20)
	for name, test := range map[string]struct {
		sent string
		in   time.Duration
		says string
	}{
		"in the form":     {uploadHead(len(body), contentType) + string(body[:3]), time.Second, nothing},
		"in the file":     {uploadHead(len(body), contentType) + string(body[:1<<20]), time.Second, nothing},
		"transcribing":    {uploadHead(len(body), contentType) + string(body), grace + time.Second, lookFirst},
		"in the header":   {"POST /new-rec", 11 * time.Second, ""},
		"before anything": {"", 11 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 1)
			var log *lockedBuffer
			took := served(t, func(f *fixture, gallery *pipes) {
				f.service.FaultOn(aicontenttest.TranscriptionsStore, 1,
					aicontenttest.Stall(aicontenttest.BeforeResponse))
				log = &f.log
				browser := gallery.dial(test.sent)
				go func() {
					response, _ := io.ReadAll(browser)
					said <- string(response)
				}()
				f.t.Cleanup(func() { browser.Close() })
				synctest.Wait()
			})
			assert.LessOrEqual(t, took, test.in)
			assert.Contains(t, <-said, test.says)
			const open = `outcome=unknown error=.*Opera #[a-z2-7]{12}`
			assert.Equal(t, name == "transcribing", regexpMatch(log.buf.String(), open), log.buf.String())
		})
	}
}

// What the service is creating when the program is told to end is waited for, and shown to whoever waits for it.
func TestTheEndWaitsForWhatIsBeingCreated(t *testing.T) {
	body, contentType := operaBody(t, 1<<20)
	form := fox(newToken()).Encode()
	for name, request := range map[string]string{
		"picture": fmt.Sprintf("POST /new-picture?form=%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
			"application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", newToken(), len(form), form),
		"recording": uploadHead(len(body), contentType) + string(body),
	} {
		for _, leaves := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, visitor leaves: %t", name, leaves), func(t *testing.T) {
				said := make(chan string, 1)
				var service *aicontenttest.Server
				took := served(t, func(f *fixture, gallery *pipes) {
					service = f.service
					browser := gallery.dial(request)
					if leaves {
						time.Sleep(time.Second)
						browser.Close()
					}
					go func() {
						response, _ := io.ReadAll(browser)
						said <- string(response)
						browser.Close()
					}()
					synctest.Wait()
				}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, grace/2),
					aicontenttest.LatencyOn(aicontenttest.TranscriptionsStore, grace/2))
				assert.InDelta(t, grace/2, took, float64(2*time.Second))
				assert.Len(t, service.Records(), 1)
				if response := <-said; !leaves {
					assert.Contains(t, response, "HTTP/1.1 303")
				}
			})
		}
	}
}
