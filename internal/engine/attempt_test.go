package engine

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
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
	set.Policy = Policy{MaxAttempts: 1}
	_, f := s.Do(ctx, req, set, readBraces)
	require.NotNil(t, f)
	require.Equal(t, 1, f.Last.Number)
	return f.Last
}

// readingBody is a transport that reads the body of the request first.
func readingBody(then fakes.RoundTripper) fakes.RoundTripper {
	return func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return then(r)
	}
}

func fails(err error) fakes.RoundTripper {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// responding sends a response of 200 whose body continues with rest.
func responding(body string, rest func(*http.Request) (int, error)) fakes.RoundTripper {
	return func(r *http.Request) (*http.Response, error) {
		end := readerFunc(func([]byte) (int, error) { return rest(r) })
		all := io.NopCloser(io.MultiReader(strings.NewReader(body), end))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: all, ContentLength: -1}, nil
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

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

func TestEachAttemptSendsTheSameBytesAndReportsItsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 300_000
		var told []string
		set := atOnce
		set.Progress = func(sent int64, attempt int) { told = append(told, fmt.Sprint(sent, " in ", attempt)) }
		s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(429, ""), ok}}
		a, f := senderOver(s).Do(t.Context(), fileOf(upload.Bytes(make([]byte, size)), size), set, readBraces)
		require.Nil(t, f)
		assert.EqualValues(t, size, a.FileSent)
		assert.Equal(t, s.Bodies[0], s.Bodies[1])
		// No time passes between the Reads, so only the first and the last report are due.
		assert.Equal(t, []string{"0 in 1", "300000 in 1", "0 in 2", "300000 in 2"}, told)
	})
}

func TestProgressIsReportedAtMostTwentyTimesASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pieces, pause = 1000, 7 * time.Millisecond
		left, reports := pieces, 0
		set := atOnce
		set.Progress = func(int64, int) { reports++ }
		slow := readerFunc(func(p []byte) (int, error) {
			if left--; left < 0 {
				return 0, io.EOF
			}
			time.Sleep(pause)
			return 1000, nil
		})
		a, f := senderOver(readingBody(ok)).Do(t.Context(), fileOf(upload.Reader(slow), -1), set, readBraces)
		require.Nil(t, f)
		assert.EqualValues(t, 1000*pieces, a.FileSent)
		assert.LessOrEqual(t, reports, int(pieces*pause/reportInterval)+2)
		assert.Greater(t, reports, 100)
	})
}

// A few bytes may claim a huge length.
func TestResponsesTakeNoMoreMemoryThanTheirLimit(t *testing.T) {
	const limit = 1 << 20
	endless := io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), 64*limit)
	for name, row := range map[string]struct {
		body   io.Reader
		length int64
		limit  int64
		size   int
	}{
		"without an end":      {endless, -1, limit, limit},
		"of a claimed length": {strings.NewReader("{"), 1 << 40, 1 << 40, 1},
		"of a known length":   {strings.NewReader(strings.Repeat("7", limit)), limit, limit, limit},
	} {
		resp := &http.Response{Body: io.NopCloser(row.body), ContentLength: row.length}
		var body string
		took := fakes.Allocated(func() { body, _ = readBody(resp, row.limit) })
		assert.Len(t, body, row.size, name)
		assert.Less(t, took, uint64(8*limit), name)
	}
}

