package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/wire"
)

var errUserLeft = errors.New("the user left")

// contextAfter is a context that is cancelled, without a deadline to see, after d.
func contextAfter(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errUserLeft) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

var aStore = ImageStoreParams{Name: "n", Description: "d", Resolution: Resolution256x256}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{"seconds": "7", "date": "Sat, 01 Jan 2000 00:00:07 GMT"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``, "Retry-After", header), fakes.OK(fakes.StoredImage)}}
				image, err := over(t, s).Images.Store(t.Context(), aStore)
				require.NoError(t, err)
				assert.Equal(t, ID("7"), image.ID)
				assert.Equal(t, []time.Duration{7 * time.Second}, s.Pauses())
				assert.Equal(t, s.Bodies[0], s.Bodies[1], "the same body again")
			})
		})
	}
}

func TestTooLongARetryAfterReturnsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(503, ``, "Retry-After", "61")}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		var api *APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, 61*time.Second, api.RetryAfter)
		assert.Equal(t, 1, api.Attempts)
		assert.Len(t, s.Asked, 1)
		assert.Zero(t, time.Since(start))
	})
}

func TestBackoffStaysBelowItsBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``)}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrServer)
		require.Len(t, s.Pauses(), 3)
		for i, bound := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			assert.LessOrEqual(t, s.Pauses()[i], bound)
		}
		var api *APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, 4, api.Attempts)
		assert.Equal(t, "images.show: 502: bad gateway (attempt 4 of 4)", err.Error())
	})
}

// A caller that has a second left must not wait for it in vain.
func TestDeadlineNearerThanTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, `{"message":"slow down"}`, "Retry-After", "30")}}
		_, err := over(t, s).Images.Store(ctx, aStore)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrRateLimited)
		assert.ErrorContains(t, err, "images.store: 429: slow down (not retried: context deadline exceeded")
		var api *APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, 30*time.Second, api.RetryAfter)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
		assert.Zero(t, time.Since(start), "it does not wait")
	})
}

func TestContextEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, 3*time.Second)
		defer cancel()
		start := time.Now()
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``, "Retry-After", "30")}}
		_, err := over(t, s).Images.Store(ctx, aStore)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errUserLeft)
		require.ErrorIs(t, err, ErrRateLimited)
		assert.Equal(t, 3*time.Second, time.Since(start))
	})
}

// An attempt's timeout is not the caller's deadline: the next attempt still has its chance.
func TestTimeoutEndsTheAttemptOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Hang, fakes.OK(fakes.StoredImage)}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		require.NoError(t, err)
		pause := s.Pauses()[0]
		assert.GreaterOrEqual(t, pause, 30*time.Second)
		assert.LessOrEqual(t, pause, 30*time.Second+500*time.Millisecond)

		s = &fakes.Script{Responses: fakes.Responses{fakes.Hang}}
		start := time.Now()
		_, err = over(t, s).Images.Store(t.Context(), aStore)
		require.Error(t, err)
		assert.Equal(t, 10*time.Minute, time.Since(start))
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		var timeout interface{ Timeout() bool }
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.Contains(t, err.Error(), "no complete response within 10m0s")
	})
}

func TestDeadlineEndsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s := &fakes.Script{Responses: fakes.Responses{fakes.Hang}}
		_, err := over(t, s).Images.Show(ctx, "7")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, s.Asked, 1)
	})
}

func TestLimiterAndKeySourceAreAskedBeforeEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``), fakes.Respond(502, ``), fakes.OK(fakes.StoredImage)}}
		c := over(t, s,
			WithRateLimiter(fakes.Limiter(func(context.Context) error { asked = append(asked, "limiter"); return nil })),
			WithAPIKeySource(func(context.Context) (string, error) {
				asked = append(asked, "key")
				return fmt.Sprint("api-key-", len(asked)), nil
			}))
		_, err := c.Images.Show(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, []string{"limiter", "key", "limiter", "key", "limiter", "key"}, asked)
		for i, key := range []string{"api-key-2", "api-key-4", "api-key-6"} {
			assert.Equal(t, "Bearer "+key, s.Sent[i].Header.Get("Authorization"))
		}
	})
}

