package once_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image := p.creates(t, job("a"))
		assert.Equal(t, image.ID, p.finds(t, job("a")).ID)
		found, err := p.Images.Find(p, " a\r\n")
		require.NoError(t, err)
		assert.Equal(t, image.ID, found.ID, "white space makes no other name")
		w.requireRecords(t, 1)
	}, lagging(time.Hour))
}

// A service trims names, and so does every search.
func TestStoreOfANameWithInvisibleEndsIsNotSentTwiceAfterAGatewayTimeout(t *testing.T) {
	for _, name := range []string{"a\u200b", "\ufeffa", "a\u2060 \n", "\x00a\u00ad"} {
		bubbleOf(t, fmt.Sprintf("%+q", name), func(t *testing.T, w *world) {
			w.FaultOn(aicontent.ImagesStore, 1, kit.ActThenStatus(504))
			p := w.process(t)
			image := p.creates(t, job(name))
			assert.Equal(t, "a", image.Name)
			found, err := p.Images.Find(p, "a")
			require.NoError(t, err)
			assert.Equal(t, image.ID, found.ID)
			w.requireRecords(t, 1)
		})
	}
}

func TestStoreAtOnceCreatesOneRecord(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		processes := []*process{w.process(t), w.process(t)}
		var created atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p := processes[i%2]
				_, found, err := p.Images.Store(p, job("a"))
				assert.NoError(t, err)
				if !found {
					created.Add(1)
				}
			})
		}
		wg.Wait()
		assert.Equal(t, int32(1), created.Load(), "one call created it, and says so")
		w.requireRecords(t, 1)
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
	}, lagging(time.Hour), kit.Latency(3*time.Second))
}

// A record that was created is never sent again, whatever lists show, until Delete frees the name.
func TestStoreDoesNotSendAgainWhatWasCreatedUntilDelete(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(201, ""))
		for range 3 {
			assert.ErrorContains(t, p.fails(t, "executed", job("a")), "Delete frees the name")
		}
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		require.NoError(t, p.Images.Delete(p, "a"))
		p.creates(t, job("a"))
	})
}

// The ledger could not be told of the record, but the call itself knows of it.
func TestACallWhoseRequestCreatedARecordNeverSaysThatThereIsNone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(201, ""))
		w.Ledger.fail = func(_ int, entry string) (bool, error) {
			if strings.Contains(entry, "made") {
				return false, errDisk
			}
			return false, nil
		}
		err := w.process(t).fails(t, "executed", job("a"))
		assert.ErrorContains(t, err, "no list shows it")
		assert.Equal(t, settle, time.Since(w.start))
	})
}

// A call whose request created nothing does not send again, and leaves the name to any form.
func TestStoreThatCreatedNothingSendsOnceAndFreesTheName(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
		p.fails(t, "not executed, retryable", job("a"))
		assert.Equal(t, settle, time.Since(w.start), "no other pause comes on top")
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		assert.NotContains(t, w.Ledger.last, `"form"`)
		p.creates(t, otherJob("a"))
		w.requireRecords(t, 1)
	})
}

// A service may change all that it stores, even the name: by its ID the record is the same.
func TestStoreKnowsARewrittenRecordByItsID(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		params := aicontent.ImageStoreParams{
			Name: "R&D", Description: strings.Repeat("a lighthouse ", 100), Resolution: "256x256", Style: "pixel_art",
		}
		image := w.process(t).creates(t, params)
		assert.NotEqual(t, "R&D", image.Name)
		for range 2 {
			assert.True(t, image.Equal(*w.process(t).finds(t, params)))
		}
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
	}, kit.Rewritten)
}

// A service may do to the record all that the kit knows, while the process is killed once a minute: it is created once,
// and found whole.
func TestStoreThatIsKilledCreatesOneRecordOnAnOddService(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.TranscriptionsStore, 1, kit.LateAct(504, 3*time.Minute))
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
		w.requireRecords(t, 1)
	}, kit.LateResult, kit.LaggingList)
}

// withoutText makes transcriptions lack their text for a time.
func withoutText(d time.Duration) kit.Option {
	return kit.OnResponse(func(r *kit.Response) {
		body, _ := r.JSON().(map[string]any)
		if data, ok := body["data"].(map[string]any); ok && time.Since(midnight) < d {
			data["result"] = nil
			r.SetJSON(body)
		}
	})
}

