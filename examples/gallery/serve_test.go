package main

import (
	"bytes"
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

// grace is how long the gallery waits for create requests when it ends.
const grace = time.Minute

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
		go func() { ended <- f.gallery.serve(ctx, listener, grace) }()
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
	return uploadBody(t, map[string]string{"form": newToken(), "name": "Opera"}, "opera.wav", recording(size))
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

// Whoever begins to send a form and stops is not waited for.
func TestStalledFormsAreClosed(t *testing.T) {
	const boundary = "multipart/form-data; boundary=x"
	const file = "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nSong\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\x00\x00\x00\x00WAVEfmt "
	for name, test := range map[string]struct {
		request string
		status  int
	}{
		"in an upload":               {request: uploadHead(1e6, boundary) + "--x", status: 408},
		"in the file":                {request: uploadHead(1e6, boundary) + file, status: 408},
		"in a form":                  {request: formHead("/new-picture", "localhost"), status: 408},
		"in a form that is not read": {request: formHead("/nowhere", "localhost"), status: 404},
		"with a foreign name":        {request: formHead("/", "evil.example"), status: 421},
	} {
		t.Run(name, func(t *testing.T) {
			served(t, func(f *fixture, gallery *pipes) {
				began := time.Now()
				closed := make(chan time.Duration)
				for range 300 {
					browser := gallery.dial(test.request)
					go func() {
						response, _ := io.ReadAll(browser)
						assert.Contains(f.t, string(response), fmt.Sprintf("HTTP/1.1 %d ", test.status))
						if test.status == http.StatusRequestTimeout {
							assert.Contains(f.t, string(response), "Nothing was created and nothing was billed.")
						}
						closed <- time.Since(began)
						browser.Close()
					}()
				}
				for range 300 {
					assert.LessOrEqual(f.t, <-closed, maxStall+time.Second)
				}
				assert.Empty(f.t, f.service.Records())
			})
		})
	}
}

// A large upload on a slow line takes more than a day, and is not cut off.
func TestSlowUploadArrives(t *testing.T) {
	const size, piece = 40 << 20, 8 << 10
	served(t, func(f *fixture, gallery *pipes) {
		began := time.Now()
		body, contentType := operaBody(f.t, piece)
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

// The end of the program ends what goes on, at once where it can, and always within a minute. Create requests that were
// sent have their grace, and then still tell what is known of them.
func TestItEndsInOrder(t *testing.T) {
	body, contentType := operaBody(t, 4<<20)
	for name, test := range map[string]struct {
		sent string
		in   time.Duration
		says string
	}{
		"in the form":             {uploadHead(len(body), contentType) + string(body[:3]), time.Second, tryAgain},
		"in the file":             {uploadHead(len(body), contentType) + string(body[:1<<20]), time.Second, tryAgain},
		"transcribing":            {uploadHead(len(body), contentType) + string(body), grace + time.Second, lookFirst},
		"in the header":           {"POST /new-rec", 11 * time.Second, ""},
		"before anything":         {"", 11 * time.Second, ""},
		"in a form not looked at": {formHead("/nowhere", "localhost"), maxStall + time.Second, "HTTP/1.1 404"},
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
		"picture": fmt.Sprintf("POST /new-picture HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+
			"application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(form), form),
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

// What is read of a body ends with its request, also where the deadline of a read was set a moment before.
func TestReadingEndsWithTheRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body := &movingBody{ReadCloser: http.NoBody, ctx: ctx, conn: http.NewResponseController(httptest.NewRecorder())}
	_, err := body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, context.Canceled)
}
