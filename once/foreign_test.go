package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// foreignErrors are errors of other calls, which say nothing of this one.
var foreignErrors = map[string]error{
	"not found":    fmt.Errorf("the other call: %w", aicontent.ErrNotFound),
	"a 404":        &aicontent.APIError{StatusCode: 404},
	"a 409":        &aicontent.APIError{StatusCode: 409},
	"a conflict":   &aicontent.ConflictError{Name: "b"},
	"a once.Error": &once.Error{Err: aicontent.ErrNotFound},
	"changed":      fmt.Errorf("the other ledger: %w", once.ErrChanged),
	"max wait":     once.ErrMaxWait,
	"cancelled":    fmt.Errorf("the other call: %w", context.Canceled),
	"too late":     context.DeadlineExceeded,
	"refused":      &aicontent.ValidationError{},
}

// forEachForeignError runs a test with each of the errors, in a service that has the record a.
func forEachForeignError(t *testing.T, f func(t *testing.T, w *world, foreign error)) {
	for name, foreign := range foreignErrors {
		bubbleOf(t, name, func(t *testing.T, w *world) {
			w.AddImage(listed("a"))
			f(t, w, foreign)
		})
	}
}

// matches are the statements on a call that an error matches.
func matches(err error) (list []string) {
	for _, target := range []error{
		aicontent.ErrNotFound, aicontent.ErrConflict, aicontent.ErrInvalid, once.ErrChanged, once.ErrMaxWait,
		context.DeadlineExceeded,
	} {
		if errors.Is(err, target) {
			list = append(list, target.Error())
		}
	}
	if errors.As(err, new(*aicontent.APIError)) || errors.As(err, new(*aicontent.ConflictError)) {
		list = append(list, "a response")
	}
	return list
}

func TestTheCauseOfAnEndedContextSaysNothingOfTheRecord(t *testing.T) {
	forEachForeignError(t, func(t *testing.T, w *world, cause error) {
		p := w.process(t)
		ctx, cancel := context.WithCancelCause(p)
		cancel(cause)
		_, err := p.Images.Find(ctx, "a")
		assert.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, cause.Error())
		assert.Empty(t, matches(err), "%v", err)
		_, _, err = p.Images.Store(ctx, job("a"))
		assert.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		require.Error(t, p.Images.Delete(ctx, "a"))
		w.requireRecords(t, 1)
		assert.Empty(t, w.Requests())
	})
}

// The context may end the Store call and the call around it: its error and cause come first, and once.
func TestAnErrorAfterTheEndOfTheContextSaysFirstThatItEnded(t *testing.T) {
	left := errors.New("the user left")
	for text, cause := range map[string]error{"context canceled": nil, "context canceled: the user left": left} {
		bubbleOf(t, text, func(t *testing.T, w *world) {
			p := w.process(t)
			ctx, cancel := context.WithCancelCause(p)
			time.AfterFunc(10*time.Second, func() { cancel(cause) })
			w.FaultOn(aicontent.ImagesStore, 1, kit.Stall(kit.BeforeResponse))
			_, _, sending := p.Images.Store(ctx, job("a"))
			assert.EqualError(t, sending, `once: images "a": `+text+"; the create request failed: stopped "+
				"(outcome unknown); open until 2000-01-01T00:15:10Z")
			_, _, ended := p.Images.Store(ctx, job("a"))
			assert.EqualError(t, ended, `once: images "a": `+text+" (outcome unknown)")
			assert.NotErrorIs(t, ended, left, "a cause is shown, and not wrapped")
			for _, err := range []error{sending, ended} {
				assert.ErrorIs(t, err, context.Canceled)
				assert.Equal(t, "unknown, retryable", outcome(err))
			}
		})
	}
}

