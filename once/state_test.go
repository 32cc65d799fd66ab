package once_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func list(t *testing.T, ledger once.Ledger) (states []once.State) {
	t.Helper()
	for state, err := range ledger.(once.Lister).List(t.Context()) {
		require.NoError(t, err)
		states = append(states, state)
	}
	return states
}

func TestListShowsARecordUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	for kind, ledger := range map[string]once.Ledger{"in memory": once.InMemory(), "a folder": once.Dir(t.TempDir())} {
		t.Run(kind, func(t *testing.T) {
			client, err := once.New(kit.NewServer(t).Client(), ledger)
			require.NoError(t, err)
			assert.Empty(t, list(t, ledger))
			before := time.Now()
			image, _, err := client.Images.Store(t.Context(), aicontent.ImageStoreParams{
				Name: "job 4711", Description: "d", Resolution: aicontent.Resolution256x256,
			})
			require.NoError(t, err)
			states := list(t, ledger)
			require.Len(t, states, 1)
			made := states[0].Made
			assert.WithinRange(t, made, before.Add(-time.Second), time.Now().Add(time.Second))
			assert.Equal(t, once.State{Collection: "images", Name: "job 4711", Made: made, ID: image.ID}, states[0])

			require.NoError(t, client.Images.Delete(t.Context(), "job 4711"))
			assert.Empty(t, list(t, ledger))
		})
	}
}

func TestListShowsUntilWhenANameIsOpen(t *testing.T) {
	t.Parallel()
	ledger := once.InMemory()
	srv := kit.NewServer(t)
	srv.FaultOn(kit.TranscriptionsStore, 1, kit.HTMLPage(504))
	client, err := once.New(srv.Client(), ledger, once.WithMaxWait(0))
	require.NoError(t, err)
	_, _, err = client.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
		Name: "job", File: aicontent.FileFromBytes("a.mp3", []byte("ID3 sound")),
	})
	var failed *once.Error
	require.ErrorAs(t, err, &failed)
	states := list(t, ledger)
	require.Len(t, states, 1)
	assert.False(t, states[0].Until.IsZero())
	assert.WithinDuration(t, failed.Until, states[0].Until, time.Minute)
	assert.Equal(t, once.State{Collection: "transcriptions", Name: "job", Until: states[0].Until}, states[0])
}

func TestParseStateRefusesWhatIsNoEntry(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `null`, `{}`, `{"format":1}`, `{"format":3}`, `{"format":2,"made":"yesterday"}`} {
		_, err := once.ParseState([]byte(bad))
		assert.ErrorContains(t, err, "the ledger's entry cannot be read", bad)
	}
}

func TestKeyIsTheNameOfTheFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	srv := kit.NewServer(t)
	client, err := once.New(srv.Client(), once.Dir(folder))
	require.NoError(t, err)
	_, _, err = client.Images.Store(t.Context(), aicontent.ImageStoreParams{
		Name: "job", Description: "d", Resolution: aicontent.Resolution256x256,
	})
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(folder, client.Key("images", "job")))
	require.NoError(t, err)
	assert.Equal(t, client.Key("images", "job"), client.Key("images", " job\n"), "white space around it does not count")
	assert.NotEqual(t, client.Key("images", "job"), client.Key("transcriptions", "job"))

	scoped, err := once.New(srv.Client(), once.InMemory(), once.WithScope("eu"))
	require.NoError(t, err)
	assert.NotEqual(t, client.Key("images", "job"), scoped.Key("images", "job"))
}
