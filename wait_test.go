package aicontent_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

const (
	drawn   = `{"id":7,"name":"n","url":"https://cdn.example.com/7.png"}`
	undrawn = `{"id":7,"name":"n","url":null}`
)

var anImage = aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: aicontent.Resolution256x256}

// scripted returns a client of a service that sends one response after the other. No call makes a second attempt.
func scripted(t *testing.T, responses ...func(*http.Request) (*http.Response, error)) (
	*aicontent.Client, *fakes.Script,
) {
	t.Helper()
	s := &fakes.Script{Responses: responses}
	c, err := aicontent.NewClient("https://content.example.com", fakes.Key,
		aicontent.WithHTTPClient(&http.Client{Transport: s}),
		aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	return c, s
}

// seconds returns durations.
func seconds(list ...time.Duration) []time.Duration {
	for i := range list {
		list[i] *= time.Second
	}
	return list
}

func TestWaitReturnsTheImageWhenItsURLComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.LateResult)
		c := srv.Client()
		stored, err := c.Images.Store(t.Context(), anImage)
		require.NoError(t, err)
		require.Empty(t, stored.URL)
		start := time.Now()
		image, err := c.Images.Wait(t.Context(), stored.ID)
		require.NoError(t, err)
		assert.Equal(t, srv.URL+"/pictures/1.png", image.URL)
		assert.Equal(t, 7*time.Second, time.Since(start), "the first Show after the 5 seconds of the service")
	})
}

func TestWaitReturnsTheTranscriptionWhenItsResultComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.LateResult)
		c := srv.Client()
		stored, err := c.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
			Name: "n", File: aicontent.FileFromPath("examples/quickstart/speech.wav"),
		})
		require.NoError(t, err)
		require.Empty(t, stored.Result)
		start := time.Now()
		transcription, err := c.Transcriptions.Wait(t.Context(), stored.ID)
		require.NoError(t, err)
		assert.NotEmpty(t, transcription.Result)
		assert.Equal(t, 7*time.Second, time.Since(start), "the first Show after the 5 seconds of the service")
	})
}

func TestWaitTakesAResultThatIsNotTextForAResult(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, fakes.OK(`{"id":7,"name":"n","result":[{"start":0,"text":"Good evening."}]}`))
	transcription, err := c.Transcriptions.Wait(t.Context(), "7")
	require.NoError(t, err)
	assert.Empty(t, transcription.Result)
	assert.Contains(t, string(transcription.Raw()), "Good evening.")
	assert.Len(t, s.Sent, 1)
}

func TestWaitShowsAtOnceAndThenAfterGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		not := fakes.OK(undrawn)
		c, s := scripted(t, not, not, not, not, not, not, not, not, fakes.OK(drawn))
		start := time.Now()
		_, err := c.Images.Wait(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, start, s.Asked[0])
		assert.Equal(t, seconds(1, 2, 4, 8, 16, 30, 30, 30), s.Pauses())
	})
}

// A cache would show the incomplete record again and again.
func TestWaitBypassesCaches(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, fakes.OK(drawn))
	_, err := c.Images.Wait(t.Context(), "7", aicontent.WithHeader("X-Team", "7"))
	require.NoError(t, err)
	assert.Equal(t, "no-cache", s.Sent[0].Header.Get("Cache-Control"))
	assert.Equal(t, "7", s.Sent[0].Header.Get("X-Team"))
}

func TestWaitEndsWithAnErrorThatIsNotRetryable(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"a record that does not exist": {404, `{"message":"Not found."}`, aicontent.ErrNotFound},
		"a refused key":                {401, `{"message":"Unauthenticated."}`, aicontent.ErrUnauthorized},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(t, fakes.Respond(row.status, row.body))
			image, err := c.Images.Wait(t.Context(), "7")
			require.ErrorIs(t, err, row.want, name)
			assert.Nil(t, image, name)
			assert.Len(t, s.Sent, 1, name)
			c, s = scripted(t, fakes.OK(undrawn), fakes.Respond(row.status, row.body))
			image, err = c.Images.Wait(t.Context(), "7")
			require.ErrorIs(t, err, row.want, name)
			require.NotNil(t, image, "%s: the record that was shown before", name)
			assert.Equal(t, aicontent.ID("7"), image.ID, name)
			assert.Len(t, s.Sent, 2, name)
		})
	}
}

func TestWaitOutlastsRetryableErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, fakes.Respond(503, ``), fakes.Lose, fakes.OK(undrawn),
			fakes.Respond(429, `{}`, "Retry-After", "600"), fakes.Respond(429, `{}`, "Retry-After", "2"),
			fakes.OK(drawn))
		_, err := c.Images.Wait(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, seconds(1, 2, 4, 600, 16), s.Pauses(), "the later of the pause and RetryAt")
	})
}