// What ends the call between two attempts must not hide what the service said before.
func TestLimiterThatFailsLaterKeepsTheLastResponse(t *testing.T) {
	t.Parallel()
	closed := errors.New("limiter closed")
	calls := 0
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, `{"message":"upstream is away"}`)}}
	c := over(t, s, WithRetryPolicy(quick), WithRateLimiter(fakes.Limiter(func(context.Context) error {
		if calls++; calls > 1 {
			return closed
		}
		return nil
	})))
	_, err := c.Images.Show(t.Context(), "7")
	require.ErrorIs(t, err, closed)
	require.ErrorIs(t, err, ErrServer)
	assert.Contains(t, err.Error(), "upstream is away")
}

func TestDeleteThatWasLostTakesNotFoundForDone(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Lose, fakes.Respond(404, `{}`)}}
	require.NoError(t, over(t, s, WithRetryPolicy(quick)).Images.Delete(t.Context(), "7"))

	s = &fakes.Script{Responses: fakes.Responses{fakes.Respond(404, `{}`)}}
	require.ErrorIs(t, over(t, s, WithRetryPolicy(quick)).Images.Delete(t.Context(), "7"), ErrNotFound, "it was not deleted")

	s = &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``), fakes.Respond(404, `{}`)}}
	require.ErrorIs(t, over(t, s, WithRetryPolicy(quick)).Images.Delete(t.Context(), "7"), ErrNotFound, "the first attempt cannot have deleted it")
}

// A reader that is used up must not turn a 429 into an upload of nothing.
func TestBodyThatCannotBeMadeAgainMeansOneAttempt(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, `{"message":"later"}`)}}
	audio := "RIFF\x00\x00\x00\x00WAVE" + strings.Repeat("\x00", 1000)
	_, err := over(t, s, WithRetryPolicy(quick)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "n", File: FileFromReader("a.wav", io.MultiReader(strings.NewReader(audio))),
	})
	require.ErrorIs(t, err, ErrRateLimited)
	assert.Len(t, s.Asked, 1)

	s = &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``), fakes.OK(fakes.StoredImage)}}
	_, err = over(t, s, WithRetryPolicy(quick)).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "n", File: FileFromReader("a.wav", strings.NewReader(audio)),
	})
	require.NoError(t, err)
	require.Len(t, s.Bodies, 2)
	assert.Equal(t, s.Bodies[0], s.Bodies[1])
}

func TestResponseIsCapturedAlsoWhenTheCallFails(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{
		fakes.Respond(502, ``), fakes.Respond(422, `{"message":"no"}`, "X-Request-Id", "req-1", "X-Other", "kept"),
	}}
	resp := &Response{StatusCode: 1}
	_, err := over(t, s, WithRetryPolicy(quick)).Images.Show(t.Context(), "7", WithResponse(&resp))
	require.ErrorIs(t, err, ErrInvalid)
	require.NotNil(t, resp)
	assert.Equal(t, 422, resp.StatusCode)
	assert.Equal(t, `{"message":"no"}`, string(resp.Body))
	assert.Equal(t, "req-1", resp.RequestID)
	assert.Equal(t, "kept", resp.Header.Get("X-Other"))
	assert.Equal(t, 2, resp.Attempts)

	s = &fakes.Script{Responses: fakes.Responses{fakes.Lose}}
	_, err = over(t, s, WithRetryPolicy(quick)).Images.Show(t.Context(), "7", WithResponse(&resp))
	require.Error(t, err)
	assert.Nil(t, resp, "no response came, and that of the last call must not stay")
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "took":
			return slog.Attr{}
		case "pause":
			assert.Equal(t, slog.KindDuration, a.Value.Kind())
			a.Value = slog.StringValue("random")
		}
		return a
	}}))
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, `secret words`), fakes.Lose, fakes.OK(`{"data":[]}`)}}
	_, err := over(t, s, WithRetryPolicy(quick), WithLogger(logger)).Images.List(t.Context(), ImageListParams{Search: "secret plans"})
	require.NoError(t, err)
	assert.Equal(t, `level=DEBUG msg="aicontent attempt" op=images.list method=GET path=/tenant/api/v1/images attempt=1 status=502 request_id="" result=502 outcome=unknown sent=0 budget=99 pause=random
level=DEBUG msg="aicontent attempt" op=images.list method=GET path=/tenant/api/v1/images attempt=2 status=0 request_id="" result="connection reset by peer" outcome=unknown sent=0 budget=98 pause=random
level=DEBUG msg="aicontent attempt" op=images.list method=GET path=/tenant/api/v1/images attempt=3 status=200 request_id="" result=ok outcome=executed sent=0 budget=98
`, out.String())
}

