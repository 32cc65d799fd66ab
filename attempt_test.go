package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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

// deployment is a client of a service that has one response to everything.
func deployment(t testing.TB, handler http.HandlerFunc, opts ...Option) *Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	c, err := NewClient(srv.URL+"/tenant", "a-key-for-tests", append([]Option{WithRetryPolicy(oneAttempt)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// piped is a client whose connections end in serve, within the bubble of a test.
func piped(t *testing.T, serve func(nc net.Conn), opts ...Option) *Client {
	t.Helper()
	transport := WithHTTPClient(&http.Client{Transport: fakes.Piped(t, serve)})
	c, err := NewClient("http://127.0.0.1/tenant", fakes.Key, append([]Option{transport, WithRetryPolicy(oneAttempt)}, opts...)...)
	require.NoError(t, err)
	return c
}

// respondingBody responds with a status and a body.
func respondingBody(status int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

// respondingBytes puts a response on the wire as it stands, and closes the connection.
func respondingBytes(raw []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write(raw)
	}
}

// What compresses, splits or labels a response must not decide whether a paid record is read.
func TestWholeResponses(t *testing.T) {
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

// The API does not specify the response to a delete: after any 2xx that is no page the record is deleted.
func TestDeletedWhateverTheResponse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{
		"deleted.http": nil, "no-content.http": nil, "no-content-gzip.http": nil, "empty.http": nil, "gzip.http": nil, "empty-gzip.http": nil,
		"page.http": lenient.ErrHTML, "cut-off.http": wire.ErrCutOff, "deflate.http": nil,
	} {
		raw, err := os.ReadFile("testdata/responses/" + name)
		require.NoError(t, err)
		err = deployment(t, respondingBytes(raw)).Images.Delete(t.Context(), "7")
		if want == nil {
			assert.NoError(t, err, name)
			continue
		}
		var unread *DecodeError
		require.ErrorAs(t, err, &unread, name)
		assert.ErrorIs(t, err, want, name)
	}
}

// What is no record must never look like a success that was paid for, and proves nothing.
func TestOutcomesOfResponsesWithoutARecord(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("internal/lenient/testdata/refused/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		image, err := deployment(t, respondingBody(200, body)).Images.Store(t.Context(), aStore)
		var unread *DecodeError
		require.ErrorAs(t, err, &unread, file)
		assert.Nil(t, image)
		assert.Contains(t, err.Error(), "images.store: 200: ", file)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), file)
		assert.Equal(t, string(body), string(unread.Body))
	}
}

// Support asks for the ID of the request, which is in one header or another.
func TestRequestID(t *testing.T) {
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
func TestResponseIsACopy(t *testing.T) {
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

// A login page must not pass for a deletion, whatever it begins with.
func TestDeleteThatMeetsAPage(t *testing.T) {
	t.Parallel()
	for body, deleted := range map[string]bool{
		"Please <a href=/login>log in</a>": false, "-- portal --\n<html>": false, "": true, "true": true, `{"deleted":true}`: true,
	} {
		err := deployment(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "Text/HTML; charset=UTF-8")
			_, _ = w.Write([]byte(body))
		}).Images.Delete(t.Context(), "7")
		if deleted {
			assert.NoError(t, err, body)
			continue
		}
		assert.ErrorIs(t, err, lenient.ErrHTML, body)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), body)
	}
}

// A long text takes its time over a slow link, as a file does: only stalls and the wait for the response are limited.
func TestUpdateWithALongText(t *testing.T) {
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

// Without WithMaxResponseSize the documented limit holds.
func TestLargestResponseByDefault(t *testing.T) {
	t.Parallel()
	const limit = 32 << 20
	body := `{"id":7}` + strings.Repeat(" ", limit+1-len(`{"id":7}`))
	for size, text := range map[int]string{limit: "", limit + 1: "the response is larger than 33554432 bytes (WithMaxResponseSize)"} {
		s := &fakes.Script{Responses: fakes.Responses{fakes.OK(body[:size])}}
		_, err := over(t, s).Images.Show(t.Context(), "7")
		if text == "" {
			require.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, text)
		}
	}
}

