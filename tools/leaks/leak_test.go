package leaks

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	case "redirect":
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	case "large":
		_, _ = w.Write(bytes.Repeat([]byte("BM "), 1<<20))
	case "cut":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id"`)
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

// connections counts the connections that clients have opened.
func (s *service) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
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

var kinds = []string{"", "422", "503", "redirect", "large", "cut", "reset", "early"}

// files are the ways to hand over an upload, each with size bytes of audio.
func files(t *testing.T, size int) map[string]func() aicontent.File {
	t.Helper()
	data := append([]byte("RIFF\x04\x00\x00\x00WAVE"), make([]byte, size)...)
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return map[string]func() aicontent.File{
		"path":  func() aicontent.File { return aicontent.FileFromPath(path) },
		"bytes": func() aicontent.File { return aicontent.FileFromBytes("a.wav", data) },
		"reader": func() aicontent.File {
			return aicontent.FileFromReader("a.wav", io.MultiReader(bytes.NewReader(data)))
		},
	}
}

// A call is an operation with its arguments.
type call struct {
	do     func(context.Context, ...aicontent.CallOption) error
	noBody bool // the call may succeed without the body of its response
}

var imageParams = aicontent.ImageStoreParams{
	Name: "n", Description: "d", Resolution: aicontent.Resolution256x256,
}

// calls are the operations, and the upload in each of its ways.
func calls(t *testing.T, c *aicontent.Client, size int) map[string]call {
	list := map[string]call{
		"list": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.List(ctx, aicontent.ImageListParams{}, o...)
			return err
		}},
		"all, left early": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			for _, err := range c.Transcriptions.All(ctx, aicontent.TranscriptionListParams{}, o...) {
				return err
			}
			return nil
		}},
		"all, read ahead": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := aicontent.Collect(c.Images.All(ctx, aicontent.ImageListParams{}, o...))
			return err
		}},
		"show": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.Show(ctx, "7", o...)
			return err
		}},
		"store": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.Store(ctx, imageParams, o...)
			return err
		}},
		"store once": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			names, err := once.New(c, once.InMemory(), once.WithSettleTime(0))
			if err == nil {
				_, _, err = names.Images.Store(ctx, imageParams, o...)
			}
			return err
		}},
		"update": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Images.Update(ctx, "7", aicontent.ImageUpdateParams{Favorite: new(true)}, o...)
			return err
		}},
		"delete": {do: func(ctx context.Context, o ...aicontent.CallOption) error {
			return c.Images.Delete(ctx, "7", o...)
		}, noBody: true},
	}
	for name, file := range files(t, size) {
		list["upload from "+name] = call{do: func(ctx context.Context, o ...aicontent.CallOption) error {
			_, err := c.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: "n", File: file()}, o...)
			return err
		}}
	}
	return list
}

// leakless runs a test with a service and a client, and fails it if a goroutine or connection of the client is left.
func leakless(t *testing.T, f func(t *testing.T, s *service, c *aicontent.Client), opts ...aicontent.Option) {
	t.Helper()
	defer goleak.VerifyNone(t)
	s := serve(t)
	policy := aicontent.RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}
	opts = append(opts, aicontent.WithMaxResponseSize(1<<20), aicontent.WithRetryPolicy(policy),
		aicontent.WithRetryBudget(0), aicontent.WithProgress(func(aicontent.Progress) {}))
	c, err := aicontent.NewClient(s.URL+"/tenant", "sk-0123456789", opts...)
	require.NoError(t, err)
	f(t, s, c)
	s.finish(c)
}

func TestCallsThatSucceedOrFailLeakNothing(t *testing.T) {
	leakless(t, func(t *testing.T, s *service, c *aicontent.Client) {
		var group sync.WaitGroup
		for _, kind := range kinds {
			for name, call := range calls(t, c, 1<<20) {
				group.Go(func() {
					err := call.do(t.Context(), aicontent.WithQuery("kind", kind))
					if !call.noBody {
						assert.Equal(t, kind == "", err == nil, "%s, %q: %v", name, kind, err)
					}
				})
			}
		}
		group.Wait()
		assert.NotZero(t, s.connections())
	})
}

func TestCallsThatAreCancelledLeakNothing(t *testing.T) {
	leakless(t, func(t *testing.T, s *service, c *aicontent.Client) {
		for _, kind := range []string{"silent", "slow", "unread"} {
			for name, call := range calls(t, c, 16<<20) {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- call.do(ctx, aicontent.WithQuery("kind", kind), aicontent.WithStallTimeout(0)) }()
				<-s.hanging
				cancel()
				if err := <-ended; !call.noBody {
					assert.ErrorIs(t, err, context.Canceled, "%s, %s", name, kind)
				}
			}
		}
	})
}

// A download has a transport that is separate from the one for the API.
func TestDownloadsLeakNothing(t *testing.T) {
	leakless(t, func(t *testing.T, s *service, c *aicontent.Client) {
		for kind, row := range map[string]struct{ succeeds, hangs bool }{
			"":         {succeeds: true},
			"redirect": {},
			"large":    {succeeds: true},
			"cut":      {},
			"reset":    {},
			"slow":     {hangs: true},
			"silent":   {hangs: true},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := c.Images.Download(ctx, &aicontent.Image{URL: s.URL + "/7?kind=" + kind}, io.Discard)
				ended <- err
			}()
			if row.hangs {
				<-s.hanging
				cancel()
			}
			err := <-ended
			assert.Equal(t, row.succeeds, err == nil, "%q: %v", kind, err)
			cancel()
		}
	})
}

// A Read that hangs is left behind, because nothing can end it, and ends when it returns.
func TestReaderThatHangsLeaksNothingOnceItReturns(t *testing.T) {
	leakless(t, func(t *testing.T, _ *service, c *aicontent.Client) {
		r, w := io.Pipe()
		begun := make(chan struct{})
		go func() {
			_, _ = w.Write(append([]byte("RIFF\x04\x00\x00\x00WAVE"), make([]byte, 4096)...))
			close(begun)
		}()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			params := aicontent.TranscriptionStoreParams{Name: "n", File: aicontent.FileFromReader("a.wav", r)}
			_, err := c.Transcriptions.Store(ctx, params)
			ended <- err
		}()
		<-begun
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
		w.Close()
	})
}
