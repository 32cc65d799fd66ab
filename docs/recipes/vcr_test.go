package recipes

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// recorded returns a client that replays a recording, or makes it if there is none.
func recorded(t *testing.T, recording, baseURL, apiKey string) *aicontent.Client {
	t.Helper()
	record := func(next http.RoundTripper) http.RoundTripper {
		vcr, err := recorder.New(recording,
			recorder.WithMode(recorder.ModeRecordOnce),
			recorder.WithRealTransport(next),
			recorder.WithSkipRequestLatency(true),
			// A form's boundary differs each time, and the host may.
			recorder.WithMatcher(func(r *http.Request, recorded cassette.Request) bool {
				return r.Method == recorded.Method && strings.HasSuffix(recorded.URL, r.URL.RequestURI())
			}),
			recorder.WithHook(func(i *cassette.Interaction) error {
				i.Request.Headers.Del("Authorization") // the recording is committed
				return nil
			}, recorder.BeforeSaveHook),
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := vcr.Stop(); err != nil {
				t.Error(err)
			}
		})
		return vcr
	}
	client, err := aicontent.NewClient(baseURL, apiKey, aicontent.WithMiddleware(record))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestRecordedCallsAreReplayedAndHoldNoKey(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "lighthouse")
	work := func(t *testing.T, baseURL, key string) {
		client := recorded(t, recording, baseURL, key)
		stored, err := client.Images.Store(t.Context(), image)
		require.NoError(t, err)
		shown, err := client.Images.Show(t.Context(), stored.ID)
		require.NoError(t, err)
		assert.Equal(t, "Lighthouse", shown.Name)
		_, err = client.Images.Show(t.Context(), "404")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		require.NoError(t, client.Images.Delete(t.Context(), stored.ID))
	}
	t.Run("record", func(t *testing.T) {
		srv := aicontenttest.NewServer(t)
		work(t, srv.URL, srv.APIKey)
		require.Len(t, srv.Requests(), 4)
	})
	text, err := os.ReadFile(recording + ".yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), "Lighthouse")
	require.NotContains(t, string(text), "Authorization")
	t.Run("replay", func(t *testing.T) {
		work(t, "https://content.example.com", "any-other-key")
	})
}
