package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/upload"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// fileOf returns a request that uploads a file.
func fileOf(source upload.Source, size int64) Request {
	req := requestOf(Create)
	req.Body = upload.Multipart(url.Values{"name": {"n"}}, "file", upload.File{Name: "a.wav", Source: source}, size)
	return req
}

// lastOf makes a call of one attempt that fails, and returns that attempt.
func lastOf(t *testing.T, ctx context.Context, s *Sender, req Request, set Settings) Attempt {
	t.Helper()
	_, f := s.Do(ctx, req, set, readBraces)
	require.NotNil(t, f)
	require.Equal(t, 1, f.Attempts)
	return f.Last
}

func TestAttemptHasTheHeadersOfItsKindAndAPictureNoKey(t *testing.T) {
	t.Parallel()
	ofAPI := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Authorization": {"Bearer " + fakes.Key},
		"User-Agent": {"engine-test"},
	}
	more := http.Header{"Accept": {"text/plain"}, "X-Tenant": {"a", "b"}}
	withMore := ofAPI.Clone()
	maps.Copy(withMore, more)
	for name, row := range map[string]struct {
		kind Kind
		more http.Header
		want http.Header
	}{
		"an API call":                         {Read, nil, ofAPI},
		"an API call with headers of its own": {Read, more, withMore},
		"a picture": {Fetch, http.Header{"Accept": {"image/*"}}, http.Header{
			"Accept": {"image/*"}, "Accept-Encoding": {"identity"}, "User-Agent": {"engine-test"},
		}},
	} {
		s := &fakes.Script{Responses: fakes.Responses{ok}}
		req := requestOf(row.kind)
		req.Header = row.more
		_, f := senderOver(s).Do(t.Context(), req, atOnce, readBraces)
		require.Nil(t, f, name)
		assert.Equal(t, row.want, s.Sent[0].Header, name)
		assert.Equal(t, "content.example.com", s.Sent[0].Host)
	}
}

// A RoundTripper may rewrite a request, as some that sign it do.
func TestAttemptsShareNeitherURLNorHeader(t *testing.T) {
	t.Parallel()
	var seen []string
	sender := senderOver(fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		seen = append(seen, fmt.Sprint(r.URL, r.Header["X-Tenant"], r.Header["Accept"]))
		r.URL.Host, r.URL.Path, r.URL.RawQuery = "10.0.0.1", "/other", ""
		r.Header["X-Tenant"][0] = "other"
		for name := range r.Header {
			r.Header.Add(name, "other")
			assert.Len(t, r.Header[name], 2, "a line of the header shares memory with another: %v", r.Header)
		}
		return busy(r)
	}))
	req := requestOf(Read)
	req.URL.RawQuery = "a=1"
	req.Header = http.Header{"X-Tenant": {"mine"}}
	_, f := sender.Do(t.Context(), req, atOnce, readBraces)
	require.NotNil(t, f)
	const same = "https://content.example.com/api/v1/images?a=1 [mine] [application/json]"
	assert.Equal(t, []string{same, same, same}, seen)
	assert.Equal(t, http.Header{"X-Tenant": {"mine"}}, req.Header)
}

// A reader that is used up must not turn a 429 into an upload of nothing.
func TestABodyThatCannotBeSentAgainMeansOneAttempt(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, "")}}
	req := fileOf(upload.Reader(io.MultiReader(strings.NewReader("RIFF"))), -1)
	_, f := senderOver(s).Do(t.Context(), req, atOnce, readBraces)
	require.NotNil(t, f)
	assert.Equal(t, NoReplay, f.Why)
	assert.True(t, f.Retryable, "the caller may have the file still")
	assert.Len(t, s.Sent, 1)
}

