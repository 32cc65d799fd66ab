package once_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// The double click: the list does not show the record yet, but the ledger knows it.
func TestStoreRemembersSuccess(t *testing.T) {
	var until time.Time
	bubble(t, func(t *testing.T, w *world) {
		until = time.Now().Add(time.Hour)
		p := w.process(t)
		image, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)

		again, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, image.ID, again.ID)

		restarted := w.process(t)
		again, found, err = restarted.Images.Store(restarted, job(" a\r\n"))
		require.NoError(t, err, "white space and line breaks make no other name")
		assert.True(t, found)
		assert.Equal(t, image.ID, again.ID)
		w.require1(t)
	}, lagging(func() time.Time { return until }))
}

func TestStoreOfANameWithInvisibleEndsIsNotSentTwiceAfterAGatewayTimeout(t *testing.T) {
	for _, name := range []string{"a\u200b", "\ufeffa", "a\u2060 \n", "\x00a\u00ad"} {
		t.Run(fmt.Sprintf("%+q", name), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.FaultOn(kit.ImagesStore, 1, kit.ActThenStatus(504))
				p := w.process(t)
				image, found, err := p.Images.Store(p, job(name))
				require.NoError(t, err)
				assert.False(t, found)
				assert.Equal(t, "a", image.Name)
				again, found, err := p.Images.Store(p, job("a"))
				require.NoError(t, err)
				assert.True(t, found)
				assert.Equal(t, image.ID, again.ID)
				w.require1(t)
			})
		})
	}
}

func TestANameOfInvisibleCharactersIsRequired(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, _, err := p.Images.Store(p, job("\u200b\ufeff"))
		require.ErrorContains(t, err, "is required")
		_, err = p.Images.Find(p, "\u200b\ufeff")
		require.ErrorContains(t, err, "is required")
		assert.Zero(t, w.requests(kit.ImagesStore)+w.requests(kit.ImagesList))
	})
}

// A service trims names, and so does every search: a name with an invisible character at an end is not another one.
func TestANameIsTheSameWithoutInvisibleCharactersAtItsEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.ActThenStatus(504))
		image, _, err := p.Images.Store(p, job("\ufeffa\u200b"))
		require.NoError(t, err)
		again, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, image.ID, again.ID)
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
		_, _, err = p.Images.Store(p, job("\u200b \ufeff"))
		require.ErrorIs(t, err, aicontent.ErrInvalid)
	})
}

func TestStoreAtOnce(t *testing.T) {
	var until time.Time
	bubble(t, func(t *testing.T, w *world) {
		until = time.Now().Add(time.Hour)
		p, q := w.process(t), w.process(t)
		var wg sync.WaitGroup
		created := 0
		var mu sync.Mutex
		for i := range 8 {
			client := []*process{p, q}[i%2]
			wg.Go(func() {
				_, found, err := client.Images.Store(client, job("a"))
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				if !found {
					created++
				}
			})
		}
		wg.Wait()
		assert.Equal(t, 1, created, "one call created it, and says so")
		w.require1(t)
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
	}, lagging(func() time.Time { return until }), kit.Latency(3*time.Second))
}

// A killed process remembers nothing, but the ledger does, and the next one waits for what was sent.
func TestStoreAfterACrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		time.AfterFunc(2*time.Second, p.kill)
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err))
		assert.Zero(t, w.count(), "the service is still drawing")

		p = w.process(t)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found, "this call billed nothing")
		w.require1(t)
	}, kit.LatencyOn(kit.ImagesStore, 9*time.Minute))
}

// A service that dropped the request leaves a name that is stored again, but not before the time is over.
func TestStoreAfterACrashThatLeftNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(kit.ImagesStore, 1, kit.Stall(kit.BeforeRead))
		p := w.process(t)
		time.AfterFunc(2*time.Second, p.kill)
		_, _, err := p.Images.Store(p, job("a"))
		require.Error(t, err)

		p = w.process(t)
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, margin+settle, time.Since(w.start), "from the note on")
		w.require1(t)
	})
}

