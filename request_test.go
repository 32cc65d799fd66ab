package aicontent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/lenient"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// responsesIn reads a folder of testdata. Its files must be those that there are cases for, so that none is forgotten.
func responsesIn[C any](t testing.TB, folder string, cases map[string]C) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	require.NoError(t, err)
	bodies := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		bodies[filepath.Base(file)] = body
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(cases)), slices.Collect(maps.Keys(bodies)), "files and cases of testdata/%s", folder)
	return bodies
}

// What compresses, splits or labels a response must not decide whether a paid record is read.
func TestRecordIsReadHoweverItsResponseIsFramed(t *testing.T) {
	t.Parallel()
	var lighthouse error
	cases := map[string]error{
		"wrong-type.http": lighthouse, "no-type.http": lighthouse, "gzip.http": lighthouse, "gzip-two-members.http": lighthouse,
		"deflate.http": lenient.ErrNotJSON, "deflate-in-name-only.http": lighthouse, "identity.http": lighthouse,
		"chunked.http": lighthouse, "until-close.http": lighthouse,
		"empty.http": lenient.ErrEmpty, "no-content.http": lenient.ErrEmpty, "no-content-gzip.http": lenient.ErrEmpty, "empty-gzip.http": lenient.ErrEmpty,
		"page.http": lenient.ErrHTML, "cut-off.http": wire.ErrCutOff, "cut-off-gzip.http": wire.ErrCutOff, "cut-off-chunked.http": wire.ErrCutOff, "broken-gzip.http": wire.ErrCutOff,
		"deleted.http": lighthouse,
	}
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	for name, raw := range responsesIn(t, "responses", cases) {
		t.Run(name, func(t *testing.T) {
			for _, opts := range [][]Option{nil, {WithHTTPClient(plain)}} {
				image, err := deployment(t, respondingBytes(raw), opts...).Images.Show(t.Context(), "7")
				if cases[name] != nil {
					var unread *DecodeError
					require.ErrorAs(t, err, &unread)
					assert.ErrorIs(t, err, cases[name])
					assert.Nil(t, image)
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, ID("7"), image.ID)
			}
		})
	}
}

// Support asks for the ID of the request, which is in one header or another.
func TestErrorsAndResponsesHaveTheRequestID(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-RequestId", "X-Amzn-Trace-Id", "X-Trace-Id", "CF-Ray"} {
		c := deployment(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, "req-7")
			w.WriteHeader(http.StatusNotFound)
		})
		var resp *Response
		_, err := c.Images.Show(t.Context(), "7", WithResponse(&resp))
		var api *APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, "req-7", api.RequestID, name)
		assert.Equal(t, "req-7", resp.RequestID, name)
	}
}

// The raw response belongs to the caller: changing it must not change the record.
func TestResponseDoesNotShareMemoryWithTheRecord(t *testing.T) {
	t.Parallel()
	var resp *Response
	image, err := deployment(t, respondingBody(201, []byte(`{"id":7,"name":"Lighthouse"}`))).Images.Show(t.Context(), "7", WithResponse(&resp))
	require.NoError(t, err)
	assert.Equal(t, 201, resp.StatusCode)
	assert.Equal(t, 1, resp.Attempts)
	assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.Equal(t, `{"id":7,"name":"Lighthouse"}`, string(resp.Body))
	clear(resp.Body)
	assert.JSONEq(t, `{"id":7,"name":"Lighthouse"}`, string(image.Raw()))
}

// A long text takes its time over a slow link, as a file does: only stalls and the wait for the response are limited.
func TestLongTextMayBeSentSlowlyButNotStall(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 8<<20/5)
	for name, row := range map[string]struct {
		stalls bool
		took   time.Duration
	}{
		"slow":   {false, 129 * time.Second},
		"stalls": {true, 24 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := make(chan struct{})
				defer close(done)
				c := piped(t, func(nc net.Conn) {
					r := bufio.NewReader(nc)
					req, err := http.ReadRequest(r)
					for n := int64(0); err == nil && n < req.ContentLength; n += 64 << 10 {
						if row.stalls && n == 1<<20 {
							<-done
							return
						}
						_, err = io.CopyN(io.Discard, r, min(64<<10, req.ContentLength-n))
						time.Sleep(time.Second)
					}
					_, _ = io.WriteString(nc, fakes.OnTheWire(200, "", `{"data":{"id":7}}`))
				}, WithResponseTimeout(2*time.Second), WithStallTimeout(9*time.Second))
				start := time.Now()
				_, err := c.Transcriptions.Update(t.Context(), "7", TranscriptionUpdateParams{Result: &text})
				assert.Equal(t, row.took, time.Since(start))
				if !row.stalls {
					require.NoError(t, err)
					return
				}
				var late *wire.TimeoutError
				require.ErrorAs(t, err, &late)
				assert.Equal(t, wire.TimeoutError{Phase: wire.Sending, Limit: 9 * time.Second}, *late)
			})
		})
	}
}

// slowBody returns some bytes and then waits for the end of the request's context.
type slowBody struct {
	io.Reader
	ctx context.Context
}

