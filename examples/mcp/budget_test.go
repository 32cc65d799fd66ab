package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACallThatCreatedNothingIsNeitherCountedNorLookedFor(t *testing.T) {
	for name, fault := range map[string]aicontenttest.Fault{
		"refused":  aicontenttest.Status(422, `{"message":"Not this."}`),
		"cut off":  aicontenttest.CloseMidUpload(64),
		"too busy": aicontenttest.Status(429, `{"message":"Too Many Attempts."}`),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
				dir, root := t.TempDir(), recordings(t, 1)
				require.NoError(t, root.WriteFile("long.wav", make([]byte, 500_000), 0o600))
				transcribe := map[string]any{"path": "long.wav"}
				srv.FaultOn(aicontent.TranscriptionsStore, 100, fault)
				text := startAgent(t, srv, dir, 1, root).mustFail(t, "transcribe_file", transcribe)
				assert.Contains(t, text, "Nothing was created.")
				srv.ClearFaults()
				start := time.Now()
				startAgent(t, srv, dir, 1, root).mustCreate(t, "transcribe_file", transcribe)
				assert.Less(t, time.Since(start), time.Second)
			})
		})
	}
}

func TestTheLimitHoldsAcrossRestartsUntilMidnight(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		time.Sleep(23 * time.Hour)
		first := startAgent(t, srv, dir, 3, nil)
		first.mustCreate(t, "create_image", lighthouse(1))
		// Of the second one nobody knows whether it was created.
		srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.HTMLPage(502))
		first.mustTimeOut(t, time.Millisecond, lighthouse(2))

		second := startAgent(t, srv, dir, 3, nil)
		second.mustCreate(t, "create_image", lighthouse(3))
		const text = "the limit of 3 records a day is reached: create nothing before midnight UTC"
		for range 2 {
			said := second.mustFail(t, "create_image", lighthouse(4))
			assert.True(t, strings.HasPrefix(said, "Nothing was created. "), said)
			assert.Contains(t, said, text)
			assert.Regexp(t, `Call again with the same arguments in 1h0m0s\.`, said)
		}
		assert.False(t, second.mustCreate(t, "create_image", lighthouse(1)).Billed, "searches pass")
		assert.Len(t, srv.Records(), 2)

		time.Sleep(time.Hour)
		second.mustCreate(t, "create_image", lighthouse(4))
		assert.Len(t, srv.Records(), 3)
	})
}

// full is a ledger on a full disk.
type full struct{ once.Ledger }

func (full) Put(context.Context, string, []byte, string) (string, error) { return "", syscall.ENOSPC }

func TestNothingIsCreatedOrCountedIfTheJournalCannotBeWritten(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		a := startAgent(t, srv, dir, 1, nil, full{once.InMemory()})
		for range 3 {
			text := a.mustFail(t, "create_image", lighthouse(1))
			assert.True(t, strings.HasPrefix(text, "Nothing was created. Call again"), text)
			assert.Contains(t, text, "Reason: the ledger failed.")
		}
		a = startAgent(t, srv, dir, 1, nil)
		days := filepath.Join(dir, "days")
		require.NoError(t, os.Remove(days))
		assert.Contains(t, a.mustFail(t, "create_image", lighthouse(1)), "Nothing was created.")
		assert.Zero(t, requests(srv, aicontent.ImagesStore))
		require.NoError(t, os.Mkdir(days, 0o700))
		assert.True(t, a.mustCreate(t, "create_image", lighthouse(1)).Billed)
	})
}