func TestOneAttemptByPolicy(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``)}}
	_, err := over(t, s).Images.Show(t.Context(), "7", WithRetryPolicy(oneAttempt))
	require.ErrorIs(t, err, ErrServer)
	assert.Len(t, s.Asked, 1)
	assert.Equal(t, "images.show: 502: bad gateway", err.Error(), "no word of attempts where there was one")
}

// An outage must not be multiplied by the clients that suffer from it.
func TestRetryBudgetInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return fakes.Respond(500, ``)(r)
		})}))
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				for range 100 {
					_, err := c.Images.Show(t.Context(), "7")
					assert.ErrorIs(t, err, ErrServer)
				}
			})
		}
		group.Wait()
		assert.LessOrEqual(t, requests.Load(), int64(3300))
		start := time.Now()
		_, err = c.Images.Show(t.Context(), "7")
		assert.EqualError(t, err, "images.show: 500: internal server error (not retried: the client's retry budget is used up (WithRetryBudget))")
		assert.Zero(t, time.Since(start))
		assert.Zero(t, retriesLeft(c))
	})
}

// Ten calls that succeed at once pay for one retry, a call that succeeds in the end pays for its own.
func TestRetryBudgetIsGivenBack(t *testing.T) {
	t.Parallel()
	up := fakes.OK(fakes.StoredImage)
	down := fakes.Respond(500, ``)
	s := &fakes.Script{Responses: fakes.Responses{down}}
	c := over(t, s, WithRetryBudget(3), WithRetryPolicy(RetryPolicy{MaxAttempts: 3, MinBackoff: -1}))
	show := func(next ...func(*http.Request) (*http.Response, error)) error {
		s.Asked, s.Responses = nil, next
		_, err := c.Images.Show(t.Context(), "7")
		return err
	}
	require.Error(t, show(down))
	require.Equal(t, 1, retriesLeft(c))
	for range 10 {
		require.NoError(t, show(up))
	}
	require.Equal(t, 2, retriesLeft(c))
	require.NoError(t, show(down, down, up))
	require.Equal(t, 2, retriesLeft(c), "what it took is back")
	require.Error(t, show(fakes.Respond(404, ``)))
	require.Equal(t, 2, retriesLeft(c), "an error is no sign that the service is well")
	for range 100 {
		require.NoError(t, show(up))
	}
	require.Equal(t, 3, retriesLeft(c), "never more than at first")
	require.NoError(t, over(t, s, WithRetryBudget(0)).Images.Delete(t.Context(), "7"))
}

// Without a limit each call has its attempts.
func TestNoRetryBudget(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, ``)}}
	c := over(t, s, WithRetryBudget(0), WithRetryPolicy(quick))
	for range 300 {
		_, err := c.Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrServer)
	}
	assert.Len(t, s.Asked, 900)
}

// A wait that the service asked for, and another key after a 401, are no outage.
func TestWhatCostsNoBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(503, ``, "Retry-After", "1")}}
		c := over(t, s)
		_, err := c.Images.Show(t.Context(), "7")
		require.ErrorIs(t, err, ErrServer)
		assert.Len(t, s.Asked, 4)
		assert.Equal(t, 100, retriesLeft(c))
	})
	asked := 0
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, ``)}}
	c := over(t, s, WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("api-key-", asked), nil }))
	_, err := c.Images.Show(t.Context(), "7")
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.Len(t, s.Asked, 2)
	assert.Equal(t, 100, retriesLeft(c))
}

// A pause is made also where the service does not ask for one.
func TestPausesAreMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, ``), fakes.Lose, fakes.Respond(503, ``, "Retry-After", "0"), fakes.Respond(429, ``)}}
		_, err := over(t, s, WithRetryPolicy(RetryPolicy{MaxAttempts: 60, MaxBackoff: time.Second})).Images.Show(t.Context(), "7")
		require.Error(t, err)
		none := 0
		for _, pause := range s.Pauses() {
			if pause == 0 {
				none++
			}
		}
		assert.Less(t, none, 5)
	})
}