func (b slowBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b slowBody) Close() error { return nil }

func stalling(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: slowBody{strings.NewReader(`{"data":{"id":7,`), r.Context()}}, nil
}

// A response that stops coming is cut off: it proves nothing of a create request, and a Show call is retried.
func TestResponseThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakes.Script{Responses: fakes.Responses{stalling}}
		start := time.Now()
		_, err := over(t, s).Images.Store(t.Context(), aStore)
		var decode *DecodeError
		require.ErrorAs(t, err, &decode)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		assert.Equal(t, 10*time.Minute, time.Since(start))
		assert.Equal(t, `{"data":{"id":7,`, string(decode.Body))
		var timeout *wire.TimeoutError
		require.ErrorAs(t, err, &timeout)

		s = &fakes.Script{Responses: fakes.Responses{stalling, fakes.OK(fakes.StoredImage)}}
		_, err = over(t, s).Images.Show(t.Context(), "7")
		require.NoError(t, err)
		assert.Len(t, s.Asked, 2)
	})
}

// The end of the caller's context is not the service's slowness, and nothing is retried after it.
func TestContextThatEndsWithinTheResponseEndsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, 2*time.Second)
		defer cancel()
		s := &fakes.Script{Responses: fakes.Responses{stalling}}
		_, err := over(t, s).Images.Show(ctx, "7")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errUserLeft)
		assert.Len(t, s.Asked, 1)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

var errUserLeft = errors.New("the user left")

// contextAfter is a context that is cancelled, without a deadline to see, after d.
func contextAfter(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errUserLeft) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

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

func TestPausesStayBelowTheirLimits(t *testing.T) {
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
func TestPauseBeyondTheDeadlineIsNotBegun(t *testing.T) {
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

func TestContextEndsAPause(t *testing.T) {
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

// A pause is made also where the service does not ask for one.
func TestPausesAreMadeWithoutRetryAfter(t *testing.T) {
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

// The error names an encoding that was not asked for, instead of calling the response broken JSON.
func TestErrorNamesAnUnknownEncoding(t *testing.T) {
	t.Parallel()
	c := deployment(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("\x0b\x02\x80{}\x03"))
	})
	_, err := c.Images.Show(t.Context(), "7")
	assert.EqualError(t, err, `images.show: 200: the response is not JSON: its Content-Encoding is "br"`)
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
func TestEach2xxIsASuccess(t *testing.T) {
	t.Parallel()
	for status, ok := range map[int]bool{200: true, 201: true, 206: true, 299: true, 199: false, 300: false} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(status, `{"id":7}`)}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		assert.Equal(t, ok, err == nil, "%d: %v", status, err)
	}
}

// An intermediary's plain text may look like JSON.
func TestBodiesAreClassifiedByTheirContent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]engine.ContentKind{
		``: engine.None, " \n": engine.None,
		`{"message":"Forbidden"}`: engine.JSON, `[]`: engine.JSON, `{"error":"no"}`: engine.Error,
		`{"mess`: engine.Text, `{nonsense`: engine.Text, `[1,`: engine.Text, `404`: engine.Text, `"Forbidden"`: engine.Text,
		`null`: engine.Text, `n`: engine.Text, `Forbidden`: engine.Text, `[warn] slow`: engine.Text, `<html>`: engine.Page,
	} {
		assert.Equal(t, want, kindOf(body, nil), "%q", body)
	}
	page := http.Header{"Content-Type": {"text/HTML; charset=utf-8"}}
	assert.Equal(t, engine.Page, kindOf("Forbidden", page))
	assert.Equal(t, engine.JSON, kindOf("{}", page))
}

// net/http recovers a panic in a handler, which may log the response.
func TestResponseIsKeptIfALaterAttemptPanics(t *testing.T) {
	t.Parallel()
	attempts := 0
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if attempts++; attempts == 2 {
			panic("boom")
		}
		return fakes.Respond(500, `{"message":"down"}`)(r)
	}), WithRetryPolicy(quick))
	var resp *Response
	assert.Panics(t, func() { _, _ = c.Images.Show(t.Context(), "7", WithResponse(&resp)) })
	require.NotNil(t, resp)
	assert.Equal(t, 500, resp.StatusCode)
	assert.Equal(t, `{"message":"down"}`, string(resp.Body))
	assert.Equal(t, 100, retriesLeft(c))
}

