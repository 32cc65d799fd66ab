package leaks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service does with a request what its name query asks for.
type service struct {
	*httptest.Server
	gone    chan struct{} // closed to let go of the requests that hang
	hanging chan struct{} // a request hangs

	mu   sync.Mutex
	open map[net.Conn]bool
	all  int
	none *sync.Cond // no connection is open
}

func serve(t *testing.T) *service {
	t.Helper()
	s := &service{gone: make(chan struct{}), hanging: make(chan struct{}, 100), open: map[net.Conn]bool{}}
	s.none = sync.NewCond(&s.mu)
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(nc net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch state {
		case http.StateNew:
			s.open[nc] = true
			s.all++
		case http.StateClosed, http.StateHijacked:
			delete(s.open, nc)
			s.none.Broadcast()
		}
	}
	s.Start()
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Query().Get("kind")
	if picture := kind == "" || kind == "large"; picture && !strings.Contains(r.URL.Path, "/api/") {
		w.Header().Set("Content-Type", "image/png")
	}
	if kind == "unread" {
		s.hang(r)
		return
	}
	if page := r.URL.Query().Get("page"); kind == "paged" {
		if page != "" && page != "2" {
			s.hang(r)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":"a%[1]s","name":"a"},{"id":"b%[1]s","name":"b"}],"current_page":%[2]s,"last_page":9}`, page, cmp.Or(page, "1"))
		return
	}
	if kind == "early" {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	switch kind {
	case "422":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"message":"no"}`)
	case "503":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "page":
		_, _ = io.WriteString(w, "<title>Portal</title>")
	case "redirect":
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	case "large":
		_, _ = w.Write(bytes.Repeat([]byte(" "), 4<<20))
	case "cut":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id"`)
	case "switch":
		w.Header().Set("Connection", "upgrade")
		w.Header().Set("Upgrade", "x")
		w.WriteHeader(http.StatusSwitchingProtocols)
	case "reset":
		if nc, _, err := w.(http.Hijacker).Hijack(); err == nil {
			nc.Close()
		}
	case "silent":
		s.hang(r)
	case "slow":
		_, _ = io.WriteString(w, `{"id":`)
		_ = http.NewResponseController(w).Flush()
		s.hang(r)
	default:
		if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/7") {
			_, _ = io.WriteString(w, `{"data":[{"id":7,"name":"seven"}],"links":{"next":null}}`)
			return
		}
		body := `{"id":7}`
		if !strings.Contains(r.URL.Path, "/api/") {
			body = "BM" // the beginning of a bitmap
		}
		_, _ = io.WriteString(w, body)
	}
}

func (s *service) hang(r *http.Request) {
	s.hanging <- struct{}{}
	select {
	case <-r.Context().Done():
	case <-s.gone:
	}
}

// finish ends everything, and waits until the client has closed all of its connections: the server closes none before.
func (s *service) finish(c *aicontent.Client) {
	close(s.gone)
	c.CloseIdleConnections()
	s.mu.Lock()
	for len(s.open) > 0 {
		s.none.Wait()
	}
	s.mu.Unlock()
	s.Close()
}

var kinds = []string{"", "422", "503", "page", "redirect", "large", "cut", "switch", "reset", "early"}

// files are the ways to hand over an upload, each with size bytes of audio.
func files(t *testing.T, size int) map[string]func() aicontent.File {
	t.Helper()
	data := append([]byte("RIFF\x04\x00\x00\x00WAVE"), make([]byte, size)...)
	path := filepath.Join(t.TempDir(), "a.wav")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]func() aicontent.File{
		"path":   func() aicontent.File { return aicontent.FileFromPath(path) },
		"fs":     func() aicontent.File { return aicontent.FileFromFS(os.DirFS(filepath.Dir(path)), "a.wav") },
		"bytes":  func() aicontent.File { return aicontent.FileFromBytes("a.wav", data) },
		"seeker": func() aicontent.File { return aicontent.FileFromReader("a.wav", bytes.NewReader(data)) },
		"reader": func() aicontent.File { return aicontent.FileFromReader("a.wav", io.MultiReader(bytes.NewReader(data))) },
	}
}