// A record may be listed before its text is there. It is waited for, also after a restart, until the time is over.
func TestStoreWaitsForTheText(t *testing.T) {
	for name, c := range map[string]struct{ missing, takes time.Duration }{
		"a text that comes after two minutes": {2 * time.Minute, 2*time.Minute + time.Second},
		"a text that never comes":             {time.Hour, settle},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t)
			w.FaultOn(aicontent.TranscriptionsStore, 1, kit.ActThenStatus(504))
			time.AfterFunc(time.Minute, p.kill)
			_, _, _ = p.Transcriptions.Store(p, recording("a"))

			p = w.process(t)
			text, found, err := p.Transcriptions.Store(p, recording("a"))
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, c.missing < settle, text.Result != "")
			assert.Equal(t, c.takes, time.Since(w.start))
			w.requireRecords(t, 1)
		}, withoutText(c.missing))
	}
}

func TestARecordWithoutItsTextIsReturnedAtTheEndOfTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.TranscriptionsStore, 1, kit.ActThenStatus(504))
		p := w.process(t, once.WithMaxWait(10*time.Second))
		text, found, err := p.Transcriptions.Store(p, recording("a"))
		require.NoError(t, err)
		assert.False(t, found, "this call has created it")
		assert.Empty(t, text.Result)
		assert.Equal(t, 10*time.Second, time.Since(w.start))
		_, err = p.Transcriptions.Find(w.process(t).within(t, 2500*time.Millisecond), "a")
		require.NoError(t, err)
		assert.Equal(t, 12500*time.Millisecond, time.Since(w.start))
		require.NoError(t, p.Transcriptions.Delete(p, "a"), "which needs no text")
		assert.Equal(t, 12500*time.Millisecond, time.Since(w.start))
	}, withoutText(time.Hour))
}

// A text that the response to a create request lacked is the service's to add.
func TestNoCallWaitsForATextThatTheResponseLacked(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		for n := range 2 {
			_, found, err := p.Transcriptions.Store(p, recording("a"))
			require.NoError(t, err)
			assert.Equal(t, n > 0, found)
		}
		assert.Zero(t, time.Since(w.start))
	}, withoutText(time.Hour))
}

// One failed search decides nothing: it is repeated while a request is open. With nothing open, the call may be made
// again only if the client says so: with a wrong key, no queue tries for ever.
func TestAFailedSearchIsRetryableIfARequestIsOpenOrTheClientSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		fault kit.Fault
		blank string
	}{
		"login page": {kit.RedirectTo(302, "https://content.example.com/login"), "not executed"},
		"401":        {kit.Status(401, `{}`), "not executed"},
		"firewall":   {kit.HTMLPage(403), "not executed, retryable"},
		"403":        {kit.Status(403, `{"message":"no"}`), "not executed"},
		"404":        {kit.Status(404, `[]`), "not executed"},
		"422":        {kit.Status(422, `{"message":"per_page"}`), "not executed"},
		"501":        {kit.Status(501, `{}`), "not executed"},
		"no JSON":    {kit.InvalidJSON(), "not executed"},
		"no list":    {kit.Status(200, `{"status":200}`), "not executed"},
		"no names":   {kit.Status(200, `{"data":[{"id":1}]}`), "not executed"},
		"a page":     {kit.HTMLPage(200), "not executed, retryable"},
		"429":        {kit.Status(429, `{}`).WithRetryAfter("86400"), "not executed, retryable"},
		"500":        {kit.Status(500, `{"message":"x"}`), "ok"},
		"lost":       {kit.LoseResponse(), "ok"},
	} {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			p := w.process(t)
			w.FaultOn(aicontent.ImagesList, 1, c.fault)
			_, _, err := p.Images.Store(p, job("a"))
			require.Equal(t, c.blank, outcome(err), "%v", err)

			w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, 2*time.Second))
			w.FaultOn(aicontent.ImagesList, 1, emptyList)
			w.FaultOn(aicontent.ImagesList, 1, c.fault)
			hasty := w.process(t, once.WithMaxWait(0))
			for {
				if _, _, err = hasty.Images.Store(hasty, job("b")); err == nil {
					break
				}
				require.Equal(t, "unknown, retryable", outcome(err), "a request is open: %v", err)
				time.Sleep(time.Until(aicontent.RetryAt(err)))
			}
			others := slices.DeleteFunc(w.Images(), func(image aicontent.Image) bool { return image.Name == "b" })
			w.requireRecords(t, len(others)+1)
		})
	}
}

// Lists that are broken for good are not asked until the end of time.
func TestStoreEndsWhereSearchesFailForLong(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.FaultOn(aicontent.ImagesList, 1, emptyList)
		w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
		w.FaultOn(aicontent.ImagesList, 100, kit.Status(500, `{}`))
		err := p.fails(t, "unknown, retryable", job("a"))
		assert.Equal(t, settle, time.Since(w.start))
		assert.Zero(t, err.Until, "no request is open any more")
	})
}

