package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server that is killed while the service works must not pay again when it is started and asked again.
func TestAServerThatIsStartedAgainLooksForWhatTheLastOneSent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		first := startAgent(t, srv, dir, 100, nil)
		srv.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.LateAct(504, settleTime-time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := first.call(ctx, "create_image", lighthouse(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, srv.Records(), "the service is still at work")

		second := startAgent(t, srv, dir, 100, nil)
		c := second.mustCreate(t, "create_image", lighthouse(1))
		assert.False(t, c.Billed)
		assert.Len(t, srv.Records(), 1)

		start := time.Now()
		second.mustCreate(t, "create_image", lighthouse(2))
		assert.Less(t, time.Since(start), time.Second, "what no server has sent is not waited for")
	})
}

// What was refused costs nothing: it neither counts nor is it looked for after a restart.
func TestWhatWasRefusedLeavesNoTrace(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		srv.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.Status(422, `{"message":"Not this."}`))
		startAgent(t, srv, dir, 1, nil).mustFail(t, "create_image", lighthouse(1))
		srv.RefuseConnections(100)
		startAgent(t, srv, dir, 1, nil).mustFail(t, "create_image", lighthouse(1))
		srv.ClearFaults()
		start := time.Now()
		startAgent(t, srv, dir, 1, nil).mustCreate(t, "create_image", lighthouse(1))
		assert.Less(t, time.Since(start), time.Second)
	})
}

func TestTheLimitHoldsAcrossRestartsUntilMidnight(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		time.Sleep(23 * time.Hour)
		first := startAgent(t, srv, dir, 3, nil)
		first.mustCreate(t, "create_image", lighthouse(1))
		// Of the second one nobody knows whether it was created.
		srv.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.HTMLPage(502))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, err := first.call(ctx, "create_image", lighthouse(2))
		require.ErrorIs(t, err, context.DeadlineExceeded)

		second := startAgent(t, srv, dir, 3, nil)
		second.mustCreate(t, "create_image", lighthouse(3))
		const text = "Nothing was created. Create nothing before midnight UTC; what exists is still returned. Reason: "
		for range 2 {
			assert.Contains(t, second.mustFail(t, "create_image", lighthouse(4)), text)
		}
		assert.False(t, second.mustCreate(t, "create_image", lighthouse(1)).Billed, "searches pass")
		assert.Len(t, srv.Records(), 2)

		time.Sleep(time.Hour)
		second.mustCreate(t, "create_image", lighthouse(4))
		assert.Len(t, srv.Records(), 3)
	})
}

// Without its journal, a server does not know what it has spent: it then creates nothing.
func TestNothingIsCreatedWithoutAJournal(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		a := startAgent(t, srv, dir, 100, nil)
		require.NoError(t, os.RemoveAll(dir))
		text := a.mustFail(t, "create_image", lighthouse(1))
		assert.Contains(t, text, "Nothing was created.")
		assert.Empty(t, srv.Records())
	})
}