// An error keeps 1 MiB of its response, however long that is.
func TestErrorsKeepTheBeginningOfTheirResponse(t *testing.T) {
	t.Parallel()
	const kept = 1 << 20
	for _, size := range []int{kept, kept + 1, 4 * kept} {
		var resp *Response
		body := strings.Repeat("a", size)
		c := over(t, &fakes.Script{Responses: fakes.Responses{fakes.Respond(500, body)}}, WithRetryPolicy(oneAttempt))
		var refused *APIError
		_, err := c.Images.Show(t.Context(), "7", WithResponse(&resp))
		require.ErrorAs(t, err, &refused)
		assert.Len(t, refused.Body, kept)
		assert.Len(t, resp.Body, kept)
		c = over(t, &fakes.Script{Responses: fakes.Responses{fakes.OK(body)}}, WithRetryPolicy(oneAttempt))
		var unread *DecodeError
		_, err = c.Images.Show(t.Context(), "7", WithResponse(&resp))
		require.ErrorAs(t, err, &unread)
		assert.Len(t, unread.Body, kept)
		assert.Len(t, resp.Body, size, "whole where it is no error by its status")
	}
}

// The headers of a request are a middleware's to add to, one without touching another.
func TestHeadersThatAMiddlewareAddsTo(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(`{"id":7}`)}}
	_, err := over(t, s, WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			for _, name := range []string{"User-Agent", "Accept", "Authorization"} {
				r.Header.Add(name, "added")
			}
			return next.RoundTrip(r)
		})
	})).Images.Show(t.Context(), "7")
	require.NoError(t, err)
	header := s.Sent[0].Header
	assert.Equal(t, []string{"application/json", "added"}, header["Accept"])
	assert.Equal(t, []string{"Bearer " + fakes.Key, "added"}, header["Authorization"])
	assert.Len(t, header["User-Agent"], 2)
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
func TestResponseThatStalls(t *testing.T) {
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
func TestContextThatEndsWhileTheResponseComes(t *testing.T) {
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

// The connection of a response that was read must be used again, whatever the response.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	var mu sync.Mutex
	connections := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		switch requests.Add(1) % 4 {
		case 0:
			w.WriteHeader(404)
			_, _ = io.WriteString(w, strings.Repeat("<p>no</p>", 10_000))
		case 1:
			w.WriteHeader(422)
		case 2:
			w.WriteHeader(204)
		default:
			_, _ = io.WriteString(w, fakes.StoredImage)
		}
	}))
	defer srv.Close()
	c, err := NewClient(srv.URL+"/tenant", fakes.Key, WithRetryPolicy(quick))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	for range 40 {
		_, _ = c.Images.Show(t.Context(), "7")
	}
	// On a busy machine net/http drops a connection whose writing goroutine is 50 ms late. Each kind of response comes ten
	// times.
	assert.Less(t, len(connections), 10)
}

// A service that sends blanks while it works, and dies, need not have created or deleted anything.
func TestBlanksAreNoEvidence(t *testing.T) {
	t.Parallel()
	blanks := respondingBytes([]byte("HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n\n \n"))
	_, err := deployment(t, blanks).Images.Store(t.Context(), aStore)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", err)
	err = deployment(t, blanks).Images.Delete(t.Context(), "7")
	require.Error(t, err, "nothing says that it was deleted")
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err))

	asked := 0
	c := deployment(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			blanks(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"message":"Not found."}`))
	}, WithRetryPolicy(quick))
	require.NoError(t, c.Images.Delete(t.Context(), "7"), "the first request had deleted it")
	assert.Equal(t, 2, asked)
	for raw, evidence := range map[string]bool{
		"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n\n {":         false,
		"HTTP/1.1 201 Created\r\nContent-Length: 200\r\n\r\n\n":      true,
		"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n<html>":       false,
		"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n":             false,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\n\n\n":         true, // a delete needs no response
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n": false,
	} {
		err := deployment(t, respondingBytes([]byte(raw))).Images.Delete(t.Context(), "7")
		assert.Equal(t, evidence, err == nil, "%q: %v", raw, err)
	}
}

func TestContextThatEndsDuringBlanks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextAfter(t, time.Second)
		defer cancel()
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			body := io.MultiReader(bytes.NewReader([]byte("\n \n")), readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}))
			return &http.Response{StatusCode: 200, Body: io.NopCloser(body), Request: r}, nil
		}))
		_, err := c.Images.Store(ctx, aStore)
		require.ErrorIs(t, err, errUserLeft)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