// A transport that rewrites the address, as a service mesh's may, rewrites it for its own attempt.
func TestAttemptsDoNotShareTheirAddress(t *testing.T) {
	t.Parallel()
	var seen []string
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(quick), WithHTTPClient(&http.Client{
		Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.URL.String()+" "+r.Header.Get("X-Tenant"))
			r.URL.Host, r.URL.Path, r.URL.RawQuery = "10.0.0.1", "/other"+r.URL.Path, ""
			r.Header.Set("X-Tenant", "other")
			r.Header.Add("Accept", "text/plain")
			r.Header.Add("Authorization", "other")
			assert.Equal(t, []string{"Bearer " + fakes.Key, "other"}, r.Header["Authorization"], "no header line shares memory with another")
			assert.Contains(t, r.Header.Get("User-Agent"), "aicontent-go/")
			assert.Equal(t, "HTTP/1.1", r.Proto, "as net/http makes requests")
			assert.True(t, r.ProtoAtLeast(1, 1) && !r.ProtoAtLeast(1, 2) && !r.ProtoAtLeast(2, 0))
			return fakes.Respond(502, ``)(r)
		}),
	}))
	require.NoError(t, err)
	_, err = c.Images.Show(t.Context(), "7", WithQuery("a", "1"), WithHeader("X-Tenant", "mine"))
	require.ErrorIs(t, err, ErrServer)
	const same = "https://content.example.com/tenant/api/v1/images/7?a=1 mine"
	assert.Equal(t, []string{same, same, same}, seen)
}

// A delete that was executed succeeds, whatever is missing of its response; one whose response says that it failed
// does not.
func TestDeleteResponses(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{
		"":                                    true,
		`{"data":{"id":7,"na`:                 true,
		`{"id":7,"deleted":true}`:             true,
		`{"deleted":true,"status":200}`:       true,
		`[]`:                                  true,
		`deleted`:                             true,
		`{"status":"success","error":null}`:   true,
		`{"status":"error","message":"busy"}`: false,
		`{"error":"busy"}`:                    false,
		`{"data":{"status":"fail"}}`:          false,
		`{"message":"no","status":422}`:       false,
		`{"success":false}`:                   false,
		`{"image":{"ok":false}}`:              false,
		`{"id":7,"deleted":false}`:            false,
		`{"id":7,"deleted":0,"status":200}`:   false,
		`{"data":{"deleted":false}}`:          false,
		`{"image":{"id":7,"deleted":0}}`:      false,
		`{"deleted":"0"}`:                     false,
		`{"deleted":"false"}`:                 false,
		`{"data":{"deleted":"False"}}`:        false,
		`{"data":{"deleted":true}}`:           true,
		`{"deleted":"1"}`:                     true,
		`{"deleted":null,"deleted_at":null}`:  true,
		`{"code":20000,"message":"ok"}`:       true,
		`{"code":402,"message":"no"}`:         false,
		`<!doctype html>`:                     false,
	} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.OK(body)}}
		err := over(t, s, WithRetryPolicy(quick)).Images.Delete(t.Context(), "7")
		if ok {
			assert.NoError(t, err, body)
			continue
		}
		var unread *DecodeError
		assert.ErrorAs(t, err, &unread, body)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), body)
		assert.Len(t, s.Asked, 1)
	}
	baseURL, _ := fakes.Counted(t, respondingBytes([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":7,")))
	c, err := NewClient(baseURL, fakes.Key)
	require.NoError(t, err)
	assert.ErrorIs(t, c.Images.Delete(t.Context(), "7", WithRetryPolicy(quick)), wire.ErrCutOff)
	baseURL, sent := fakes.Counted(t, respondingBytes([]byte("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\":7,")))
	c, err = NewClient(baseURL, fakes.Key)
	require.NoError(t, err)
	assert.NoError(t, c.Images.Delete(t.Context(), "7"), "a 201 says it without its body")
	assert.EqualValues(t, 1, sent.Load())
}