// ends makes contexts that end after a time, by their error. The cause of the cancelled one holds the key.
var ends = map[error]func(context.Context, time.Duration) (context.Context, context.CancelFunc){
	context.DeadlineExceeded: context.WithTimeout,
	context.Canceled: func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(d, func() { cancel(errors.New("the user left with " + fakes.Key)) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	},
}

func TestWaitReturnsTheLastRecordWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		next func(*http.Request) (*http.Response, error) // the second Show, which begins after a second
		text string
	}{
		"during a pause":            {fakes.OK(undrawn), ""},
		"during Show":               {fakes.Hang, "images.show: context "},
		"after a Show that failed":  {fakes.Respond(503, `{"message":"Back soon."}`), "; images.show: 503: Back soon."},
		"after a lost connection":   {fakes.Lose, "; images.show: connection reset by peer"},
		"after a page of a gateway": {fakes.Respond(404, `<html>`), "; images.show: 404: "},
	} {
		for want, ending := range ends {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := ending(t.Context(), 2*time.Second)
				defer cancel()
				c, s := scripted(t, fakes.OK(undrawn), row.next)
				start := time.Now()
				image, err := c.Images.Wait(ctx, "7")
				require.ErrorIs(t, err, want, name)
				require.NotNil(t, image, name)
				assert.Equal(t, aicontent.ID("7"), image.ID, name)
				assert.Len(t, s.Sent, 2, name)
				assert.Equal(t, 2*time.Second, time.Since(start), name)
				assert.Equal(t, aicontent.OutcomeExecuted, aicontent.OutcomeOf(err), name)
				assert.True(t, aicontent.Retryable(err), name)
				assert.NotErrorIs(t, err, aicontent.ErrNotFound, name)
				assert.ErrorContains(t, err, "images.wait: the record exists, but is not complete: ", name)
				assert.Equal(t, 1, strings.Count(err.Error(), want.Error()), "%s: %v", name, err)
				assert.ErrorContains(t, err, row.text, name)
				assert.NotContains(t, err.Error(), "\n", name)
				fakes.AssertNoKey(t, err, fakes.Key)
			})
		}
	}
}

func TestWaitWithoutASuccessfulShowDoesNotSayThatTheRecordExists(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		show  func(*http.Request) (*http.Response, error)
		after time.Duration
		shows int
	}{
		"before the first Show":           {fakes.OK(drawn), 0, 0},
		"during the first Show":           {fakes.Hang, time.Second / 2, 1},
		"while the service is down":       {fakes.Respond(503, ``), 10 * time.Second, 4},
		"while no connection is possible": {fakes.Lose, 10 * time.Second, 4},
	} {
		for want, ending := range ends {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := ending(t.Context(), row.after)
				defer cancel()
				synctest.Wait()
				c, s := scripted(t, row.show)
				image, err := c.Images.Wait(ctx, "7")
				require.ErrorIs(t, err, want, name)
				assert.Nil(t, image, name)
				assert.Len(t, s.Sent, row.shows, name)
				assert.NotEqual(t, aicontent.OutcomeExecuted, aicontent.OutcomeOf(err), name)
				assert.True(t, aicontent.Retryable(err), name)
				assert.Equal(t, 1, strings.Count(err.Error(), want.Error()), "%s: %v", name, err)
				assert.NotContains(t, err.Error(), "exists", name)
				fakes.AssertNoKey(t, err, fakes.Key)
			})
		}
	}
}

// A queue runs the job again at that time.
func TestWaitReturnsTheErrorAndTheTimeOfTheLastShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		c, _ := scripted(t, fakes.Respond(429, `{"message":"Too many."}`, "Retry-After", "600", "X-Request-Id", "8f3a"))
		_, err := c.Images.Wait(ctx, "7")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, start.Add(10*time.Minute), aicontent.RetryAt(err))
		assert.Equal(t, "timed out", aicontent.Reason(err))
		var refused *aicontent.APIError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "8f3a", refused.RequestID)
	})
}

// The transcription of silence has no result to wait for.
func TestWaitForTheResultOfSilenceEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"an empty text": `{"id":7,"name":"n","result":""}`,
		"null":          `{"id":7,"name":"n","result":null}`,
		"no member":     `{"id":7,"name":"n"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			c, s := scripted(t, fakes.OK(body))
			start := time.Now()
			transcription, err := c.Transcriptions.Wait(ctx, "7")
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.NotNil(t, transcription, name)
			assert.Equal(t, aicontent.ID("7"), transcription.ID, name)
			assert.Equal(t, aicontent.OutcomeExecuted, aicontent.OutcomeOf(err), name)
			assert.EqualError(t, err, "transcriptions.wait: the record exists, but is not complete: "+
				"context deadline exceeded", name)
			assert.Equal(t, time.Hour, time.Since(start), name)
			assert.Len(t, s.Sent, 124, "%s: six until 31 s have passed, then one each 30 s", name)
		})
	}
}
