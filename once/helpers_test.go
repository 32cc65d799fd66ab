package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

const (
	settle = 15 * time.Minute // the default
	margin = 2 * time.Minute
)

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

// process is a program that uses the package. Nothing of it reaches the ledger after it was killed.
type process struct {
	*once.Client
	context.Context
	kill context.CancelFunc
}

func (w *world) process(t *testing.T, opts ...once.Option) *process {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	client, err := once.New(w.Client(), &mortal{w.Ledger, ctx}, opts...)
	require.NoError(t, err)
	return &process{client, ctx, kill}
}

// mortal is a ledger as a process sees it that may be killed.
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

// spy counts, and fails as a test wants.
type spy struct {
	once.Ledger
	// fail returns what the n-th Put is to come to, and whether the entry is written all the same.
	fail func(n int, entry string) (written bool, err error)
	// before is called before each Put, with nothing locked; nil for nothing.
	before func(n int, key string, entry []byte, version string)

	mu         sync.Mutex
	gets, puts int
	keys       map[string]bool
	last       string // entry
	version    string // of it
}

func (s *spy) Get(ctx context.Context, key string) ([]byte, string, error) {
	s.mu.Lock()
	s.gets++
	if s.keys == nil {
		s.keys = map[string]bool{}
	}
	s.keys[key] = true
	s.mu.Unlock()
	return s.Ledger.Get(ctx, key)
}

func (s *spy) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	s.mu.Lock()
	s.puts++
	n := s.puts
	s.mu.Unlock()
	if s.before != nil {
		s.before(n, key, entry, version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if written, err := s.fail(n, string(entry)); err != nil {
			if written {
				if v, err := s.Ledger.Put(ctx, key, entry, version); err == nil {
					s.last, s.version = string(entry), v
				}
			}
			return "", err
		}
	}
	v, err := s.Ledger.Put(ctx, key, entry, version)
	if err == nil {
		s.last, s.version = string(entry), v
	}
	return v, err
}

// write puts an entry in place of the one that is there, as another process would.
func (w *world) write(t *testing.T, name, entry string) {
	t.Helper()
	key := w.key(t, name)
	_, version, err := w.Ledger.Ledger.Get(t.Context(), key)
	require.NoError(t, err)
	_, err = w.Ledger.Ledger.Put(t.Context(), key, []byte(entry), version)
	require.NoError(t, err)
}

// key is the key of an image's name.
func (w *world) key(t *testing.T, name string) string {
	t.Helper()
	other := &spy{Ledger: once.InMemory()}
	client, err := once.New(w.Client(), other)
	require.NoError(t, err)
	_, err = client.Images.Find(t.Context(), name)
	require.Error(t, err)
	require.Len(t, other.keys, 1)
	for key := range other.keys {
		return key
	}
	return ""
}

// count is how many records there are, and stores how many create requests the service got.
func (w *world) count() (n int) {
	for _, r := range w.Records() {
		if !r.Deleted {
			n++
		}
	}
	return n
}

func (w *world) requests(op kit.Operation) (n int) {
	for _, r := range w.Requests() {
		if r.Operation == op {
			n++
		}
	}
	return n
}

func job(name string) aicontent.ImageStoreParams {
	return aicontent.ImageStoreParams{Name: name, Description: "d", Resolution: aicontent.Resolution256x256}
}

func recording(name string) aicontent.TranscriptionStoreParams {
	return aicontent.TranscriptionStoreParams{Name: name, File: aicontent.FileFromBytes("a.mp3", []byte("ID3 sound"))}
}

// lagging makes lists show nothing until the time is over.
func lagging(until func() time.Time) kit.Option {
	return kit.OnResponse(func(r *kit.Response) {
		if r.Request.Method == http.MethodGet && r.Request.RecordID == "" && time.Now().Before(until()) {
			r.SetJSON(map[string]any{"data": []any{}})
		}
	})
}

// require1 fails unless there is one record, and no request was refused for what it says.
func (w *world) require1(t *testing.T, msg ...any) {
	t.Helper()
	require.Equal(t, 1, w.count(), msg...)
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