// A restart begins no wait anew.
func TestRestartsProlongNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(kit.ImagesStore, 1, kit.Stall(kit.BeforeRead))
		for n := 0; ; n++ {
			require.LessOrEqual(t, time.Since(w.start), margin+settle, "the wait does not end")
			p := w.process(t)
			timer := time.AfterFunc(1100*time.Millisecond+time.Duration(n%7)*100*time.Millisecond, p.kill)
			_, found, err := p.Images.Store(p, job("a"))
			timer.Stop()
			if err == nil {
				assert.False(t, found)
				break
			}
		}
		w.require1(t)
	})
}

// What was created is never sent again, whatever lists show, until somebody frees the name.
func TestStoreAfterDone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.Status(201, ""))
		for n := range 3 {
			_, _, err := p.Images.Store(p, job("a"))
			require.Equal(t, "executed", outcome(err), "call %d: %v", n, err)
			assert.ErrorContains(t, err, "Delete frees the name")
		}
		assert.Equal(t, 1, w.requests(kit.ImagesStore))

		require.NoError(t, p.Images.Delete(p, "a"))
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, 2, w.requests(kit.ImagesStore))
	})
}

// A proxy gives up after a minute, and the record is there after eight: no setting is needed.
func TestStoreOfASlowService(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, 8*time.Minute))
		image, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found, "this call created it")
		assert.Equal(t, "a", image.Name)
		w.require1(t)
		assert.Less(t, time.Since(w.start), 9*time.Minute)
		assert.Contains(t, w.Ledger.last, `"id"`)
	})
}

// Where nothing came of it the call does not send again: whoever wants more calls again.
func TestStoreSendsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "not executed, retryable", outcome(err), "%v", err)
		assert.Equal(t, settle, time.Since(w.start), "no other pause comes on top")
		assert.Equal(t, 1+35, w.requests(kit.ImagesList), "as the package doc says")
		assert.NotContains(t, w.Ledger.last, `"form"`, "the name is anybody's")
		assert.Equal(t, 1, w.requests(kit.ImagesStore))

		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		w.require1(t)
	})
}

// A service may change all that it stores, even the name: by its ID the record is the same.
func TestStoreOfARewrittenRecord(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		params := aicontent.ImageStoreParams{
			Name: "R&D", Description: strings.Repeat("a lighthouse ", 100), Resolution: "256x256", Style: "pixel_art",
		}
		var first *aicontent.Image
		for range 3 {
			p := w.process(t)
			image, found, err := p.Images.Store(p, params)
			require.NoError(t, err)
			assert.NotEqual(t, "R&D", image.Name)
			assert.Equal(t, first != nil, found)
			if first != nil {
				assert.True(t, first.Equal(*image))
			}
			first = image
		}
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
	}, kit.Rewritten)
}

// A service may do all that the kit knows to the record, while the process is killed once a minute: it is made once, and
// found whole.
func TestStoreOnAnOddService(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(kit.TranscriptionsStore, 1, kit.LateAct(504, 3*time.Minute))
		var text *aicontent.Transcription
		for text == nil {
			require.Less(t, time.Since(w.start), settle)
			p := w.process(t)
			timer := time.AfterFunc(50*time.Second, p.kill)
			text, _, _ = p.Transcriptions.Store(p, recording("R&D"))
			timer.Stop()
		}
		assert.NotEmpty(t, text.Result)
		p := w.process(t)
		again, found, err := p.Transcriptions.Store(p, recording("R&D"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, text.ID, again.ID)
		w.require1(t)
	}, kit.LateResult, kit.LaggingList)
}

