package once_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/once"
)

const (
	settle = 15 * time.Minute // the default
	margin = 2 * time.Minute
)

// midnight is the time at which every bubble begins.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// bubble runs a test in virtual time, with a service and a ledger that processes share.
func bubble(t *testing.T, f func(t *testing.T, w *world), opts ...kit.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Server: kit.NewServer(t, append(opts, kit.InMemoryNetwork(), kit.BasePath("/tenant"))...)}
		w.Ledger, w.start = &spy{Ledger: once.InMemory()}, time.Now()
		f(t, w)
	})
}

// bubbleOf is bubble in a subtest.
func bubbleOf(t *testing.T, name string, f func(t *testing.T, w *world), opts ...kit.Option) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f, opts...) })
}

type world struct {
	*kit.Server
	Ledger *spy
	start  time.Time
}

// write replaces the entry of an image, as another process would.
func (w *world) write(t *testing.T, name, entry string) {
	t.Helper()
	key := w.processOn(t, w.Ledger).Key("images", name)
	_, version, err := w.Ledger.Ledger.Get(t.Context(), key)
	require.NoError(t, err)
	entry = strings.Replace(entry, midnight.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339Nano), 1) // wrote
	_, err = w.Ledger.Ledger.Put(t.Context(), key, []byte(entry), version)
	require.NoError(t, err)
}

// requests counts the requests that the service received.
func (w *world) requests(op aicontent.Operation) (n int) {
	for _, r := range w.Requests() {
		if r.Operation == op {
			n++
		}
	}
	return n
}

// requireRecords fails unless this many records exist.
func (w *world) requireRecords(t *testing.T, want int) {
	t.Helper()
	require.Equal(t, want, len(w.Images())+len(w.Transcriptions()))
}

// process is a program that uses the package. Nothing of it reaches the ledger after it was killed.
type process struct {
	*once.Client
	context.Context
	kill context.CancelFunc
}

func (w *world) process(t *testing.T, opts ...once.Option) *process {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	return &process{w.processOn(t, &mortal{w.Ledger, ctx}, opts...).Client, ctx, kill}
}

// processOn is a process with another ledger.
func (w *world) processOn(t *testing.T, ledger once.Ledger, opts ...once.Option) *process {
	t.Helper()
	client, err := once.New(w.Client(), ledger, opts...)
	require.NoError(t, err)
	return &process{Client: client, Context: t.Context()}
}

// within is the process with a context that ends after a time.
func (p *process) within(t *testing.T, d time.Duration) *process {
	ctx, cancel := context.WithTimeout(p, d)
	t.Cleanup(cancel)
	return &process{p.Client, ctx, p.kill}
}

// creates stores an image, and requires that this call created it.
func (p *process) creates(t *testing.T, params aicontent.ImageStoreParams) *aicontent.Image {
	t.Helper()
	image, found, err := p.Images.Store(p, params)
	require.NoError(t, err)
	require.False(t, found, "it existed")
	return image
}

// finds stores an image, and requires that it existed.
func (p *process) finds(t *testing.T, params aicontent.ImageStoreParams) *aicontent.Image {
	t.Helper()
	image, found, err := p.Images.Store(p, params)
	require.NoError(t, err)
	require.True(t, found, "this call created it")
	return image
}

// fails stores an image, and returns the error, which must have the outcome.
func (p *process) fails(
	t *testing.T, want string, params aicontent.ImageStoreParams, opts ...aicontent.CallOption,
) *once.Error {
	t.Helper()
	_, _, err := p.Images.Store(p, params, opts...)
	require.Equal(t, want, outcome(err), "%v", err)
	var failed *once.Error
	require.ErrorAs(t, err, &failed)
	return failed
}

// mortal is the ledger of a process that may be killed.
type mortal struct {
	once.Ledger
	life context.Context
}

var errKilled = errors.New("the process was killed")

