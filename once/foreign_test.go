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

// strangers are errors of other calls, which say nothing of this one.
var strangers = map[string]error{
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

// matches are the statements that an error may make on a call.
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
	for name, cause := range strangers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
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
				w.require1(t)
				assert.Empty(t, w.Requests())
			})
		})
	}
}

func TestTheErrorOfALedgerSaysNothingOfTheRecord(t *testing.T) {
	for name, cause := range strangers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.AddImage(kit.Image{Name: "a", Description: "d", Resolution: "256x256"})
				get := func(context.Context, string) ([]byte, string, error) { return nil, "", cause }
				client, err := once.New(w.Client(), funcs{get, w.Ledger.Put})
				require.NoError(t, err)
				_, err = client.Images.Find(t.Context(), "a")
				assert.Equal(t, "unknown, retryable", outcome(err), "%v", err)
				assert.NotErrorIs(t, err, context.Canceled)
				assert.Empty(t, matches(err), "%v", err)
				assert.Equal(t, "the ledger failed", aicontent.Reason(err))
				assert.Error(t, client.Images.Delete(t.Context(), "a"))
				assert.Empty(t, w.Requests())

				put := func(context.Context, string, []byte, string) (string, error) { return "", cause }
				client, err = once.New(w.Client(), funcs{w.Ledger.Get, put})
				require.NoError(t, err)
				_, _, err = client.Images.Store(t.Context(), job("b"))
				assert.Equal(t, "not executed, retryable", outcome(err), "%v", err)
				assert.Zero(t, w.requests(kit.ImagesStore))
			})
		})
	}
}

// A hook or middleware is part of a call, but its errors may be those of other calls.
func TestTheErrorOfAHookSaysNothingOfTheRecord(t *testing.T) {
	for name, cause := range strangers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				p := w.process(t)
				image, _, err := p.Images.Store(p, job("known"))
				require.NoError(t, err)
				w.AddImage(kit.Image{Name: "listed", Description: "d", Resolution: "256x256"})
				w.ResetBook()
				hook := aicontent.WithAttemptHook(
					func(context.Context, aicontent.Attempt) (func(aicontent.AttemptResult), error) { return nil, cause })
				for _, name := range []string{"known", "listed"} {
					require.Error(t, p.Images.Delete(p, name, hook))
					_, _, err = p.Images.Store(p, job(name), hook)
					require.True(t, aicontent.Retryable(err), "%v", err)
					_, err = p.Images.Find(p, name, hook)
					require.True(t, aicontent.Retryable(err), "not found is not retryable: %v", err)
				}
				assert.Empty(t, w.Requests())
				shown, err := p.Images.Find(p, "known")
				require.NoError(t, err)
				assert.Equal(t, image.ID, shown.ID, "the ledger knows it still")
			})
		})
	}
}

// A call whose request fails with the error of another call sends no second request, and forgets nothing that was sent.
func TestTheErrorOfAMiddlewareSaysNothingOfTheRequest(t *testing.T) {
	for name, cause := range strangers {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				middleware := aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
					return roundTripper(func(req *http.Request) (*http.Response, error) {
						resp, err := next.RoundTrip(req)
						if req.Method == http.MethodPost && err == nil {
							_ = resp.Body.Close()
							return nil, cause
						}
						return resp, err
					})
				})
				client, err := once.New(w.Client(middleware), w.Ledger)
				require.NoError(t, err)
				image, found, err := client.Images.Store(t.Context(), job("a"))
				require.NoError(t, err)
				assert.False(t, found)
				assert.Equal(t, "a", image.Name)
				assert.Equal(t, 1, w.requests(kit.ImagesStore))
				w.require1(t)
			})
		})
	}
}

// A conflict of the service's own is no rename: the name keeps its record.
func TestDeleteFreesNoNameForA409OrA412(t *testing.T) {
	for _, status := range []int{409, 412} {
		bubbleOf(t, fmt.Sprint(status), func(t *testing.T, w *world) {
			p := w.process(t)
			image, _, err := p.Images.Store(p, job("a"))
			require.NoError(t, err)
			w.FaultOn(kit.ImagesShow, 1, kit.Status(status, `{"message":"maintenance"}`))
			err = p.Images.Delete(p, "a")
			require.Equal(t, "executed, retryable", outcome(err), "%v", err)
			w.ResetBook()
			again, found, err := p.Images.Store(p, job("a"))
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, image.ID, again.ID)
			assert.Zero(t, w.requests(kit.ImagesList), "the ledger knows it still")
			require.NoError(t, p.Images.Delete(p, "a"))
			assert.Zero(t, w.count())
		})
	}
}

func TestErrorsBlameTheOneWhoWasLate(t *testing.T) {
	hangs := func(ctx context.Context, _ string) ([]byte, string, error) {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	bubble(t, func(t *testing.T, w *world) {
		client, err := once.New(w.Client(), funcs{hangs, w.Ledger.Put})
		require.NoError(t, err)
		_, err = client.Images.Find(t.Context(), "a")
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "the ledger was late")
		assert.ErrorContains(t, err, "the ledger failed: it could not be read in time")
		assert.Equal(t, 30*time.Second, time.Since(w.start))

		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = client.Images.Find(ctx, "a")
		assert.ErrorIs(t, err, context.DeadlineExceeded, "the context was")
		assert.NotContains(t, err.Error(), "the ledger failed")
		assert.NotContains(t, err.Error(), "%!")

		// A hook that calls a cancelled request its own ends the attempt, and nobody else has.
		p := w.process(t)
		hook := aicontent.WithAttemptHook(func(ctx context.Context, _ aicontent.Attempt) (func(aicontent.AttemptResult), error) {
			if once.IsSearch(ctx) {
				return nil, nil
			}
			return nil, fmt.Errorf("the hook's own: %w", context.Canceled)
		})
		_, _, err = p.Images.Store(p, job("a"), hook)
		require.Equal(t, "not executed, retryable", outcome(err), "%v", err)
		assert.NotContains(t, err.Error(), "%!")
		assert.ErrorContains(t, err, "the hook's own")
	})
}
