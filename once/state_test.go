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

func TestListShowsUntilWhenANameIsOpenAndARecordUntilItIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ledger := once.Dir(t.TempDir())
		p := w.processOn(t, ledger, once.WithMaxWait(0))
		assert.Empty(t, list(t, ledger))
		image := p.creates(t, job("job 4711"))
		w.FaultOn(aicontent.TranscriptionsStore, 1, kit.HTMLPage(504))
		_, _, err := p.Transcriptions.Store(p, recording("open"))
		require.Error(t, err)
		now := w.start.Round(0).UTC()
		assert.ElementsMatch(t, []once.State{
			{Collection: "images", Name: "job 4711", Made: now, ID: image.ID},
			{Collection: "transcriptions", Name: "open", Until: now.Add(settle)},
		}, list(t, ledger))
		require.NoError(t, p.Images.Delete(p, "job 4711"))
		assert.Len(t, list(t, ledger), 1)
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
