package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
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

// dial connects and sends the beginning of a request.
func (p *pipes) dial(request string) net.Conn {
	browser, gallery := net.Pipe()
	p.conns <- gallery
	io.WriteString(browser, request)
	return browser
}

// served starts a gallery in a bubble, runs test and stops the gallery. It returns the time that the stop took, and the
// text from the channel that test returns.
func served(
	t *testing.T, test func(f *fixture, gallery *pipes) <-chan string, opts ...aicontenttest.Option,
) (of *fixture, took time.Duration, text string) {
	bubble(t, func(f *fixture) {
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		ctx, stop := context.WithCancel(f.t.Context())
		ended := make(chan error)
		go func() { ended <- f.gallery.serve(ctx, listener) }()
		response := test(f, listener)
		began := time.Now()
		stop()
		assert.NoError(f.t, <-ended)
		of, took, text = f, time.Since(began), <-response
	}, opts...)
	return of, took, text
}

// response reads the text of a response, which comes when the connection ends.
func response(browser net.Conn) <-chan string {
	text := make(chan string, 1)
	go func() {
		read, _ := io.ReadAll(browser)
		text <- string(read)
		browser.Close()
	}()
	return text
}

// httpRequest returns the bytes of a request that posts a form.
func httpRequest(path, contentType, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		path, contentType, len(body), body)
}

// operaRequest returns the upload of a recording of the size.
func operaRequest(t *testing.T, form string, size int) string {
	body, contentType := uploadBody(t, map[string]string{"name": "Opera"}, "opera.wav", recording(size))
	return httpRequest(form, contentType, body)
}

func TestUploadMayTakeAnHour(t *testing.T) {
	upload := operaRequest(t, newRecording(), 1<<20)
	for pause, records := range map[time.Duration]int{50 * time.Minute: 1, 70 * time.Minute: 0} {
		t.Run(pause.String(), func(t *testing.T) {
			of, _, _ := served(t, func(f *fixture, gallery *pipes) <-chan string {
				browser := gallery.dial(upload[:1<<19])
				text := response(browser)
				time.Sleep(pause)
				io.WriteString(browser, upload[1<<19:])
				synctest.Wait()
				return text
			})
			assert.Len(t, of.service.Records(), records)
		})
	}
}

func TestUploadWhosePageIsLeftDoesNotReachTheServiceAndMayBeSentAgain(t *testing.T) {
	form := newRecording()
	upload := operaRequest(t, form, 4<<20)
	served(t, func(f *fixture, gallery *pipes) <-chan string {
		browser := gallery.dial(upload[:len(upload)/2])
		browser.Close()
		synctest.Wait()
		assert.Contains(f.t, f.log.String(), `outcome="not executed"`)
		assert.Empty(f.t, f.service.Requests())
		says(f.t, f.upload(form, map[string]string{"name": "Opera"}, "opera.wav", recording(100)), created)
		return response(browser)
	})
}

// Create requests have their grace, and then still say whether the service may have created a record.
func TestStopEndsUploadsAtOnceAndCreateRequestsAfterTheirGrace(t *testing.T) {
	upload := operaRequest(t, newRecording(), 4<<20)
	for name, test := range map[string]struct {
		sent string
		in   time.Duration
		says string
		log  bool // whether the log names the record
	}{
		"in the form":     {upload[:strings.Index(upload, "\r\n\r\n")+7], time.Second, nothing, false},
		"in the file":     {upload[:1<<20], time.Second, nothing, false},
		"before the end":  {upload[:len(upload)-1], time.Second, nothing, false},
		"transcribing":    {upload, grace + time.Second, lookFirst, true},
		"in the header":   {upload[:12], 11 * time.Second, "", false},
		"before anything": {"", 11 * time.Second, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			of, took, text := served(t, func(f *fixture, gallery *pipes) <-chan string {
				f.service.FaultOn(aicontent.TranscriptionsStore, 1,
					aicontenttest.Stall(aicontenttest.BeforeResponse))
				text := response(gallery.dial(test.sent))
				synctest.Wait()
				return text
			}, aicontenttest.UnusedFaults())
			assert.LessOrEqual(t, took, test.in)
			assert.Contains(t, text, test.says)
			log := of.log.String()
			assert.Equal(t, test.log, regexpMatch(log, `outcome=unknown error=.*Opera #[a-z2-7]{12}`), log)
		})
	}
}

func TestStopWaitsForARecordThatIsBeingCreatedAndShowsIt(t *testing.T) {
	picture := httpRequest(newPicture(), urlEncoded, fox.Encode())
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprintf("visitor leaves: %t", leaves), func(t *testing.T) {
			of, took, text := served(t, func(f *fixture, gallery *pipes) <-chan string {
				browser := gallery.dial(picture)
				text := response(browser)
				if leaves {
					time.Sleep(time.Second)
					browser.Close()
				}
				synctest.Wait()
				return text
			}, aicontenttest.LatencyOn(aicontent.ImagesStore, grace/2))
			assert.InDelta(t, grace/2, took, float64(2*time.Second))
			assert.Len(t, of.service.Records(), 1)
			assert.Equal(t, !leaves, regexpMatch(text, "^HTTP/1.1 303"))
		})
	}
}
