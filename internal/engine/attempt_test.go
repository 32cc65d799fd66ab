package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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
