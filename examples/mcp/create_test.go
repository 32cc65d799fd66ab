package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requests counts the requests of an operation.
func requests(srv *aicontenttest.Server, op aicontenttest.Operation) int {
	return len(slices.DeleteFunc(srv.Requests(), func(r aicontenttest.Request) bool { return r.Operation != op }))
}

func TestAServerThatIsStartedAgainLooksForWhatTheLastOneSent(t *testing.T) {
	for name, c := range map[string]struct {
		fault  aicontenttest.Fault
		billed bool
		within time.Duration
	}{
		"and finds it": {aicontenttest.LateAct(504, 4*time.Minute), false, 4 * time.Minute},
		"and creates what did not arrive": {
			aicontenttest.Stall(aicontenttest.BeforeRead), true, settleTime + 2*time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
				before, after := t.TempDir(), filepath.Join(t.TempDir(), "after")
				srv.FaultOn(aicontenttest.ImagesStore, 1, c.fault)
				first := startAgent(t, srv, before, 100, nil)
				go func() { _, _, _ = first.call(t.Context(), "create_image", lighthouse(1)) }()
				for requests(srv, aicontenttest.ImagesStore) == 0 {
					time.Sleep(time.Millisecond)
				}
				require.NoError(t, os.CopyFS(after, os.DirFS(before)))

				start := time.Now()
				second := startAgent(t, srv, after, 100, nil)
				text := second.mustFail(t, "create_image", lighthouse(1))
				assert.Regexp(t, `^It may have been created\. Call again with the same arguments in 16s\. .* Its name: mcp-lighthouse-1-`, text)
				assert.LessOrEqual(t, time.Since(start), patience+time.Second)
				second.mustCreate(t, "create_image", lighthouse(2)) // what no server has sent is not waited for
				assert.LessOrEqual(t, time.Since(start), patience+time.Second)
				created, ok := second.obey(t, "create_image", lighthouse(1))
				require.True(t, ok)
				assert.Equal(t, c.billed, created.Billed)
				assert.Less(t, time.Since(start), c.within+2*time.Minute, "agents pause for a minute")
				time.Sleep(time.Hour)
				assert.Len(t, srv.Records(), 2)
			})
		})
	}
}

func TestAnAgentThatLosesPatienceGetsTheRecordOfItsFirstCall(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		start := time.Now()
		var calls int
		for ; ; calls++ {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			text, isError, err := a.call(ctx, "create_image", lighthouse(1))
			cancel()
			if err == nil {
				require.False(t, isError, text)
				break
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.Equal(t, 5, calls)
		assert.InDelta(t, 160, time.Since(start).Seconds(), 5)
		assert.Len(t, srv.Records(), 1)
		assert.Equal(t, 1, requests(srv, aicontenttest.ImagesStore))
		assert.Equal(t, 1, requests(srv, aicontenttest.ImagesList), "nothing was cut off, and so nothing looked for")
	}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, 160*time.Second))
}

func TestACallThatIsCancelledWhileItWaitsSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a, start := startAgent(t, srv, t.TempDir(), 100, nil), time.Now()
		srv.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.HTMLPage(502))
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, _, err := a.call(ctx, "create_image", lighthouse(1))
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		// Soon it is certain that there is no record.
		time.Sleep(time.Until(start.Add(settleTime - 10*time.Second)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := a.call(ctx, "create_image", lighthouse(1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Hour)
		assert.Equal(t, 1, requests(srv, aicontenttest.ImagesStore))
		assert.True(t, a.mustCreate(t, "create_image", lighthouse(1)).Billed)
	})
}

func TestServersOfOneJournalCreateEachRecordOnceAndKeepTheLimit(t *testing.T) {
	const servers, pictures, limit = 4, 6, 4
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		var mu sync.Mutex
		ids, refused := map[int]map[string]bool{}, 0
		for range servers {
			a := startAgent(t, srv, dir, limit, nil)
			for i := range pictures {
				wg.Go(func() {
					c, ok := a.obey(t, "create_image", lighthouse(i))
					mu.Lock()
					defer mu.Unlock()
					if !ok {
						refused++
						return
					}
					if ids[i] == nil {
						ids[i] = map[string]bool{}
					}
					ids[i][c.Record.ID] = true
				})
			}
		}
		wg.Wait()
		assert.Len(t, srv.Records(), limit)
		assert.Len(t, ids, limit)
		for _, list := range ids {
			assert.Len(t, list, 1)
		}
		assert.Equal(t, servers*(pictures-limit), refused)
		synctest.Wait()
	}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, 10*time.Second))
}