// A call that may make one attempt alone must not end with a key that was replaced meanwhile.
func TestAnotherKeyIsTriedWhateverMaxAttemptsSays(t *testing.T) {
	t.Parallel()
	refused := fakes.Respond(401, `{"message":"Unauthenticated."}`)
	busy := fakes.Respond(429, ``)
	for _, row := range []struct {
		policy    int
		responses fakes.Responses
		attempts  int
	}{
		{1, fakes.Responses{refused, fakes.OK(fakes.StoredImage)}, 2},
		{2, fakes.Responses{busy, refused, fakes.OK(fakes.StoredImage)}, 3},
		{3, fakes.Responses{refused, busy, busy, fakes.OK(fakes.StoredImage)}, 4},
	} {
		for _, name := range []string{"images.show", "images.store"} {
			asked := 0
			source := WithAPIKeySource(func(context.Context) (string, error) { asked++; return fmt.Sprint("key-number-", asked), nil })
			policy := WithRetryPolicy(RetryPolicy{MaxAttempts: row.policy, MinBackoff: -1})
			s := &fakes.Script{Responses: row.responses}
			require.NoError(t, allTen(over(t, s, source, policy))[name](t.Context()), "%s, %d", name, row.policy)
			assert.Len(t, s.Asked, row.attempts)

			s = &fakes.Script{Responses: append(slices.Clone(row.responses[:row.attempts-1]), busy)}
			err := allTen(over(t, s, source, policy))[name](t.Context())
			require.ErrorIs(t, err, ErrRateLimited)
			assert.ErrorContains(t, err, fmt.Sprintf("attempt %d of %[1]d", row.attempts), "no further one follows")
		}
	}
}

// A header that HTTP does not allow must not make a call wait for ever, or give up.
func TestUnreadableRetryAfterIsIgnored(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"inf", "Infinity", "1e9", "0x10", "nan", "-5", "1_000", "1.2.3"} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ``, "Retry-After", header), fakes.OK(fakes.StoredImage)}}
			_, err := over(t, s).Images.Show(t.Context(), "7")
			require.NoError(t, err, header)
			assert.LessOrEqual(t, s.Pauses()[0], 500*time.Millisecond, header)
		})
	}
}

// A program's clock may be an hour fast, and its calls would not wait at all.
func TestRetryAfterAsADateCountsFromTheDateOfTheResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(-time.Hour)
		busy := fakes.Respond(429, ``,
			"Date", date.Format(http.TimeFormat), "Retry-After", date.Add(7*time.Second).Format(http.TimeFormat))
		s := &fakes.Script{Responses: fakes.Responses{busy, fakes.OK(fakes.StoredImage)}}
		_, err := over(t, s).Images.Store(t.Context(), aStore)
		require.NoError(t, err)
		assert.Equal(t, []time.Duration{7 * time.Second}, s.Pauses())

		s = &fakes.Script{Responses: fakes.Responses{busy}}
		_, err = over(t, s, WithRetryPolicy(oneAttempt)).Images.Store(t.Context(), aStore)
		assert.Equal(t, time.Now().Add(7*time.Second), RetryAt(err))
	})
}

// A RoundTripper that returns one response again and again, as a cache does, must not see its header changed.
func TestHeaderThatResponsesShareIsNotChanged(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 302, 422} {
		header := http.Header{
			"Content-Encoding": {"gzip"}, "Content-Length": {"999"}, "Location": {"https://[::1/%zz"}, "X-Key": {fakes.Key},
		}
		before := header.Clone()
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			body := io.NopCloser(strings.NewReader(fakes.StoredImage))
			return &http.Response{StatusCode: status, Header: header, Body: body, ContentLength: -1, Request: r}, nil
		}), WithRetryPolicy(oneAttempt))
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				var resp *Response
				_, err := c.Images.Show(t.Context(), "7", WithResponse(&resp))
				assert.Equal(t, status == 200, err == nil, "%v", err)
				resp.Header.Set("X-Mine", "1")
				_, _ = c.Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
			})
		}
		group.Wait()
		assert.Equal(t, before, header, status)
	}
}

// The numbers include five allocations of the transport, and two that the race detector may add. Each record of a list owns its memory: a struct and a text.
func TestCallsAllocateLittle(t *testing.T) {
	records := make([]string, 100)
	for i := range records {
		records[i] = fmt.Sprintf(`{"id":%d,"name":"n%d","url":"https://cdn.example.com/%d.png"}`, i, i, i)
	}
	list := `{"data":[` + strings.Join(records, ",") + `]}`
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/images") {
			return fakes.OK(list)(r)
		}
		return fakes.OK(fakes.StoredImage)(r)
	}))
	for name, row := range map[string]struct {
		most float64
		call func() error
	}{
		"Show":          {30, func() error { return showSeven(t.Context(), c) }},
		"a list of 100": {290, func() error { _, err := c.Images.List(t.Context(), ImageListParams{}); return err }},
	} {
		var err error
		count := testing.AllocsPerRun(200, func() { err = errors.Join(err, row.call()) })
		require.NoError(t, err)
		assert.LessOrEqual(t, count, row.most, name)
	}
}

// An attempt without a response counts, too.
func TestCapturedResponseCountsAllAttempts(t *testing.T) {
	t.Parallel()
	lost := fakes.RoundTripper(fakes.Lose)
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(502, ``), lost, lost, lost}}
	var resp *Response
	_, err := over(t, s, WithRetryPolicy(quick)).Images.Show(t.Context(), "7", WithResponse(&resp))
	require.Error(t, err)
	require.NotNil(t, resp)
	assert.Equal(t, 502, resp.StatusCode)
	assert.Equal(t, 3, resp.Attempts)
}