// A record may be listed before its text is there. Success means that it can be used.
func TestStoreWaitsForTheText(t *testing.T) {
	var ready time.Time
	hide := kit.OnResponse(func(r *kit.Response) {
		body, _ := r.JSON().(map[string]any)
		data, ok := body["data"].(map[string]any)
		if ok && time.Now().Before(ready) {
			data["result"] = nil
			r.SetJSON(body)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		ready = time.Now().Add(2 * time.Minute)
		p := w.process(t)
		w.FaultOn(kit.TranscriptionsStore, 1, kit.ActThenStatus(504))
		time.AfterFunc(time.Minute, p.kill)
		_, _, _ = p.Transcriptions.Store(p, recording("a"))

		p = w.process(t)
		text, found, err := p.Transcriptions.Store(p, recording("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.NotEmpty(t, text.Result, "after a restart, too")
		assert.Less(t, time.Since(w.start), 4*time.Minute)
		w.require1(t)

		// One whose text never comes is returned as it is when the time is over.
		w.FaultOn(kit.TranscriptionsStore, 1, kit.ActThenStatus(504))
		start := time.Now()
		ready = start.Add(time.Hour)
		text, _, err = p.Transcriptions.Store(p, recording("b"))
		require.NoError(t, err)
		assert.Empty(t, text.Result)
		assert.Equal(t, settle, time.Since(start))
	}, hide)
}

// One search that fails decides nothing: it is repeated while a request is open, and otherwise the same call may be made
// again. Only a refusal, and lists without names, are final.
func TestAFailedSearchIsFinalForAPaidRecordOnlyIfItIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		fault             kit.Fault
		blank, afterwards string
	}{
		"login page": {kit.RedirectTo(302, "https://content.example.com/login"), "not executed, retryable", "ok"},
		"401":        {kit.Status(401, `{}`), "not executed, retryable", "ok"},
		"firewall":   {kit.HTMLPage(403), "not executed, retryable", "ok"},
		"403":        {kit.Status(403, `{"message":"no"}`), "not executed", "unknown"},
		"404":        {kit.Status(404, `[]`), "not executed, retryable", "ok"},
		"422":        {kit.Status(422, `{"message":"per_page"}`), "not executed, retryable", "ok"},
		"501":        {kit.Status(501, `{}`), "not executed, retryable", "ok"},
		"no JSON":    {kit.InvalidJSON(), "not executed, retryable", "ok"},
		"no list":    {kit.Status(200, `{"status":200}`), "not executed, retryable", "ok"},
		"a word":     {kit.Status(200, `ok`), "not executed, retryable", "ok"},
		"too large":  {kit.OversizedResponse(33 << 20), "not executed, retryable", "ok"},
		"no names":   {kit.Status(200, `{"data":[{"id":1}]}`), "not executed", "unknown"},
		"500":        {kit.Status(500, `{"message":"x"}`), "ok", "ok"},
		"lost":       {kit.LoseResponse(), "ok", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t)
				w.FaultOn(kit.ImagesList, 1, c.fault)
				_, _, err := p.Images.Store(p, job("a"))
				require.Equal(t, c.blank, outcome(err), "%v", err)

				w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, 2*time.Second))
				w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
				w.FaultOn(kit.ImagesList, 1, c.fault)
				_, _, err = p.Images.Store(p, job("b"))
				require.Equal(t, c.afterwards, outcome(err), "%v", err)
				if e, ok := errors.AsType[*once.Error](err); ok {
					assert.Equal(t, w.start.Add(settle).UTC(), e.Until.Truncate(time.Minute))
					assert.NotErrorIs(t, err, aicontent.ErrNotFound)
				}
			})
		})
	}
}