// calls are the operations, and the upload in each of its ways.
func calls(t *testing.T, c *aicontent.Client, size int) map[string]func(context.Context, ...aicontent.CallOption) error {
	list := map[string]func(context.Context, ...aicontent.CallOption) error{
		"list": func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.List(ctx, aicontent.ImageListParams{}, o...)
			return err
		},
		"all, left early": func(ctx context.Context, o ...aicontent.CallOption) error {
			for _, err := range c.Transcriptions.All(ctx, aicontent.TranscriptionListParams{}, o...) {
				return err
			}
			return nil
		},
		"all, read ahead": func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := aicontent.Collect(c.Images.All(ctx, aicontent.ImageListParams{}, o...))
			return err
		},
		"show": func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.Show(ctx, "7", o...)
			return err
		},
		"store": func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.Store(ctx, aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: aicontent.Resolution256x256}, o...)
			return err
		},
		"store once": func(ctx context.Context, o ...aicontent.CallOption) error {
			params := aicontent.ImageStoreParams{Name: "once", Description: "d", Resolution: aicontent.Resolution256x256}
			names, err := once.New(c, once.InMemory(), once.WithSettleTime(0))
			if err == nil {
				_, _, err = names.Images.Store(ctx, params, o...)
			}
			return err
		},
		"update": func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.Update(ctx, "7", aicontent.ImageUpdateParams{Favorite: new(true)}, o...)
			return err
		},
		"delete": func(ctx context.Context, o ...aicontent.CallOption) error { return c.Images.Delete(ctx, "7", o...) },
	}
	for name, file := range files(t, size) {
		list["upload from "+name] = func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "n", File: file()}, o...)
			return err
		}
	}
	return list
}

func client(t *testing.T, s *service, opts ...aicontent.Option) *aicontent.Client {
	t.Helper()
	c, err := aicontent.NewClient(s.URL+"/tenant", "sk-0123456789", append(opts, aicontent.WithMaxResponseSize(1<<20),
		aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}), aicontent.WithRetryBudget(0),
		aicontent.WithProgress(func(aicontent.Progress) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCallsThatSucceedAndFail(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := serve(t)
	c := client(t, s)
	var group sync.WaitGroup
	for _, kind := range kinds {
		for name, call := range calls(t, c, 1<<20) {
			group.Go(func() {
				err := call(t.Context(), aicontent.WithQuery("kind", kind))
				if (err == nil) != (kind == "") && name != "delete" {
					t.Errorf("%s of a service that responds with %q: %v", name, kind, err)
				}
			})
		}
	}
	group.Wait()
	s.finish(c)
	if s.all == 0 {
		t.Error("nothing was sent")
	}
}

func TestCallsThatAreCancelled(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := serve(t)
	c := client(t, s)
	for _, kind := range []string{"silent", "slow", "unread"} {
		for name, call := range calls(t, c, 16<<20) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- call(ctx, aicontent.WithQuery("kind", kind), aicontent.WithStallTimeout(0)) }()
			<-s.hanging
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) && name != "delete" {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
	s.finish(c)
}

func TestCallsThatTimeOut(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := serve(t)
	c := client(t, s, aicontent.WithResponseTimeout(20*time.Millisecond), aicontent.WithStoreTimeout(20*time.Millisecond),
		aicontent.WithStallTimeout(20*time.Millisecond))
	oneAttempt := aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})
	for _, kind := range []string{"silent", "slow", "unread"} {
		for name, call := range calls(t, c, 16<<20) {
			err := call(t.Context(), aicontent.WithQuery("kind", kind), oneAttempt)
			if err == nil && name != "delete" {
				t.Errorf("%s, %s: no error", name, kind)
			}
		}
	}
	s.finish(c)
}

func TestCallsWhoseContextIsOver(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := serve(t)
	c := client(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(t, c, 1<<10) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.finish(c)
	if s.all != 0 {
		t.Error("something was sent")
	}
}

// A download has a transport that is separate from the one for the API.
func TestDownloads(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := serve(t)
	c := client(t, s)
	for _, kind := range []string{"", "422", "503", "page", "redirect", "large", "cut", "reset", "early", "slow", "silent"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := c.Images.Download(ctx, &aicontent.Image{URL: s.URL + "/7?kind=" + kind}, io.Discard)
			ended <- err
		}()
		if kind == "slow" || kind == "silent" {
			<-s.hanging
			cancel()
		}
		if err := <-ended; (err == nil) != slices.Contains([]string{"", "large"}, kind) {
			t.Errorf("%q: %v", kind, err)
		}
		cancel()
	}
	s.finish(c)
}

// A Read that hangs is left behind, as nothing can end it, and ends when it returns.
func TestReaderThatHangs(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := serve(t)
	c := client(t, s)
	r, w := io.Pipe()
	begun := make(chan struct{})
	go func() {
		_, _ = w.Write(append([]byte("RIFF\x04\x00\x00\x00WAVE"), make([]byte, 4096)...))
		close(begun)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "n", File: aicontent.FileFromReader("a.wav", r)})
		ended <- err
	}()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.Close()
	s.finish(c)
}
