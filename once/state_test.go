package once_test

import (
	"path/filepath"
	"testing"

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
	for kind, ledger := range map[string]once.Ledger{"in memory": once.InMemory(), "a folder": once.Dir(t.TempDir())} {
		bubbleOf(t, kind, func(t *testing.T, w *world) {
			p := w.processOn(t, ledger)
			assert.Empty(t, list(t, ledger))
			image := p.creates(t, job("job 4711"))
			assert.Equal(t, []once.State{
				{Collection: "images", Name: "job 4711", Made: w.start.Round(0).UTC(), ID: image.ID},
			}, list(t, ledger))
			require.NoError(t, p.Images.Delete(p, "job 4711"))
			assert.Empty(t, list(t, ledger))
		})
	}
}

func TestListShowsUntilWhenANameIsOpen(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.TranscriptionsStore, 1, kit.HTMLPage(504))
		p := w.process(t, once.WithMaxWait(0))
		_, _, err := p.Transcriptions.Store(p, recording("job"))
		require.Error(t, err)
		assert.Equal(t, []once.State{
			{Collection: "transcriptions", Name: "job", Until: w.start.Add(settle).Round(0).UTC()},
		}, list(t, w.Ledger.Ledger))
	})
}

func TestKeyIsTheNameOfTheFile(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		p := w.processOn(t, once.Dir(folder))
		p.creates(t, job("a"))
		key := p.Key("images", "a")
		assert.FileExists(t, filepath.Join(folder, key))
		assert.Equal(t, key, p.Key("images", " a\n"), "white space around it does not count")
		assert.NotEqual(t, key, p.Key("transcriptions", "a"))
		assert.NotEqual(t, key, w.process(t, once.WithScope("eu")).Key("images", "a"))
	})
}