// Lists that are broken for good are not asked until the end of time: the call ends when nothing can come any more.
func TestStoreWhereSearchesFailForLong(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`))
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
		w.FaultOn(kit.ImagesList, 100, kit.Status(500, `{}`))
		_, _, err := p.Images.Store(p, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.Equal(t, settle, time.Since(w.start))
		e, _ := errors.AsType[*once.Error](err)
		assert.Zero(t, e.Until, "nothing is open any more")
	})
}

// Two processes: the call of one is cancelled while the other's request is under way.
func TestStoreInTwoProcesses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.process(t), w.process(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(a, 2*time.Second)
			defer cancel()
			_, _, err := a.Images.Store(ctx, job("a"))
			assert.Equal(t, "unknown, retryable", outcome(err))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		wg.Go(func() {
			time.Sleep(time.Second)
			_, found, err := b.Images.Store(b, job("a"))
			assert.NoError(t, err)
			assert.True(t, found)
		})
		wg.Wait()
		w.require1(t)
	}, kit.LatencyOn(kit.ImagesStore, 25*time.Second))
}

// After a reset of the database another record may have the ID, or somebody renamed the record: nobody's guess. Delete
// is the way out.
func TestStoreWhereTheIDIsAnothers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		w.AddImage(kit.Image{ID: string(image.ID), Name: "b", Description: "d", Resolution: "256x256"})
		for _, call := range []func() error{
			func() error { _, _, err := p.Images.Store(p, job("a")); return err },
			func() error { _, err := p.Images.Find(p, "a"); return err },
			func() error { return p.Images.Delete(p, "a") },
		} {
			err := call()
			require.Equal(t, "executed", outcome(err), "%v", err)
			conflict, ok := errors.AsType[*aicontent.ConflictError](err)
			require.True(t, ok)
			assert.Equal(t, []aicontent.ID{image.ID}, conflict.IDs)
		}
		require.Len(t, w.Images(), 1, "nobody else's record is deleted")
		require.NoError(t, p.Images.Delete(p, "a"), "once")
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
	})
}

func TestStoreOfAnotherForm(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		other := job("a")
		other.Description = "another"
		_, _, err = p.Images.Store(p, other)
		require.Equal(t, "executed", outcome(err))
		assert.ErrorIs(t, err, aicontent.ErrConflict)

		// While it is open, nobody knows.
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
		ctx, cancel := context.WithTimeout(p, time.Minute)
		defer cancel()
		_, _, err = p.Images.Store(ctx, job("b"))
		require.Equal(t, "unknown, retryable", outcome(err))
		other.Name = "b"
		_, _, err = p.Images.Store(p, other)
		require.Equal(t, "unknown, retryable", outcome(err))
		assert.ErrorIs(t, err, aicontent.ErrConflict)

		// And once it is known that nothing came of it, the name is anybody's.
		_, err = p.Images.Find(p, "b")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		_, _, err = p.Images.Store(p, other)
		require.NoError(t, err)
	})
}

// What another program stored is found, and compared with nothing.
func TestStoreWhatIsThere(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.AddImage(kit.Image{Name: "a", Description: "other", Resolution: "512x512"})
		p := w.process(t)
		image, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, aicontent.Resolution512x512, image.Resolution)
		assert.Zero(t, w.requests(kit.ImagesStore))
		_, _, err = p.Images.Store(p, job("a"))
		require.NoError(t, err)
	})
}

func TestStoreOfATakenName(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
		w.FaultOn(kit.ImagesList, 1, kit.Status(200, `{"data":[]}`)) // made between search and create request
		image, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, "a", image.Name)

		// Where it is not found either, the refusal is the error.
		for _, status := range []int{409, 422} {
			w.FaultOn(kit.ImagesStore, 1, kit.Status(status, `{"message":"x","errors":{"name":["taken"]}}`))
			_, _, err = p.Images.Store(p, job("b"))
			require.Equal(t, "not executed, retryable", outcome(err), "a list may lag: %v", err)
		}

		// Nobody has the name where something else is wrong.
		w.ResetBook()
		w.FaultOn(kit.ImagesStore, 1, kit.Status(422, `{"message":"x","errors":{"description":["too long"]}}`))
		_, _, err = p.Images.Store(p, job("c"))
		require.Equal(t, "not executed", outcome(err), "%v", err)
		assert.Equal(t, 1, w.requests(kit.ImagesList))
	}, kit.UniqueNames)
}

func TestFind(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, err := p.Images.Find(p, "a")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Equal(t, "not executed", outcome(err))
		assert.Equal(t, `once: images "a": not found (outcome not executed)`, err.Error())

		w.FaultOn(kit.ImagesStore, 1, kit.LateAct(504, 8*time.Minute))
		ctx, cancel := context.WithTimeout(p, time.Minute)
		defer cancel()
		_, _, err = p.Images.Store(ctx, job("a"))
		require.Equal(t, "unknown, retryable", outcome(err))
		image, err := p.Images.Find(p, "a")
		require.NoError(t, err, "it waits for what was sent")
		assert.Equal(t, "a", image.Name)
		assert.Equal(t, 1, w.requests(kit.ImagesStore))
	})
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		require.NoError(t, p.Images.Delete(p, "a"), "that there was none is no error")
		_, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)

		w.FaultOn(kit.ImagesDelete, 1, kit.Status(403, `{"message":"no"}`))
		err = p.Images.Delete(p, "a")
		require.Equal(t, "executed", outcome(err))
		failed, ok := errors.AsType[*once.Error](err)
		require.True(t, ok)
		assert.NotEmpty(t, failed.ID)

		require.NoError(t, p.Images.Delete(p, "a"))
		assert.Zero(t, w.count())
		require.NoError(t, p.Images.Delete(p, "a"))
		_, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found, "the name is free")
	})
}

// Somebody deletes the record without the ledger: it is stored again, but not while a replica may lag.
func TestStoreOfADeletedRecord(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image, _, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		require.NoError(t, w.Client().Images.Delete(p, image.ID))

		_, err = p.Images.Find(p, "a")
		require.Equal(t, "executed, retryable", outcome(err), "%v", err)
		require.NotErrorIs(t, err, aicontent.ErrNotFound, "it was there, and may be")
		e, ok := errors.AsType[*once.Error](err)
		require.True(t, ok)
		assert.Equal(t, w.start.Add(settle).UTC(), e.Until)
		assert.Equal(t, image.ID, e.ID)
		time.Sleep(settle)
		w.FaultOn(kit.ImagesShow, 1, kit.HTMLPage(404))
		_, _, err = p.Images.Store(p, job("a"))
		require.Equal(t, "executed, retryable", outcome(err), "a proxy does not know what is there: %v", err)

		again, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.NotEqual(t, image.ID, again.ID)
		w.require1(t)
	})
}

// A service may create a record without telling its ID. The list has it, though perhaps not yet.
func TestStoreOfARecordWithoutAnID(t *testing.T) {
	var until time.Time
	bubble(t, func(t *testing.T, w *world) {
		until = time.Now().Add(time.Minute)
		p := w.process(t)
		w.FaultOn(kit.ImagesStore, 1, kit.Status(201, `{"data":{"name":"a"}}`).Acting())
		image, found, err := p.Images.Store(p, job("a"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.NotEmpty(t, image.ID, "it waits for a list that lags")
		assert.Less(t, time.Since(w.start), 2*time.Minute)
		w.require1(t)
	}, lagging(func() time.Time { return until }))
}

// A text that the response to a create request did not have is the service's to add: nobody waits for it.
func TestStoreOfARecordWithoutAText(t *testing.T) {
	hide := kit.OnResponse(func(r *kit.Response) {
		body, _ := r.JSON().(map[string]any)
		if data, ok := body["data"].(map[string]any); ok {
			data["result"] = nil
			r.SetJSON(body)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		for n := range 2 {
			_, found, err := p.Transcriptions.Store(p, recording("a"))
			require.NoError(t, err)
			assert.Equal(t, n > 0, found)
		}
		assert.Zero(t, time.Since(w.start))
	}, hide)
}