func TestEachAttemptSendsTheSameBytesAndTellsOfItsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the last report of an attempt is waited for, but not forever
		var told []string
		set := atOnce
		set.Progress = func(sent int64, attempt int) { told = append(told, fmt.Sprint(sent, " in ", attempt)) }
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ""), ok}}
		_, f := senderOver(s).Do(t.Context(), fileOf(upload.Bytes([]byte("RIFF")), 4), set, readBraces)
		require.Nil(t, f)
		require.Len(t, s.Bodies, 2)
		assert.Contains(t, s.Bodies[0], "RIFF")
		assert.Equal(t, s.Bodies[0], s.Bodies[1])
		assert.Contains(t, told, "4 in 1")
		assert.Contains(t, told, "4 in 2")
	})
}

// Many errors that are kept at once must not fill the memory, and records may be larger than errors.
func TestErrorResponsesAreReadUpToOneMebibyte(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status, size int
		limit        int64
		kept         int
	}{
		"a short error":                   {500, 100, 8 << 20, 100},
		"the longest error":               {500, 1 << 20, 8 << 20, 1 << 20},
		"a longer error":                  {500, 1<<20 + 1, 8 << 20, 1 << 20},
		"an error above a low limit":      {500, 100, 10, 10},
		"a success":                       {200, 2 << 20, 8 << 20, 2 << 20},
		"a success above the limit":       {200, 3 << 20, 2 << 20, 2 << 20},
		"a success that ends at the size": {200, 2 << 20, 2 << 20, 2 << 20},
	} {
		sender := senderOver(fakes.RoundTripper(fakes.Respond(row.status, strings.Repeat("a", row.size))))
		sender.MaxResponse = row.limit
		a := lastOf(t, t.Context(), sender, requestOf(Create), atOnce)
		assert.Len(t, a.Reply.Body, row.kept, name)
		assert.Equal(t, row.kept < row.size, a.Reply.Err != nil, "%s: %v", name, a.Reply.Err)
		assert.False(t, a.Reply.Cut, "%s: the service sent all of it", name)
	}
}

// The text before the end may be the beginning of the key.
func TestABodyThatIsCutOffDoesNotEndWithinTheKey(t *testing.T) {
	t.Parallel()
	body := "your key " + fakes.Key + " and " + fakes.Key[:10]
	sender := senderOver(fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
		cut := io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(cut), ContentLength: 100}, nil
	}))
	a := lastOf(t, t.Context(), sender, requestOf(Create), atOnce)
	assert.True(t, a.Reply.Cut)
	assert.ErrorIs(t, a.Reply.Err, wire.ErrCutOff)
	assert.ErrorIs(t, a.Reply.Err, io.ErrUnexpectedEOF)
	assert.Equal(t, "your key [API key] and ", a.Reply.Body)
}

// stalled responds with some bytes, and then waits for the end of the request's context.
func stalled(body string) fakes.RoundTripper {
	return func(r *http.Request) (*http.Response, error) {
		rest := readerFunc(func([]byte) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})
		all := io.NopCloser(io.MultiReader(strings.NewReader(body), rest))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: all, ContentLength: -1}, nil
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The limit, not the context that it ended, is the reason that a user can act on.
func TestAResponseThatStallsNamesTheLimitThatEndedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := Settings{Policy: Policy{MaxAttempts: 1}, Wait: time.Minute, Option: "WithWait", Stall: 5 * time.Second}
		for kind, want := range map[Kind]wire.TimeoutError{
			Read:  {Phase: wire.Waiting, Limit: time.Minute, Option: "WithWait"},
			Fetch: {Phase: wire.Receiving, Limit: 5 * time.Second},
		} {
			start := time.Now()
			a := lastOf(t, t.Context(), senderOver(stalled(`{"id`)), requestOf(kind), set)
			late, ok := errors.AsType[*wire.TimeoutError](a.Err)
			require.True(t, ok, a.Err)
			assert.Equal(t, want.Phase, late.Phase)
			assert.Equal(t, want.Option, late.Option)
			assert.NotErrorIs(t, a.Err, context.Canceled)
			assert.Equal(t, want.Limit, time.Since(start))
			assert.Equal(t, want.Limit, a.Took)
			assert.Equal(t, Broke, a.Facts.End)
			assert.True(t, a.Facts.Content.Cut)
		}
	})
}

