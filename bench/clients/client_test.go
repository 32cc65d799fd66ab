package clients_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
	"github.com/aicontent/aicontent-go/bench/service"
)

// A client that does less than the others would look fast: each must do every call in full.
func TestEachClientDoesTheSameWork(t *testing.T) {
	const records = 250
	audio := filepath.Join(t.TempDir(), "audio.wav")
	content := append([]byte("RIFF\xff\xff\xff\xffWAVEfmt "), make([]byte, 100_000)...)
	require.NoError(t, os.WriteFile(audio, content, 0o600))
	for _, sdk := range clients.All() {
		for name, transport := range map[string]http.RoundTripper{
			"default transport": nil, "given transport": &http.Transport{},
		} {
			t.Run(sdk.Name+", "+name, func(t *testing.T) {
				var uploaded atomic.Int64
				handler := service.Handler(records)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					assert.Contains(t, req.Header.Get("Authorization"), "bench-key", "sent without the key")
					uploaded.Add(max(req.ContentLength, 0))
					handler.ServeHTTP(w, req)
				}))
				defer server.Close()
				c, err := sdk.New(clients.Settings{URL: server.URL, Transport: transport})
				require.NoError(t, err)
				require.NoError(t, c.Show(t.Context()))
				n, err := c.List(t.Context())
				require.NoError(t, err)
				assert.Equal(t, service.PageSize, n, "records on a page")
				n, err = c.Walk(t.Context())
				require.NoError(t, err)
				assert.Equal(t, records, n, "records of a walk, whose last page is not full")
				require.NoError(t, c.Create(t.Context(), "one"))
				require.NoError(t, c.Upload(t.Context(), audio))
				assert.GreaterOrEqual(t, uploaded.Load(), int64(len(content)), "an upload that leaves bytes out")
			})
		}
	}
}

// limitedOnce responds to the first create with 429 and the next with success; look-ups find nothing.
type limitedOnce struct {
	wire    service.Wire
	creates int
}

func (l *limitedOnce) RoundTrip(req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	switch {
	case req.Method == http.MethodGet:
		_, _ = recorder.WriteString(`{"data":[]}`)
	case l.creates > 0:
		l.creates++
		_, _ = recorder.Write(service.Created(l.wire, 8, false))
	default:
		l.creates++
		recorder.Header().Set("Retry-After", "30")
		recorder.WriteHeader(http.StatusTooManyRequests)
		_, _ = recorder.WriteString(service.Refusal(l.wire, http.StatusTooManyRequests))
	}
	resp := recorder.Result()
	resp.Request = req
	return resp, nil
}

// Retries that an adapter forgot to set would make an SDK look worse than it is.
func TestRetriesAsDocumentedSaveARateLimitedCreate(t *testing.T) {
	for _, sdk := range clients.All() {
		if sdk.Retries == "" {
			continue
		}
		t.Run(sdk.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &limitedOnce{wire: sdk.Wire}
				c, err := sdk.New(clients.Settings{URL: "http://127.0.0.1:1", Transport: transport, Retries: true})
				require.NoError(t, err)
				require.NoError(t, c.Create(t.Context(), "one"))
				assert.Equal(t, 2, transport.creates)
			})
		})
	}
}

func TestAnErrorIsAnErrorForEachClient(t *testing.T) {
	for _, sdk := range clients.All() {
		t.Run(sdk.Name, func(t *testing.T) {
			server := httptest.NewServer(http.NotFoundHandler())
			defer server.Close()
			c, err := sdk.New(clients.Settings{URL: server.URL})
			require.NoError(t, err)
			assert.Error(t, c.Show(t.Context()))
			assert.Error(t, c.Create(t.Context(), "one"))
		})
	}
}

func TestNamedRefusesWhatIsNotMeasured(t *testing.T) {
	_, err := clients.Named("axios")
	assert.ErrorContains(t, err, "axios")
}