// A cause of io.EOF must not make half a response look complete.
func TestContextThatEndsWithEOFDoesNotEndAResponse(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{Read, Fetch} {
		ctx, cancel := context.WithCancelCause(t.Context())
		sender := senderOver(responding("{}", func(r *http.Request) (int, error) {
			cancel(io.EOF)
			return 0, errors.New("connection closed")
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
	req := requestOf(Create)
	req.URL.RawQuery = "search=private"
	assert.Equal(t, boom, lastOf(t, t.Context(), senderOver(fails(boom)), req, atOnce).Err)
}

func TestAttemptKnowsWhyItEndedAndWhetherAllWasSent(t *testing.T) {
	t.Parallel()
	wav := upload.Bytes([]byte("RIFF"))
	broken := upload.Reader(iotest.ErrReader(errors.New("the disk is gone")))
	missing := upload.FS(fstest.MapFS{}, "a.wav")
	used := upload.Reader(io.MultiReader(strings.NewReader("RIFF")))
	_, f := senderOver(readingBody(ok)).Do(t.Context(), fileOf(used, 4), atOnce, readBraces)
	require.Nil(t, f)
	wrapped := func(err error) error { return fmt.Errorf("wrapped: %w", err) }
	untrusted := wrapped(&tls.CertificateVerificationError{Err: io.EOF})
	aReadError := wrapped(&upload.ReadError{Err: errors.New("of another upload")})
	for name, row := range map[string]struct {
		rt       fakes.RoundTripper
		req      Request
		end      End
		complete bool
	}{
		"the network":                    {fakes.Lose, requestOf(Create), Broke, true},
		"a response":                     {busy, requestOf(Create), Broke, true},
		"a refused redirect":             {fails(wrapped(ErrRedirect)), requestOf(Fetch), Fatal, true},
		"a proxy that would see the key": {fails(wrapped(ErrClearProxy)), requestOf(Create), Fatal, true},
		"http on an https:// port":       {fails(http.ErrSchemeMismatch), requestOf(Create), Fatal, true},
		"an untrusted certificate":       {fails(untrusted), requestOf(Create), Fatal, true},
		"another error of the handshake": {fails(wrapped(tls.AlertError(70))), requestOf(Create), Broke, true},
		"a file that fails":              {readingBody(ok), fileOf(broken, 4), Unread, false},
		"a file that is missing":         {readingBody(ok), fileOf(missing, 4), Unread, false},
		"a file whose reader was used":   {readingBody(ok), fileOf(used, 4), Unread, false},
		"a middleware's own file":        {fails(aReadError), fileOf(wav, 4), Broke, false},
		"an upload that breaks":          {fakes.Lose, fileOf(wav, 4), Broke, false},
		"an upload that was sent":        {readingBody(fakes.Lose), fileOf(wav, 4), Broke, true},
	} {
		a := lastOf(t, t.Context(), senderOver(row.rt), row.req, atOnce)
		assert.Equal(t, row.end, a.Facts.End, "%s: %v", name, a.Err)
		assert.Equal(t, row.complete, a.Facts.Complete, name)
	}
}

// A transport may fail because its upload does. The file is the cause.
func TestErrorOfTheFileCountsBeforeThatOfTheTransport(t *testing.T) {
	t.Parallel()
	gone := errors.New("the disk is gone")
	rt := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return nil, errors.New("http2: stream closed")
	})
	a := lastOf(t, t.Context(), senderOver(rt), fileOf(upload.Reader(iotest.ErrReader(gone)), 4), atOnce)
	assert.ErrorIs(t, a.Err, gone)
	assert.Equal(t, Unread, a.Facts.End)
}

// No request asks for another protocol, and no context ends a Read of a connection that net/http has handed over.
func TestSwitchingProtocolsHasNoBody(t *testing.T) {
	t.Parallel()
	base := fakes.Piped(t, func(nc net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(nc))
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, nc)
	})
	for _, rt := range []http.RoundTripper{base, fakes.RoundTripper(base.RoundTrip)} {
		for _, kind := range []Kind{Read, Create, Fetch} {
			req := requestOf(kind)
			req.URL.Scheme = "http"
			a := lastOf(t, t.Context(), senderOver(rt), req, atOnce)
			assert.Equal(t, http.StatusSwitchingProtocols, a.Facts.Status)
			assert.Empty(t, a.Reply.Body)
		}
	}
}

// A success may ask its readers to come back later, which is no failure.
func TestRetryAfterOfASuccessIsIgnored(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]time.Duration{
		200: 0, 202: 0, 302: 7 * time.Second, 429: 7 * time.Second, 503: 7 * time.Second,
	} {
		rt := fakes.RoundTripper(fakes.Respond(status, "", "Retry-After", "7"))
		assert.Equal(t, want, lastOf(t, t.Context(), senderOver(rt), requestOf(Create), atOnce).RetryAfter, status)
	}
}

func TestLookEndsWithTheContextOrTheStallLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		file := upload.File{Name: "a.wav", Source: upload.FS(fakes.FS(func(string) (fs.File, error) {
			<-until
			return nil, fs.ErrNotExist
		}), "a.wav")}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer time.AfterFunc(time.Second, func() { cancel(errUserLeft) }).Stop()
		_, _, err := Look(ctx, file, time.Minute)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, errUserLeft)
		start := time.Now()
		late, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		_, _, err = Look(late, file, time.Minute)
		assert.Equal(t, &TimeoutError{Stalled: true, Limit: time.Minute}, err)
		assert.WithinDuration(t, start.Add(time.Minute), time.Now(), time.Second)
	})
	size, head, err := Look(t.Context(), upload.File{Source: upload.Bytes([]byte("RIFF"))}, 0)
	require.NoError(t, err)
	assert.EqualValues(t, 4, size)
	assert.Equal(t, "RIFF", string(head))
}