func TestTheErrorOfALedgerSaysNothingOfTheRecord(t *testing.T) {
	forEachForeignError(t, func(t *testing.T, w *world, cause error) {
		get := func(context.Context, string) ([]byte, string, error) { return nil, "", cause }
		p := w.processOn(t, &funcs{get, w.Ledger.Put})
		_, err := p.Images.Find(p, "a")
		assert.Equal(t, "unknown, retryable", outcome(err), "%v", err)
		assert.NotErrorIs(t, err, context.Canceled)
		assert.Empty(t, matches(err), "%v", err)
		assert.Equal(t, "the ledger failed", aicontent.Reason(err))
		assert.Error(t, p.Images.Delete(p, "a"))
		assert.Empty(t, w.Requests())

		put := func(context.Context, string, []byte, string) (string, error) { return "", cause }
		w.processOn(t, &funcs{w.Ledger.Get, put}).fails(t, "not executed, retryable", job("b"))
		assert.Zero(t, w.requests(aicontent.ImagesStore))
	})
}

// A hook or middleware is part of a call, but its errors may be those of other calls.
func TestTheErrorOfAHookSaysNothingOfTheRecord(t *testing.T) {
	forEachForeignError(t, func(t *testing.T, w *world, cause error) {
		p := w.process(t)
		image := p.creates(t, job("known"))
		w.ResetBook()
		hook := aicontent.WithAttemptHook(func(context.Context, aicontent.Attempt) (done, error) { return nil, cause })
		for _, name := range []string{"known", "a"} {
			require.Error(t, p.Images.Delete(p, name, hook))
			_, _, err := p.Images.Store(p, job(name), hook)
			require.True(t, aicontent.Retryable(err), "%v", err)
			_, err = p.Images.Find(p, name, hook)
			require.True(t, aicontent.Retryable(err), "not found is not retryable: %v", err)
		}
		assert.Empty(t, w.Requests())
		shown, err := p.Images.Find(p, "known")
		require.NoError(t, err)
		assert.Equal(t, image.ID, shown.ID, "the ledger knows it still")
	})
}

// A call whose request fails with the error of another call sends no second request, and forgets no request.
func TestTheErrorOfAMiddlewareSaysNothingOfTheRequest(t *testing.T) {
	forEachForeignError(t, func(t *testing.T, w *world, cause error) {
		client, err := once.New(w.Client(afterStore(func(resp *http.Response) (*http.Response, error) {
			_ = resp.Body.Close()
			return nil, cause
		})), w.Ledger)
		require.NoError(t, err)
		image, found, err := client.Images.Store(t.Context(), job("b"))
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, "b", image.Name)
		assert.Equal(t, 1, w.requests(aicontent.ImagesStore))
		w.requireRecords(t, 2)
	})
}

// A conflict of the service's own is no rename: the name keeps its record.
func TestDeleteFreesNoNameForA409OrA412(t *testing.T) {
	for _, status := range []int{409, 412} {
		bubbleOf(t, fmt.Sprint(status), func(t *testing.T, w *world) {
			p := w.process(t)
			image := p.creates(t, job("a"))
			w.FaultOn(aicontent.ImagesShow, 1, kit.Status(status, `{"message":"maintenance"}`))
			err := p.Images.Delete(p, "a")
			require.Equal(t, "executed", outcome(err), "%v", err)
			w.ResetBook()
			assert.Equal(t, image.ID, p.finds(t, job("a")).ID)
			assert.Zero(t, w.requests(aicontent.ImagesList), "the ledger knows it still")
			require.NoError(t, p.Images.Delete(p, "a"))
			w.requireRecords(t, 0)
		})
	}
}

func TestErrorsBlameTheOneWhoWasLate(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		p := w.processOn(t, &funcs{func(ctx context.Context, _ string) ([]byte, string, error) {
			<-ctx.Done()
			return nil, "", ctx.Err()
		}, w.Ledger.Put})
		_, err := p.Images.Find(p, "a")
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "the ledger was late")
		assert.ErrorContains(t, err, "the ledger failed")
		assert.Equal(t, 30*time.Second, time.Since(w.start))

		p = p.within(t, 20*time.Second)
		_, err = p.Images.Find(p, "a")
		assert.ErrorIs(t, err, context.DeadlineExceeded, "the context was")
		assert.NotContains(t, err.Error(), "the ledger failed")
		assert.NotContains(t, err.Error(), "%!")
	})
}
