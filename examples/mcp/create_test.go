package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requests counts the requests of an operation.
func requests(srv *aicontenttest.Server, op aicontent.Operation) int {
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
				srv.FaultOn(aicontent.ImagesStore, 1, c.fault)
				first := startAgent(t, srv, before, 100, nil)
				first.begin(t.Context())
				for requests(srv, aicontent.ImagesStore) == 0 {
					time.Sleep(time.Millisecond)
				}
				require.NoError(t, os.CopyFS(after, os.DirFS(before)))

				start := time.Now()
				second := startAgent(t, srv, after, 100, nil)
				text := second.mustFail(t, "create_image", lighthouse(1))
				const wait = `^It may have been created\. Call again with the same arguments in 16s\. `
				assert.Regexp(t, wait+`.* Its name: mcp-lighthouse-1-`, text)
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
		for range 5 {
			a.mustTimeOut(t, 30*time.Second, lighthouse(1))
		}
		a.mustCreate(t, "create_image", lighthouse(1))
		assert.InDelta(t, 160, time.Since(start).Seconds(), 5)
		assert.Len(t, srv.Records(), 1)
		assert.Equal(t, 1, requests(srv, aicontent.ImagesStore))
		assert.Equal(t, 1, requests(srv, aicontent.ImagesList), "nothing was cut off, and so nothing looked for")
	}, aicontenttest.LatencyOn(aicontent.ImagesStore, 160*time.Second))
}

func TestACallThatIsCancelledWhileItWaitsSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a, start := startAgent(t, srv, t.TempDir(), 100, nil), time.Now()
		srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.HTMLPage(502))
		for range 3 {
			a.mustTimeOut(t, 10*time.Second, lighthouse(1))
		}
		// Soon it is certain that there is no record.
		time.Sleep(time.Until(start.Add(settleTime - 10*time.Second)))
		a.mustTimeOut(t, time.Second, lighthouse(1))
		time.Sleep(time.Hour)
		assert.Equal(t, 1, requests(srv, aicontent.ImagesStore))
		assert.True(t, a.mustCreate(t, "create_image", lighthouse(1)).Billed)
	})
}

func TestARecordIsReturnedWhenItIsWhole(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, recordings(t, 1))
		assert.NotEmpty(t, a.mustCreate(t, "create_image", lighthouse(1)).Record.URL)
		transcription := a.mustCreate(t, "transcribe_file", map[string]any{"path": "0.wav"})
		assert.NotEmpty(t, transcription.Record.Result)
	}, aicontenttest.LateResult)
}

func TestARecordThatStaysIncompleteIsReturnedAsIncomplete(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		for _, billed := range []bool{true, false} {
			text := a.must(t, "create_image", lighthouse(1))
			assert.Contains(t, text, "The same call looks again, and costs nothing.")
			assert.Contains(t, text, fmt.Sprintf(`"billed_by_this_call":%t`, billed))
		}
	}, aicontenttest.NullURLs)
}