// A 2xx that says that it is an error is no record without an id, and proves nothing.
func TestSuccessThatSaysItIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"status":"error","name":"ValidationException"}`, `{"status":"fail","name":"n"}`, `{"errors":["x"],"name":"n"}`, `{"exception":"E","name":"n"}`} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.OK(body)}}
		for _, op := range []string{"images.store", "images.show", "images.update"} {
			err := allTen(over(t, s))[op](t.Context())
			var unread *DecodeError
			require.ErrorAs(t, err, &unread, op)
			assert.ErrorIs(t, err, lenient.ErrSaysError)
			assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%s %s", op, body)
		}
	}
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(`{"id":7,"status":"error","name":"n"}`)}}
	_, err := over(t, s).Images.Show(t.Context(), "7")
	assert.NoError(t, err, "with an id it is a record")
}

// The error names an encoding that was not asked for, instead of calling the response broken JSON.
func TestUnknownEncodings(t *testing.T) {
	t.Parallel()
	c := deployment(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("\x0b\x02\x80{}\x03"))
	})
	_, err := c.Images.Show(t.Context(), "7")
	assert.EqualError(t, err, `images.show: 200: the response is not JSON: its Content-Encoding is "br"`)
}

// The record is found from the outside in: another's id would lead to another's deletion.
func TestNestedRecords(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]Image{
		`{"data":{"id":7,"name":"a","image":{"id":9001,"name":"b"}}}`: {ID: "7", Name: "a"},
		`{"id":7,"image":{"id":9001,"name":"b"}}`:                     {ID: "9001", Name: "b"},
		`{"data":{"name":"a","owner":{"id":9001,"name":"b"}}}`:        {Name: "a"},
		`{"data":{"image":{"id":7,"name":"a"}}}`:                      {ID: "7", Name: "a"},
	} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.OK(body)}}
		image, err := over(t, s).Images.Show(t.Context(), "7")
		require.NoError(t, err, body)
		assert.Equal(t, want, bare(*image), body)
	}
}

// Dialing, and waiting for one of a limited number of connections, are not the service's time.
func TestConnectingIsNoWaitingForTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serve := func(nc net.Conn) {
			for r := bufio.NewReader(nc); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				time.Sleep(200 * time.Millisecond)
				body := `{"data":{"id":7,"name":"n"}}`
				_, _ = fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			}
		}
		transport := &http.Transport{MaxConnsPerHost: 1, DialContext: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(400 * time.Millisecond)
			near, far := net.Pipe()
			go func() { defer far.Close(); serve(far) }()
			return near, nil
		}}
		c, err := NewClient("http://127.0.0.1/tenant", fakes.Key, WithResponseTimeout(300*time.Millisecond), WithRetryPolicy(oneAttempt), WithHTTPClient(&http.Client{Transport: transport}))
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 5 {
			for _, op := range []string{"images.show", "images.store", "images.update"} {
				group.Go(func() { assert.NoError(t, allTen(c)[op](t.Context()), op) })
			}
		}
		group.Wait()
		c.CloseIdleConnections()
	})
}

// closingBody notes that it was closed.
type closingBody struct {
	io.Reader
	closed *int
}

func (b closingBody) Close() error { *b.closed++; return nil }

// A response that is not closed keeps its connection for ever.
func TestResponsesAreClosed(t *testing.T) {
	t.Parallel()
	closed := 0
	for _, status := range []int{200, 299, 404, 502, 302} {
		c, err := NewClient("https://content.example.com", fakes.Key, WithRetryPolicy(oneAttempt), WithMaxResponseSize(40), WithHTTPClient(&http.Client{
			Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				body := closingBody{strings.NewReader(`{"id":7}` + strings.Repeat(" ", status%100)), &closed}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
			}),
		}))
		require.NoError(t, err)
		closed = 0
		_, err = c.Images.Show(t.Context(), "7")
		assert.Equal(t, status == 200, err == nil, "%d: %v", status, err)
		assert.Equal(t, 1, closed, status)
	}
}

// Every 2xx is a success, whatever a proxy makes of its number.
func TestEverySuccessCounts(t *testing.T) {
	t.Parallel()
	for status, ok := range map[int]bool{200: true, 201: true, 206: true, 299: true, 199: false, 300: false} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(status, `{"id":7}`)}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		assert.Equal(t, ok, err == nil, "%d: %v", status, err)
	}
}

// The log tells how much of a request went out: an upload that stops at the same byte each time has a limit in its way.
func TestLogOfWhatWasSent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := deployment(t, fakes.RespondToAll, WithLogger(logger))
	require.NoError(t, allTen(c)["images.store"](t.Context()))
	var line struct {
		Sent      int64
		RequestID string `json:"request_id"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	assert.Greater(t, line.Sent, int64(len("name=n&description=d&resolution=256x256")))
	assert.Less(t, line.Sent, int64(1000))
}

// retriesLeft returns what the retry budget of a client has left.
func retriesLeft(c *Client) int { return c.sender().Budget.Retries() }