// The call of one process is cancelled while its request is under way: another process waits for the record.
func TestStoreWaitsForTheRequestOfACancelledProcess(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p, other := w.process(t), w.process(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Second)
			_, found, err := other.Images.Store(other, job("a"))
			assert.NoError(t, err)
			assert.True(t, found)
		})
		err := p.within(t, 2*time.Second).fails(t, "unknown, retryable", job("a"))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		wg.Wait()
		w.requireRecords(t, 1)
	}, kit.LatencyOn(aicontent.ImagesStore, 25*time.Second))
}

// After a reset of the database another record may have the ID, or a person has renamed the record. Delete is the way
// out.
func TestStoreOfAnIDThatIsAnothersIsAConflict(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image := p.creates(t, job("a"))
		w.AddImage(aicontent.Image{ID: image.ID, Name: "b", Description: "d", Resolution: "256x256"})
		_, _, stored := p.Images.Store(p, job("a"))
		_, found := p.Images.Find(p, "a")
		for _, err := range []error{stored, found, p.Images.Delete(p, "a")} {
			require.Equal(t, "executed", outcome(err), "%v", err)
			var conflict *aicontent.ConflictError
			require.ErrorAs(t, err, &conflict)
			assert.Equal(t, []aicontent.ID{image.ID}, conflict.IDs)
			assert.Contains(t, conflict.Problem, "another name")
		}
		require.Len(t, w.Images(), 1, "the record of another name is not deleted")
		require.NoError(t, p.Images.Delete(p, "a"), "the conflict is returned once")
		p.creates(t, job("a"))
	})
}

// Forms are compared when a record is found. If none comes of a request, the name is free for another form.
func TestStoreOfAnotherFormIsAConflict(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		p.creates(t, job("a"))
		known := p.fails(t, "executed", otherJob("a"))
		assert.ErrorIs(t, known, aicontent.ErrConflict)
		assert.EqualError(t, known, `once: images "a": it was stored with other parameters (outcome executed); id 1`)

		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, time.Minute))
		p.within(t, time.Second).fails(t, "unknown, retryable", job("b"))
		assert.ErrorIs(t, p.fails(t, "executed", otherJob("b")), aicontent.ErrConflict, "the record has come")
		p.finds(t, job("b"))

		w.FaultOn(aicontent.ImagesStore, 1, kit.HTMLPage(504))
		p.within(t, time.Minute).fails(t, "unknown, retryable", job("c"))
		p.creates(t, otherJob("c"))
		assert.ErrorIs(t, p.fails(t, "executed", job("c")), aicontent.ErrConflict)
	})
}

// A record that another program stored is found, and compared with nothing.
func TestStoreFindsWhatAnotherProgramStored(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.AddImage(aicontent.Image{Name: "a", Description: "other", Resolution: "512x512"})
		var wg sync.WaitGroup
		for range 2 { // at once: one of the two writes the entry first
			wg.Go(func() { assert.Equal(t, aicontent.Resolution512x512, w.process(t).finds(t, job("a")).Resolution) })
		}
		wg.Wait()
		assert.Zero(t, w.requests(aicontent.ImagesStore))
	}, kit.Latency(time.Second))
}

// The service has the last word on a name: Find tells whether a list shows its record.
func TestStoreOfATakenNameIsRefusedAsAPlainCallIs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		w.AddImage(listed("a"))
		w.FaultOn(aicontent.ImagesList, 1, emptyList) // created between search and create request
		p.fails(t, "not executed", otherJob("a"))
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		assert.NotContains(t, w.Ledger.last, `"form"`, "that of the refused request is not that of the record")
		_, err := p.Images.Find(p, "a")
		require.NoError(t, err)
		p.finds(t, job("a"))
	}, kit.UniqueNames)
}

func TestFindWaitsForTheRecordOfAnOpenRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		_, err := p.Images.Find(p, "a")
		require.ErrorIs(t, err, aicontent.ErrNotFound)
		assert.Equal(t, "not executed", outcome(err))
		assert.EqualError(t, err, `once: images "a": not found (outcome not executed)`)
		assert.Equal(t, "not found", aicontent.Reason(err))

		w.FaultOn(aicontent.ImagesStore, 1, kit.LateAct(504, 8*time.Minute))
		p.within(t, time.Minute).fails(t, "unknown, retryable", job("a"))
		image, err := p.Images.Find(p, "a")
		require.NoError(t, err, "it waits for the record of the request")
		assert.Equal(t, "a", image.Name)
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
	})
}

func TestDeleteFreesTheNameAndMayBeRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		require.NoError(t, p.Images.Delete(p, "a"), "that there was none is no error")
		p.creates(t, job("a"))

		w.FaultOn(aicontent.ImagesDelete, 1, kit.Status(403, `{"message":"no"}`))
		err := p.Images.Delete(p, "a")
		require.Equal(t, "executed", outcome(err))
		var failed *once.Error
		require.ErrorAs(t, err, &failed)
		assert.NotEmpty(t, failed.ID)

		require.NoError(t, p.Images.Delete(p, "a"))
		w.requireRecords(t, 0)
		require.NoError(t, p.Images.Delete(p, "a"))
		p.creates(t, job("a"))
	})
}

// The service has deleted the record, and the call did not live to clear the entry.
func TestASecondDeleteFreesANameAtOnceAfterADeleteThatWasCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		p.creates(t, job("a"))
		w.FaultOn(aicontent.ImagesDelete, 1, kit.Stall(kit.BeforeResponse))
		err := p.within(t, time.Second)
		cut := err.Images.Delete(err, "a")
		require.Equal(t, "executed", strings.TrimSuffix(outcome(cut), ", retryable"), "%v", cut)
		assert.ErrorContains(t, cut, "Delete again, to free the name")
		w.requireRecords(t, 0)

		waits := w.process(t, once.WithMaxWait(0)).fails(t, "executed, retryable", job("a"))
		assert.ErrorContains(t, waits, "Show lacks it: Delete frees the name at once if it is gone")
		require.NoError(t, p.Images.Delete(p, "a"))
		p.creates(t, job("a"))
		assert.Equal(t, time.Second, time.Since(w.start))
	})
}

// A record that Show lacks may be on a replica that lags, until the settle time is over. Then a person has deleted it
// without the ledger, and it is stored again.
func TestAKnownRecordThatShowLacksIsOpenUntilTheSettleTimeIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image := p.creates(t, job("a"))
		w.FaultOn(aicontent.ImagesShow, 3, lacks)
		assert.Equal(t, image.ID, p.finds(t, job("a")).ID)
		assert.Equal(t, 7*time.Second, time.Since(w.start), "after 1, 3 and 7 seconds")
		w.FaultOn(aicontent.ImagesShow, 1, lacks)
		w.FaultOn(aicontent.ImagesShow, 1, kit.Status(403, `{}`))
		assert.Zero(t, p.fails(t, "executed, retryable", job("a")).Until, "the last Show did not lack it")

		require.NoError(t, w.Client().Images.Delete(p, image.ID))
		_, failed := w.process(t, once.WithMaxWait(0)).Images.Find(p, "a")
		require.Equal(t, "executed, retryable", outcome(failed), "%v", failed)
		require.ErrorIs(t, failed, once.ErrMaxWait)
		require.NotErrorIs(t, failed, aicontent.ErrNotFound, "it was there, and may be")
		assert.Equal(t, "the record was created, and is not shown yet", aicontent.Reason(failed))
		assert.ErrorContains(t, failed, "Delete frees the name at once if it is gone")
		err, _ := errors.AsType[*once.Error](failed)
		assert.Equal(t, w.start.Add(settle).UTC(), err.Until)
		assert.Equal(t, w.start.Add(15*time.Second).UTC(), err.RetryAt(), "counted from the entry's last write")
		assert.Equal(t, image.ID, err.ID)

		assert.NotEqual(t, image.ID, p.creates(t, job("a")).ID)
		assert.Equal(t, settle, time.Since(w.start))
		w.requireRecords(t, 1)
	})
}

// A page without JSON says nothing of the record.
func TestAKnownRecordIsNotGivenUpForTheNotFoundOfAProxy(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.process(t)
		image := p.creates(t, job("a"))
		time.Sleep(2 * settle)
		w.FaultOn(aicontent.ImagesShow, 1, kit.HTMLPage(404))
		p.fails(t, "executed, retryable", job("a"))
		assert.Equal(t, image.ID, p.finds(t, job("a")).ID)
	})
}

// A service may create a record without telling its ID. The list has it, though perhaps not yet.
func TestStoreFindsARecordWhoseResponseHasNoID(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(aicontent.ImagesStore, 1, kit.Status(201, `{"data":{"name":"a"}}`).Acting())
		assert.NotEmpty(t, w.process(t).creates(t, job("a")).ID)
		assert.Less(t, time.Since(w.start), 2*time.Minute)
		w.requireRecords(t, 1)
	}, lagging(time.Minute))
}