func (m *mortal) Get(ctx context.Context, key string) ([]byte, string, error) {
	if m.life.Err() != nil {
		return nil, "", errKilled
	}
	return m.Ledger.Get(ctx, key)
}

func (m *mortal) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if m.life.Err() != nil {
		return "", errKilled
	}
	return m.Ledger.Put(ctx, key, entry, version)
}

// spy counts calls, and fails if a test wants it.
type spy struct {
	once.Ledger
	// fail returns the error of the n-th Put, and whether the entry is written all the same.
	fail func(n int, entry string) (written bool, err error)
	// before is called before each Put, without a lock.
	before func(n int, key, version string)

	mu         sync.Mutex
	gets, puts int
	last       string // entry
}

func (s *spy) Get(ctx context.Context, key string) ([]byte, string, error) {
	s.mu.Lock()
	s.gets++
	s.mu.Unlock()
	return s.Ledger.Get(ctx, key)
}

func (s *spy) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	s.mu.Lock()
	s.puts++
	n := s.puts
	s.mu.Unlock()
	if s.before != nil {
		s.before(n, key, version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	if s.fail != nil {
		var written bool
		if written, failed = s.fail(n, string(entry)); failed != nil && !written {
			return "", failed
		}
	}
	next, err := s.Ledger.Put(ctx, key, entry, version)
	if err == nil {
		s.last = string(entry)
	}
	return next, cmp.Or(failed, err)
}

var errDisk = errors.New("disk full")

// full fails each Put.
func full(int, string) (written bool, err error) { return false, errDisk }

// funcs is a ledger made of two functions.
type funcs struct {
	get func(context.Context, string) ([]byte, string, error)
	put func(context.Context, string, []byte, string) (string, error)
}

func (f *funcs) Get(ctx context.Context, key string) ([]byte, string, error) { return f.get(ctx, key) }
func (f *funcs) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	return f.put(ctx, key, entry, version)
}

// entryOf is the entry that another call has written for the image a.
func entryOf(members string) string {
	return `{"format":2,"collection":"images","name":"a","call":"other","wrote":"2000-01-01T00:00:00Z"` + members + `}`
}

// openUntil is the entry of another call whose request is open.
func openUntil(minutes int) string {
	return entryOf(fmt.Sprintf(`,"until":"2000-01-01T00:%02d:00Z"`, minutes))
}

func job(name string) aicontent.ImageStoreParams {
	return aicontent.ImageStoreParams{Name: name, Description: "d", Resolution: aicontent.Resolution256x256}
}

// otherJob has the same name as job, and another form.
func otherJob(name string) aicontent.ImageStoreParams {
	params := job(name)
	params.Description = "another"
	return params
}

// listed is the image that job describes, stored by another program.
func listed(name string) aicontent.Image {
	return aicontent.Image{Name: name, Description: "d", Resolution: "256x256"}
}

func recording(name string) aicontent.TranscriptionStoreParams {
	return aicontent.TranscriptionStoreParams{Name: name, File: aicontent.FileFromBytes("a.mp3", []byte("ID3 sound"))}
}

// emptyList is a list without the record.
var emptyList = kit.Status(200, `{"data":[]}`)

// lagging makes lists empty for a time.
func lagging(d time.Duration) kit.Option {
	return kit.OnResponse(func(r *kit.Response) {
		if r.Request.Method == http.MethodGet && r.Request.RecordID == "" && time.Since(midnight) < d {
			r.SetJSON(map[string]any{"data": []any{}})
		}
	})
}

// done is the second half of an attempt hook.
type done = func(aicontent.AttemptResult)

// afterStore is a middleware that replaces the response to a create request.
func afterStore(replace func(*http.Response) (*http.Response, error)) aicontent.Option {
	return aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if req.Method == http.MethodPost && err == nil {
				return replace(resp)
			}
			return resp, err
		})
	})
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	retryable := ""
	if aicontent.Retryable(err) {
		retryable = ", retryable"
	}
	return fmt.Sprint(aicontent.OutcomeOf(err), retryable)
}