func TestTheContextCountsBeforeTheErrorThatItCaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, rt := range map[string]fakes.RoundTripper{
			"before a response":   fakes.Hang,
			"within the response": stalled(`{"id`),
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := time.AfterFunc(time.Second, func() { cancel(errUserLeft) })
			a := lastOf(t, ctx, senderOver(rt), requestOf(Create), atOnce)
			timer.Stop()
			assert.ErrorIs(t, a.Err, context.Canceled, name)
			assert.ErrorIs(t, a.Err, errUserLeft, name)
			assert.Equal(t, Cancelled, a.Facts.End, name)
			assert.Equal(t, 1, strings.Count(a.Err.Error(), "the user left"), a.Err)
		}
	})
}

// A cause of io.EOF must not make half a response look whole.
func TestAContextThatEndsWithEOFDoesNotEndAResponse(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Read, Fetch} {
		ctx, cancel := context.WithCancelCause(t.Context())
		sender := senderOver(fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			rest := readerFunc(func([]byte) (int, error) {
				cancel(io.EOF)
				return 0, context.Cause(r.Context())
			})
			all := io.NopCloser(io.MultiReader(strings.NewReader("{}"), rest))
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: all, ContentLength: -1}, nil
		}))
		a := lastOf(t, ctx, sender, requestOf(kind), atOnce)
		assert.ErrorIs(t, a.Err, context.Canceled)
		assert.True(t, a.Facts.Content.Cut)
		assert.False(t, a.Verdict.OK)
	}
}

// The text of http.Client's error has the query, which may be personal.
func TestTheErrorOfHTTPClientIsUnwrapped(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	lost := fakes.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, boom })
	req := requestOf(Create)
	req.URL.RawQuery = "search=private"
	assert.Equal(t, boom, lastOf(t, t.Context(), senderOver(lost), req, atOnce).Err)
}

func TestAttemptTellsWhyItEndedAndIfAllWasSent(t *testing.T) {
	t.Parallel()
	wav := upload.Bytes([]byte("RIFF"))
	broken := upload.Reader(iotest.ErrReader(errors.New("the disk is gone")))
	for name, row := range map[string]struct {
		rt       fakes.RoundTripper
		req      Request
		end      End
		complete bool
	}{
		"the network":              {fakes.Lose, requestOf(Create), Broke, true},
		"a response":               {busy, requestOf(Create), Broke, true},
		"a refused redirect":       {fails(fmt.Errorf("%w: gave up", ErrRedirect)), requestOf(Fetch), Fatal, true},
		"http on an https:// port": {fails(http.ErrSchemeMismatch), requestOf(Create), Fatal, true},
		"a file that fails":        {read, fileOf(broken, 4), Unread, false},
		"a file that is missing":   {read, fileOf(upload.FS(fstest.MapFS{}, "a.wav"), 4), Unread, false},
		"a refused HTTP/2 stream":  {fails(streamError{Code: 7}), requestOf(Read), Refused, true},
		"another HTTP/2 error":     {fails(streamError{Code: 1}), requestOf(Read), Broke, true},
		"an upload that breaks":    {fakes.Lose, fileOf(wav, 4), Broke, false},
		"an upload that was sent":  {readAndLose, fileOf(wav, 4), Broke, true},
	} {
		a := lastOf(t, t.Context(), senderOver(row.rt), row.req, Settings{Policy: Policy{MaxAttempts: 1}})
		assert.Equal(t, row.end, a.Facts.End, "%s: %v", name, a.Err)
		assert.Equal(t, row.complete, a.Facts.Complete, name)
	}
}

func TestAFileThatStallsEndsTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		stuck := readerFunc(func([]byte) (int, error) { <-until; return 0, io.EOF })
		set := Settings{Policy: Policy{MaxAttempts: 1}, Stall: time.Minute}
		req := fileOf(upload.Reader(io.MultiReader(strings.NewReader("RIFF"), stuck)), -1)
		a := lastOf(t, t.Context(), senderOver(fakes.RoundTripper(read)), req, set)
		assert.Equal(t, Idle, a.Facts.End)
		assert.ErrorIs(t, a.Err, upload.ErrSource)
		assert.Equal(t, Verdict{Outcome: NotExecuted, Next: Retry}, a.Verdict)
	})
}

// streamError has the shape of the error of net/http for an HTTP/2 stream that was reset.
type streamError struct{ Code uint32 }

func (e streamError) Error() string { return fmt.Sprint("stream error ", e.Code) }

// As fills a struct with the same field, as net/http's error does.
func (e streamError) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	if to.Kind() != reflect.Struct || !to.FieldByName("Code").IsValid() {
		return false
	}
	to.FieldByName("Code").SetUint(uint64(e.Code))
	return true
}

func fails(err error) fakes.RoundTripper {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// read is a transport that reads the body of the request.
func read(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return ok(r)
}

func readAndLose(r *http.Request) (*http.Response, error) {
	_, _ = read(r)
	return fakes.Lose(r)
}

// A success may ask its readers to come back later: that is no failure to retry for free.
func TestRetryAfterOfASuccessIsNotAWait(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]time.Duration{
		200: 0, 202: 0, 302: 7 * time.Second, 429: 7 * time.Second, 503: 7 * time.Second,
	} {
		rt := fakes.RoundTripper(fakes.Respond(status, "", "Retry-After", "7"))
		a := lastOf(t, t.Context(), senderOver(rt), requestOf(Create), Settings{Policy: Policy{MaxAttempts: 1}})
		assert.Equal(t, want, a.RetryAfter, status)
	}
}

// A fake that forgets the status must not look like a lost response without a reason.
func TestAResponseWithoutAStatusIsAnError(t *testing.T) {
	t.Parallel()
	closed := false
	rt := fakes.RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{Body: closer(func() { closed = true })}, nil
	})
	a := lastOf(t, t.Context(), senderOver(rt), requestOf(Create), atOnce)
	assert.EqualError(t, a.Err, "the RoundTripper returned a response without a status")
	assert.Equal(t, Verdict{Outcome: Unknown}, a.Verdict)
	assert.True(t, closed)
}

type closer func()

func (closer) Read([]byte) (int, error) { return 0, io.EOF }
func (c closer) Close() error           { c(); return nil }

func TestInspectReturnsTheSizeOfAFileThatMayBeSent(t *testing.T) {
	t.Parallel()
	wav := upload.Bytes([]byte("RIFF\x04\x00\x00\x00WAVE"))
	size, problem, err := Inspect(t.Context(), upload.File{Name: "a.wav", Source: wav}, 0)
	require.NoError(t, err)
	assert.Empty(t, problem.Reason)
	assert.EqualValues(t, 12, size)
}

// waiting is a file system whose files wait to be opened.
type waiting struct{ until chan struct{} }

func (w waiting) Open(string) (fs.File, error) { <-w.until; return nil, os.ErrNotExist }

func TestInspectEndsWithTheContextOrTheStallLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		f := upload.File{Name: "a.wav", Source: upload.FS(waiting{until}, "a.wav")}
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(time.Second, func() { cancel(errUserLeft) })
		defer timer.Stop()
		_, _, err := Inspect(ctx, f, time.Minute)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, errUserLeft)

		start := time.Now()
		_, _, err = Inspect(t.Context(), f, time.Minute)
		late, ok := errors.AsType[*wire.TimeoutError](err)
		require.True(t, ok, err)
		assert.Equal(t, wire.Reading, late.Phase)
		assert.ErrorIs(t, err, upload.ErrSource)
		assert.WithinDuration(t, start.Add(time.Minute), time.Now(), time.Second)
	})
}
