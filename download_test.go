package aicontent

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// gallery is another host, where the pictures are.
func gallery(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		handler(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func at(url string) *Image { return &Image{ID: "7", URL: url} }

// The host of a picture must learn nothing of the caller: whoever can write an image's URL would get the API key.
func TestDownloadTellsTheHostNothing(t *testing.T) {
	t.Parallel()
	var header []http.Header
	var uris []string
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		header, uris = append(header, r.Header), append(uris, r.RequestURI)
		if r.URL.Path == "/moved.png" {
			http.SetCookie(w, &http.Cookie{Name: "tracker", Value: "1"})
			http.Redirect(w, r, "/a.png?signature=s3", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "BMpicture")
	})
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	home, err := url.Parse(pictures.URL)
	require.NoError(t, err)
	jar.SetCookies(home, []*http.Cookie{{Name: "session", Value: "secret"}})
	limited, wrapped := false, false
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithHTTPClient(&http.Client{Jar: jar}),
		WithHeader("X-Tenant", "secret"), WithQuery("tenant", "secret"), WithMaxResponseSize(1),
		WithRateLimiter(fakes.Limiter(func(context.Context) error { limited = true; return nil })),
		WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) { wrapped = true; return next.RoundTrip(r) })
		}))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	var picture bytes.Buffer
	var resp *Response
	n, err := c.Images.Download(t.Context(), at(pictures.URL+"/moved.png"), &picture, WithHeader("X-Mine", "secret"), WithQuery("mine", "secret"), WithResponse(&resp))
	require.NoError(t, err)
	assert.EqualValues(t, len("BMpicture"), n)
	assert.Equal(t, "BMpicture", picture.String(), "the size of responses does not limit pictures")
	assert.Equal(t, []string{"/moved.png", "/a.png?signature=s3"}, uris)
	for _, h := range header {
		h.Del("Accept-Encoding")
		assert.Len(t, h, 2, "%v", h)
		assert.Equal(t, "image/*, */*;q=0.8", h.Get("Accept"))
		assert.Contains(t, h.Get("User-Agent"), "aicontent-go/")
	}
	assert.False(t, limited)
	assert.False(t, wrapped)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Empty(t, resp.Body)
}

// Client certificates say who the caller is, and stay at home. The caller's CA and dialer hold.
func TestDownloadKeepsTheCertificateAtHome(t *testing.T) {
	t.Parallel()
	mine, _ := fakes.Certificate(t, time.Now().Add(time.Hour))
	certificates := make(chan int, 2)
	pictures := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		certificates <- len(r.TLS.PeerCertificates)
		fakes.RespondToAll(w, r)
	}))
	pictures.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	pictures.StartTLS()
	defer pictures.Close()
	roots := x509.NewCertPool()
	roots.AddCert(pictures.Certificate())
	dials := 0
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{mine}},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	c, err := NewClient(pictures.URL+"/tenant", fakes.Key, WithHTTPClient(&http.Client{Transport: transport}))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	_, err = c.Images.Show(t.Context(), "7")
	require.NoError(t, err)
	assert.Equal(t, 1, <-certificates)
	_, err = c.Images.Download(t.Context(), at(pictures.URL+"/a.png"), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 0, <-certificates)
	assert.Equal(t, 2, dials)
}

func TestDownloadRefusesBadInput(t *testing.T) {
	t.Parallel()
	c, err := NewClient("https://content.example.com/tenant", fakes.Key)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		ctx   context.Context
		image *Image
		w     io.Writer
		opts  []CallOption
		text  string
	}{
		"no image":      {t.Context(), nil, io.Discard, nil, "images.download: url: is required: the service sent none for the image"},
		"no URL":        {t.Context(), &Image{}, io.Discard, nil, "images.download: url: is required: the service sent none for the image"},
		"a file":        {t.Context(), at("file:///etc/passwd"), io.Discard, nil, `images.download: url "file:///etc/passwd": must be an http or https URL`},
		"data":          {t.Context(), at("data:image/png;base64,AA"), io.Discard, nil, `images.download: url "data:image/png;base64,AA": must be an http or https URL`},
		"no host":       {t.Context(), at("https:///a.png"), io.Discard, nil, `images.download: url "https:///a.png": must be an http or https URL`},
		"no URL at all": {t.Context(), at("http://[::1"), io.Discard, nil, `images.download: url "http://[::1": must be an http or https URL`},
		"nil inside w":  {t.Context(), at("https://pictures.example.com/a.png"), (*bytes.Buffer)(nil), nil, "images.download: w: must not be nil"},
		"everything":    {nil, nil, nil, []CallOption{WithResponseTimeout(-1)}, "images.download: response_timeout \"-1ns\": must not be negative; ctx: must not be nil; w: must not be nil; url: is required: the service sent none for the image"},
	} {
		n, err := c.Images.Download(row.ctx, row.image, row.w, row.opts...)
		assert.EqualError(t, err, row.text, name)
		assert.ErrorIs(t, err, ErrInvalid)
		assert.Zero(t, n)
	}
}

// Some deployments send a path alone.
func TestDownloadOfARelativeURL(t *testing.T) {
	t.Parallel()
	var uri string
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		uri = r.RequestURI
		fakes.RespondToAll(w, r)
	})
	c, err := NewClient(pictures.URL+"/tenant", fakes.Key)
	require.NoError(t, err)
	_, err = c.Images.Download(t.Context(), at("/storage/a b.png?v=1"), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "/storage/a%20b.png?v=1", uri)
}

// A redirect for ever, or to what is no web address, is not followed, and not asked for again.
func TestDownloadRefusesEndlessAndForeignRedirects(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	var target string
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		assert.Empty(t, r.Referer(), "a signed URL is not for the next host")
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusFound)
	})
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(quick))
	require.NoError(t, err)
	for location, row := range map[string]struct {
		text     string
		requests int
	}{
		"/again.png":         {"gave up after 10 of them", 11},
		"file:///etc/passwd": {"it does not lead to an http or https URL", 1},
	} {
		requests.Store(0)
		target = location
		_, err := c.Images.Download(t.Context(), at(pictures.URL+"/a.png"), io.Discard)
		assert.ErrorContains(t, err, "images.download: redirect refused: "+row.text)
		assert.EqualValues(t, row.requests, requests.Load(), location)
	}
}

func TestDownloadRefusesAnHTMLPage(t *testing.T) {
	t.Parallel()
	pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "TEXT/HTML")
		_, _ = io.WriteString(w, "<title>Please log in</title>")
	})
	var log bytes.Buffer
	c, err := NewClient(pictures.URL, fakes.Key, debugging(&log))
	require.NoError(t, err)
	var out bytes.Buffer
	n, err := c.Images.Download(t.Context(), at(pictures.URL+"/a.png"), &out)
	assert.Zero(t, n)
	assert.Contains(t, log.String(), " result=\"200 unreadable\" outcome=unknown ")
	var unread *DecodeError
	require.ErrorAs(t, err, &unread)
	assert.EqualError(t, err, "images.download: 200: got text/html instead of a picture: Please log in")
	assert.Zero(t, out.Len(), "a page must not end up in a file called .png")
}

// What is wrong with the page itself must not hide that it is a page.
func TestDownloadOfAPageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"large":   "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 31\r\n\r\n<title>Please log in</title>    ",
		"cut off": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 31\r\n\r\n<title>",
		"packed":  "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\n\x0b\x02\x80",
	} {
		var requests atomic.Int64
		pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			respondingBytes([]byte(raw))(w, r)
		})
		c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithMaxResponseSize(10), WithRetryPolicy(quick))
		require.NoError(t, err)
		_, err = c.Images.Download(t.Context(), at(pictures.URL), io.Discard)
		assert.ErrorContains(t, err, "images.download: 200: got text/html instead of a picture", name)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err), name)
		assert.EqualValues(t, 1, requests.Load(), name)
	}
}

// A picture is whole, or an error says how much of it came.
func TestDownloadReportsAPictureThatIsCutOff(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ raw, came, text string }{
		"by its length":   {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nBMpic", "BMpic", "cut off: 5 of 9 bytes came"},
		"in chunks":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nBMpic\r\n", "BMpic", "cut off: 5 bytes came"},
		"after two bytes": {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nBM", "BM", "cut off: 2 of 3 bytes came"},
	} {
		var requests atomic.Int64
		pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			respondingBytes([]byte(row.raw))(w, r)
		})
		c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(quick))
		require.NoError(t, err)
		var out bytes.Buffer
		n, err := c.Images.Download(t.Context(), at(pictures.URL+"/a.png?signature=private"), &out)
		var lost *DecodeError
		require.ErrorAs(t, err, &lost, name)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.EqualValues(t, len(row.came), n)
		assert.Equal(t, row.came, out.String())
		assert.Contains(t, err.Error(), row.text)
		assert.NotContains(t, err.Error(), "private")
		assert.EqualValues(t, 1, requests.Load(), "not retried: the first bytes are written")
	}
}

// Until the first byte is written nothing is lost by another attempt.
func TestDownloadIsRetried(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			respondingBytes([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"))(w, r)
		default:
			_, _ = io.WriteString(w, "BMpicture")
		}
	})
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(RetryPolicy{MaxAttempts: 4, MinBackoff: -1}))
	require.NoError(t, err)
	var out bytes.Buffer
	n, err := c.Images.Download(t.Context(), at(pictures.URL), &out)
	require.NoError(t, err)
	assert.EqualValues(t, 9, n)
	assert.Equal(t, "BMpicture", out.String())
	assert.EqualValues(t, 4, requests.Load())
}

// A connection that breaks is worth another attempt; a certificate that is not accepted is not.
func TestDownloadWithoutAResponse(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err      error
		attempts int
		text     string
	}{
		"lost":      {io.ErrUnexpectedEOF, 3, "the service closed the connection before a response came: "},
		"late":      {os.ErrDeadlineExceeded, 3, ""},
		"untrusted": {x509.UnknownAuthorityError{}, 1, ""},
	} {
		s := &fakes.Script{Responses: fakes.Responses{fails(row.err)}}
		n, err := over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
		require.ErrorIs(t, err, row.err)
		assert.True(t, strings.HasPrefix(err.Error(), "images.download: "+row.text+row.err.Error()+" ("), err)
		assert.Zero(t, n, name)
		assert.Len(t, s.Asked, row.attempts, name)
	}
	s := &fakes.Script{Responses: fakes.Responses{fakes.Lose, fakes.OK("BMpicture")}}
	var out nonEmptyWrites
	var log bytes.Buffer
	n, err := over(t, s, WithRetryPolicy(quick), debugging(&log)).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), &out)
	require.NoError(t, err)
	assert.EqualValues(t, 9, n)
	assert.False(t, out.empty, "a Write of nothing")
	assert.Contains(t, log.String(), " result=ok outcome=executed ")
}

func debugging(w io.Writer) Option {
	return WithLogger(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

type nonEmptyWrites struct{ empty bool }

func (w *nonEmptyWrites) Write(p []byte) (int, error) {
	w.empty = w.empty || len(p) == 0
	return len(p), nil
}

// Only a 2xx is a picture.
func TestDownloadOfMultipleChoices(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(300, "choose")}}
	_, err := over(t, s).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
	var api *APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, 300, api.StatusCode)
}

// From http to https is no step back, every 2xx is a picture, and each response is closed.
func TestDownloadThroughAnyTransport(t *testing.T) {
	t.Parallel()
	closed := 0
	body := func() io.ReadCloser { return closingBody{strings.NewReader("BMpicture"), &closed} }
	c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 299, Header: http.Header{}, Body: body(), ContentLength: 9, Request: r}
		if r.URL.Scheme == "http" {
			resp.StatusCode = 302
			resp.Header.Set("Location", "https://pictures.example.com/a.png")
		}
		return resp, nil
	})}))
	require.NoError(t, err)
	var out bytes.Buffer
	_, err = c.Images.Download(t.Context(), at("http://pictures.example.com/a.png"), &out)
	require.NoError(t, err)
	assert.Equal(t, "BMpicture", out.String())
	assert.Equal(t, 2, closed)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// full is a disk with room for that many bytes.
func full(room int, err error) io.Writer {
	return writerFunc(func([]byte) (int, error) { return room, err })
}

func TestDownloadToAWriterThatFails(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, "BMpicture")
	})
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(quick))
	require.NoError(t, err)
	noSpace := errors.New("no space left")
	n, err := c.Images.Download(t.Context(), at(pictures.URL), full(3, noSpace))
	assert.ErrorIs(t, err, noSpace)
	assert.ErrorContains(t, err, "writing the picture after 3 bytes")
	assert.EqualValues(t, 3, n)
	// Some writers break the contract of io.Writer.
	short := writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil })
	_, err = c.Images.Download(t.Context(), at(pictures.URL), short)
	assert.ErrorIs(t, err, io.ErrShortWrite)
	assert.EqualValues(t, 2, requests.Load())
}

// A writer that fails is asked once, whatever became of the connection in the same moment.
func TestDownloadToAWriterThatFailsAsThePictureBreaksOff(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{func(*http.Request) (*http.Response, error) {
		body := iotest.DataErrReader(io.MultiReader(strings.NewReader("BMpic"), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: 9}, nil
	}}}
	noSpace := errors.New("no space left")
	_, err := over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), full(0, noSpace))
	assert.ErrorIs(t, err, noSpace)
	assert.ErrorContains(t, err, "writing the picture after 0 bytes")
	assert.Len(t, s.Asked, 1)
}

// WithResponseTimeout is for the header and not for a long picture; WithStallTimeout is for a picture that no longer
// comes.
func TestDownloadHasLimitsForTheHeaderAndForStalls(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		header, gap time.Duration // before the header, and before each of ten bytes
		opts        []CallOption
		text        string
		took        time.Duration
		deadline    time.Duration // of the context; 0 for none
	}{
		"a slow picture":         {time.Second, 50 * time.Second, nil, "", 501 * time.Second, 0},
		"no header":              {time.Hour, 0, nil, "no complete response within 30s (WithResponseTimeout)", 30 * time.Second, 0},
		"no header, by option":   {time.Hour, 0, []CallOption{WithResponseTimeout(time.Second)}, "no complete response within 1s (WithResponseTimeout)", time.Second, 0},
		"any wait":               {time.Hour, 0, []CallOption{WithResponseTimeout(0)}, "", time.Hour, 0},
		"it stalls":              {0, 2 * time.Minute, nil, "cut off: 0 of 10 bytes came: the download stalled: no bytes arrived for 1m0s (WithStallTimeout)", time.Minute, 0},
		"it stalls, any time":    {0, 2 * time.Minute, []CallOption{WithStallTimeout(0)}, "", 20 * time.Minute, 0},
		"it stalls, by option":   {0, time.Minute, []CallOption{WithStallTimeout(time.Second)}, "the download stalled: no bytes arrived for 1s", time.Second, 0},
		"the context ends first": {0, 30 * time.Second, nil, "context deadline exceeded", 45 * time.Second, 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := piped(t, func(nc net.Conn) {
					if _, err := nc.Read(make([]byte, 4096)); err != nil {
						return
					}
					time.Sleep(row.header)
					_, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
					for i := 0; i < 10 && err == nil; i++ {
						time.Sleep(row.gap)
						_, err = io.WriteString(nc, "BM34567890"[i:i+1])
					}
				})
				ctx := t.Context()
				if row.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.deadline)
					defer cancel()
				}
				start := time.Now()
				n, err := c.Images.Download(ctx, at("http://127.0.0.1/a.png"), io.Discard, row.opts...)
				assert.Equal(t, row.took, time.Since(start))
				if row.text == "" {
					require.NoError(t, err)
					assert.EqualValues(t, 10, n)
					return
				}
				assert.ErrorContains(t, err, row.text)
				var timeout net.Error
				require.ErrorAs(t, err, &timeout)
				assert.True(t, timeout.Timeout())
				assert.Equal(t, ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded))
				var late *wire.TimeoutError
				assert.Equal(t, ctx.Err() == nil, errors.As(err, &late))
			})
		})
	}
}

// A writer may take its time: WithStallTimeout is for the service.
func TestDownloadToASlowWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 4096))
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nBM234")
			_, _ = io.WriteString(nc, "56789")
		})
		slow := writerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Hour)
			return len(p), nil
		})
		n, err := c.Images.Download(t.Context(), at("http://127.0.0.1/a.png"), slow)
		require.NoError(t, err)
		assert.EqualValues(t, 10, n)
	})
}

// A RoundTripper whose bodies say no more than that they were canceled does not hide a stall.
func TestDownloadThatStallsBelowARoundTripper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			body := readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			})
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: 10}, nil
		}), WithRetryPolicy(oneAttempt))
		_, err := c.Images.Download(t.Context(), at("https://pictures.example.com/a.png"), io.Discard)
		assert.ErrorContains(t, err, "the download stalled")
		assert.NotErrorIs(t, err, context.Canceled)
	})
}

// An error's text is one line of a bounded length, whatever a transport says.
func TestDownloadErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	cause := errors.New("first\r\nsecond\x1b[31m" + strings.Repeat("x", 10_000))
	c, err := NewClient("https://content.example.com", fakes.Key, WithRetryPolicy(oneAttempt), WithHTTPClient(&http.Client{Transport: fakes.RoundTripper(fails(cause))}))
	require.NoError(t, err)
	_, err = c.Images.Download(t.Context(), at("https://pictures.example.com/a.png"), io.Discard)
	assert.ErrorIs(t, err, cause)
	assert.Contains(t, err.Error(), "images.download: first; second [31mxxx")
	assert.Less(t, len(err.Error()), 1200)

	s := &fakes.Script{Responses: fakes.Responses{fakes.OK("BMpicture")}}
	_, err = over(t, s).Images.Download(t.Context(), at("https://pictures.example.com/a.png"), full(3, cause))
	assert.ErrorIs(t, err, cause)
	assert.Contains(t, err.Error(), "images.download: writing the picture after 3 bytes: first; second [31mxxx")
	assert.Less(t, len(err.Error()), 1200)
}

// The error of a download without a response names the host, without what is secret in the URL.
func TestDownloadErrorsNameTheHost(t *testing.T) {
	t.Parallel()
	pictures := gallery(t, nil)
	pictures.Close()
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(oneAttempt))
	require.NoError(t, err)
	host := strings.TrimPrefix(pictures.URL, "http://")
	_, err = c.Images.Download(t.Context(), at("http://user:private@"+host+"/a.png?signature=private"), io.Discard)
	require.Error(t, err)
	assert.Contains(t, err.Error(), fmt.Sprintf("(host %s)", host))
	assert.NotContains(t, err.Error(), "private")
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
}

// What the host of the pictures says of a missing one is the caller's to see, and speaks of no base URL.
func TestDownloadOfAMissingPicture(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req-7")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<html><title>no such key</title></html>")
	})
	c, err := NewClient("https://content.example.com/api", fakes.Key, debugging(&log))
	require.NoError(t, err)
	var resp *Response
	_, err = c.Images.Download(t.Context(), at(pictures.URL+"/a.png"), io.Discard, WithResponse(&resp))
	assert.NotErrorIs(t, err, ErrNotFound, "it is not the service's own word")
	assert.False(t, Retryable(err))
	assert.EqualError(t, err, "images.download: 404: no such key (request req-7)")
	require.NotNil(t, resp)
	assert.Equal(t, 404, resp.StatusCode)
	assert.Contains(t, string(resp.Body), "no such key")
	assert.Equal(t, "req-7", resp.RequestID)
	assert.Contains(t, log.String(), "status=404 request_id=req-7")
}

// A context may end with a cause that looks like the end of the picture.
func TestDownloadEndedByEOF(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "BMpic")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c, err := NewClient("https://content.example.com/tenant", fakes.Key)
	require.NoError(t, err)
	n, err := c.Images.Download(ctx, at(pictures.URL), writerFunc(func(p []byte) (int, error) {
		cancel(io.EOF)
		return len(p), nil
	}))
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "the picture was cut off: 5 bytes came")
	assert.EqualValues(t, 5, n)
}

// net/http counts what comes of a picture; a RoundTripper of the caller need not.
func TestDownloadCutOffByARoundTripper(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{func(r *http.Request) (*http.Response, error) {
		resp, err := fakes.OK("BMpic")(r)
		resp.ContentLength = 9
		return resp, err
	}}}
	n, err := over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.ErrorContains(t, err, "the picture was cut off: 5 of 9 bytes came")
	assert.EqualValues(t, 5, n)
	assert.Len(t, s.Asked, 1)
	for length := range int64(2) {
		s = &fakes.Script{Responses: fakes.Responses{func(r *http.Request) (*http.Response, error) {
			resp, err := fakes.OK("")(r)
			resp.ContentLength, resp.Body = length, io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
			return resp, err
		}}}
		_, err = over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
		assert.ErrorContains(t, err, fmt.Sprintf("the picture was cut off: 0 of %d bytes came", length))
		assert.Len(t, s.Asked, 3)
	}
}

// A RoundTripper that edits the URL, as some that sign requests do, must not edit that of the next attempt.
func TestDownloadThroughARoundTripperThatEditsTheURL(t *testing.T) {
	t.Parallel()
	var asked []string
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithRetryPolicy(quick), WithHTTPClient(&http.Client{
		Transport: fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.String())
			r.URL.Path, r.URL.Host = "/signed"+r.URL.Path, "signed.example.com"
			return fakes.Respond(503, ``)(r)
		})}))
	require.NoError(t, err)
	image := at("https://cdn.example.com/a.png")
	_, err = c.Images.Download(t.Context(), image, io.Discard)
	var api *APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, "/a.png", api.Path)
	assert.Equal(t, OutcomeUnknown, OutcomeOf(err), "the host got the whole request")
	assert.Equal(t, []string{image.URL, image.URL, image.URL}, asked)
}

// A host that switches protocols, which nothing asks for, must not keep a download for ever.
func TestDownloadOfASwitchOfProtocols(t *testing.T) {
	t.Parallel()
	baseURL := fakes.RawServer(t, func(*http.Request) string {
		return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
	})
	c, err := NewClient(baseURL, fakes.Key)
	require.NoError(t, err)
	n, err := c.Images.Download(t.Context(), &Image{URL: baseURL + "/7.png"}, io.Discard)
	var switched *APIError
	require.ErrorAs(t, err, &switched)
	assert.Equal(t, 101, switched.StatusCode)
	assert.Zero(t, n)
}

// A CheckRedirect is often the guard against internal hosts, and a Timeout what keeps a program alive.
func TestDownloadKeepsTheClientsLimits(t *testing.T) {
	t.Parallel()
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow.png" {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		http.Redirect(w, r, "/internal.png", http.StatusFound)
	})
	guard := errors.New("an internal host")
	for name, row := range map[string]struct {
		hc   *http.Client
		path string
		want error
	}{
		"CheckRedirect": {&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return guard }}, "/a.png", guard},
		"Timeout":       {&http.Client{Timeout: 50 * time.Millisecond}, "/slow.png", context.DeadlineExceeded},
	} {
		policy := WithRetryPolicy(oneAttempt)
		c, err := NewClient("https://content.example.com", fakes.Key, WithHTTPClient(row.hc), policy, WithResponseTimeout(5*time.Second), WithStoreTimeout(50*time.Millisecond), WithStallTimeout(5*time.Second))
		require.NoError(t, err)
		_, err = c.Images.Download(t.Context(), at(pictures.URL+row.path), io.Discard)
		assert.ErrorIs(t, err, row.want, name)
	}
}

// A file that holds an error's JSON, or nothing, must not be taken for a picture.
func TestDownloadRefusesDocuments(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status     int
		kind, body string
		text       string
	}{
		"JSON":          {200, "application/json; charset=utf-8", `{"message":"quota exceeded"}`, "got application/json instead of a picture: quota exceeded"},
		"problem":       {200, "application/problem+json", `{"title":"No credit"}`, "got application/problem+json instead of a picture: No credit"},
		"XML":           {200, "Application/XML", `<Error/>`, "got application/xml instead of a picture"},
		"text":          {200, "text/plain", `no`, "got text/plain instead of a picture: no"},
		"no content":    {204, "", ``, "got nothing instead of a picture"},
		"reset content": {205, "", ``, "got nothing instead of a picture"},
	} {
		requests := 0
		pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Content-Type", row.kind)
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, row.body)
		})
		c, err := NewClient("https://content.example.com", fakes.Key, WithRetryPolicy(quick))
		require.NoError(t, err)
		var out bytes.Buffer
		_, err = c.Images.Download(t.Context(), at(pictures.URL), &out)
		var unread *DecodeError
		require.ErrorAs(t, err, &unread, name)
		assert.ErrorContains(t, err, row.text, name)
		assert.Zero(t, out.Len(), name)
		assert.Equal(t, 1, requests, name)
	}
	pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = io.WriteString(w, "<svg/>")
	})
	c, err := NewClient("https://content.example.com", fakes.Key)
	require.NoError(t, err)
	n, err := c.Images.Download(t.Context(), at(pictures.URL), io.Discard)
	require.NoError(t, err)
	assert.EqualValues(t, 6, n)
}

// A tenant's pictures are below its path: a relative URL must not lead to another tenant's.
func TestDownloadBelowTheBasePath(t *testing.T) {
	t.Parallel()
	var uri string
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		uri = r.RequestURI
		fakes.RespondToAll(w, r)
	})
	for base, want := range map[string]string{"/tenant": "/tenant/storage/1.png", "/tenant/": "/tenant/storage/1.png", "": "/storage/1.png"} {
		c, err := NewClient(pictures.URL+base, fakes.Key)
		require.NoError(t, err)
		_, err = c.Images.Download(t.Context(), at("storage/1.png"), io.Discard)
		require.NoError(t, err)
		assert.Equal(t, want, uri, base)
	}
}

func TestDownloadWithAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	pictures := gallery(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked for") })
	c, err := NewClient("https://content.example.com", fakes.Key)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Images.Download(ctx, at(pictures.URL), io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
}

// What was written is the caller's: a second start would append to it, or hash it twice.
func TestDownloadIsNotStartedOver(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
		case 2:
			respondingBytes([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"))(w, r)
		default:
			respondingBytes([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nBMpic"))(w, r)
		}
	})
	c, err := NewClient("https://content.example.com/tenant", fakes.Key)
	require.NoError(t, err)
	file, err := os.Create(filepath.Join(t.TempDir(), "a.png"))
	require.NoError(t, err)
	defer file.Close()
	for _, to := range []io.Writer{file, new(bytes.Buffer)} {
		requests.Store(0)
		n, err := c.Images.Download(t.Context(), at(pictures.URL), to, WithRetryPolicy(RetryPolicy{MaxAttempts: 9, MinBackoff: -1}))
		require.ErrorAs(t, err, new(*DecodeError))
		assert.ErrorContains(t, err, "the picture was cut off: 5 of 9 bytes came")
		assert.EqualValues(t, 5, n)
		assert.EqualValues(t, 3, requests.Load(), "it is retried until the first byte is written")
		assert.True(t, Retryable(err), "the caller may call again")
	}
	content, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Equal(t, "BMpic", string(content))
}

// A guard that stops a redirect is not blamed on the API key, which no download sends.
func TestDownloadStoppedByCheckRedirect(t *testing.T) {
	t.Parallel()
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example.com/a.png", http.StatusFound)
	})
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithHTTPClient(&http.Client{CheckRedirect: stop}))
	require.NoError(t, err)
	_, err = c.Images.Download(t.Context(), at(pictures.URL), io.Discard)
	assert.EqualError(t, err, "images.download: 302: redirect refused by the http.Client's CheckRedirect")
}

// Whoever goes on writing after a download that broke off must not land elsewhere, because the SDK had tried whether
// the writer can go back.
func TestDownloadLeavesAWriterWhereItStood(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "album"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("a long text that was there before")
	require.NoError(t, err)
	_, err = f.Seek(2, io.SeekStart)
	require.NoError(t, err)
	cut := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := fakes.Respond(200, "pic", "Content-Type", "image/png")(r)
		resp.ContentLength = 10
		return resp, err
	})
	n, err := over(t, cut).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), f)
	require.ErrorAs(t, err, new(*DecodeError))
	position, err := f.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	assert.Equal(t, 2+n, position)
}

// A file that is saved as a picture must open as one, whatever the status and the header say.
func TestDownloadSucceedsOnlyWithAWholePicture(t *testing.T) {
	t.Parallel()
	const png, webp, jpeg = "\x89PNG\x0d\x0a\x1a\x0a....", "RIFF\x00\x00\x00\x00WEBPVP8 ", "\xff\xd8\xff\xe0...."
	const avif, svg = "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`
	const problem = `{"title":"No credit","detail":"buy some"}`
	const xml, page = `<?xml version="1.0"?><error>expired</error>`, `<!doctype html><title>Sign in</title>`
	gz := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text)
		w.Close()
		return b.String()
	}
	for name, row := range map[string]struct {
		status int
		body   string
		header []string
		text   string // of the error; empty for success
	}{
		"a PNG":                               {200, png, []string{"Content-Type", "image/png"}, ""},
		"a PNG labelled text/plain":           {200, png, []string{"Content-Type", "text/plain"}, ""},
		"a WebP labelled text/plain":          {200, webp, []string{"Content-Type", "text/plain; charset=utf-8"}, ""},
		"a JPEG labelled application/json":    {200, jpeg, []string{"Content-Type", "application/json"}, ""},
		"a JPEG labelled text/html":           {200, jpeg, []string{"Content-Type", "text/html"}, ""},
		"a PNG without a label":               {200, png, nil, ""},
		"an AVIF":                             {200, avif, []string{"Content-Type", "image/avif"}, ""},
		"an AVIF labelled as bytes":           {200, avif, []string{"Content-Type", "application/octet-stream"}, ""},
		"an SVG":                              {200, svg, []string{"Content-Type", "image/svg+xml"}, ""},
		"a PNG in gzip":                       {200, gz(png), []string{"Content-Type", "image/png", "Content-Encoding", "gzip"}, ""},
		"a PNG with the label of an encoding": {200, png, []string{"Content-Type", "image/png", "Content-Encoding", "br"}, ""},
		"a whole 206":                         {206, png, []string{"Content-Range", "bytes 0-11/12"}, ""},
		"an empty 200":                        {200, ``, []string{"Content-Type", "image/png"}, "got nothing instead of a picture"},
		"an empty 200 without a label":        {200, ``, nil, "got nothing instead of a picture"},
		"an empty 206":                        {206, ``, nil, "got nothing instead of a picture"},
		"a picture in br":                     {200, "\x0b\x02\x80\x89\x01\x03", []string{"Content-Type", "image/png", "Content-Encoding", "br"}, `got a picture in the Content-Encoding "br", which cannot be decoded`},
		"a problem":                           {200, problem, []string{"Content-Type", "application/problem+json"}, "got application/problem+json instead of a picture: No credit: buy some"},
		"a problem in XML":                    {200, xml, []string{"Content-Type", "application/problem+xml"}, "got application/problem+xml instead of a picture"},
		"XHTML":                               {200, page, []string{"Content-Type", "application/xhtml+xml"}, "got application/xhtml+xml instead of a picture"},
		"JSON labelled image/png":             {200, problem, []string{"Content-Type", "image/png"}, "instead of a picture: No credit: buy some"},
		"HTML labelled image/png":             {200, page, []string{"Content-Type", "image/png"}, "got text/html instead of a picture: Sign in"},
		"XML labelled image/png":              {200, xml, []string{"Content-Type", "image/png"}, "got text/xml instead of a picture"},
		"JSON without a label":                {200, problem, nil, "instead of a picture: No credit: buy some"},
		"a part that was not asked for":       {206, png, []string{"Content-Range", "bytes 0-11/100"}, "the server sent a part of it without being asked (206)"},
		"a later part":                        {206, png, []string{"Content-Range", "bytes 100-111/112"}, "the server sent a part of it without being asked (206)"},
		"a part that does not say which":      {206, png, nil, "the server sent a part of it without being asked (206)"},
		"no content":                          {204, ``, nil, "got nothing instead of a picture"},
	} {
		requests := 0
		s := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			return fakes.Respond(row.status, row.body, row.header...)(r)
		})
		var out bytes.Buffer
		n, err := over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), &out)
		assert.EqualValues(t, out.Len(), n, name)
		assert.Equal(t, 1, requests, name)
		if row.text == "" {
			assert.NoError(t, err, name)
			assert.NotZero(t, n, name)
			continue
		}
		require.ErrorAs(t, err, new(*DecodeError), name)
		assert.ErrorContains(t, err, row.text, name)
	}
}

// Firewalls respond 403 to a request without an Accept header.
func TestDownloadSaysThatItAcceptsPictures(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK("BMpicture")}}
	_, err := over(t, s, WithHeader("Accept", "application/json")).Images.Download(
		t.Context(), at("https://cdn.example.com/a.png"), io.Discard, WithHeader("Accept", "text/plain"))
	require.NoError(t, err)
	assert.Equal(t, []string{"image/*, */*;q=0.8"}, s.Sent[0].Header["Accept"])
}

// The host of a picture is not the service: its 401 is not about the key.
func TestDownloadDoesNotAskTheKeySource(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.Respond(401, `{"message":"The link has expired."}`)}}
	source := WithAPIKeySource(func(context.Context) (string, error) { t.Error("it was asked"); return fakes.Key, nil })
	_, err := over(t, s, source).Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
	assert.EqualError(t, err, "images.download: 401: The link has expired.")
	assert.Len(t, s.Sent, 1)
	assert.False(t, Retryable(err))
}

// A deployment may put the key into the URL of a picture, and its host may repeat it.
func TestDownloadMasksTheKeyInItsURL(t *testing.T) {
	t.Parallel()
	image := at("https://cdn.example.com/" + fakes.Key + "/a.png?key=" + fakes.Key)
	echo := []string{"X-Request-Id", "req " + fakes.Key, "X-Echo", fakes.Key}
	source := WithAPIKeySource(func(context.Context) (string, error) { return fakes.Key, nil })
	for name, rt := range map[string]fakes.RoundTripper{
		"an error":             fakes.Respond(403, `{"message":"`+fakes.Key+` is blocked"}`, echo...),
		"a page":               fakes.Respond(200, `<title>`+fakes.Key+`</title>`, echo...),
		"a lost connection":    fails(errors.New("no route to " + image.URL)),
		"a refused redirect":   fakes.Respond(302, ``, "Location", "ftp://cdn.example.com/"+fakes.Key),
		"a picture cut off":    func(*http.Request) (*http.Response, error) { return pictureCutOff(errors.New(fakes.Key)), nil },
		"a redirect to itself": fakes.Respond(302, ``, "Location", image.URL),
	} {
		for _, opts := range [][]Option{nil, {source}} {
			var log bytes.Buffer
			o := &observer{}
			var resp *Response
			first := true
			c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if first && opts != nil { // the client learns the key of a source with its first call
					first = false
					return fakes.OK(fakes.StoredImage)(r)
				}
				return rt(r)
			}), append(opts, WithRetryPolicy(quick), WithAttemptHook(o.hook), debugging(&log))...)
			if opts != nil {
				require.NoError(t, showSeven(t.Context(), c))
			}
			_, err := c.Images.Download(t.Context(), image, io.Discard, WithResponse(&resp))
			require.Error(t, err, name)
			for _, v := range []any{err, resp, o.attempts, o.results, log.String()} {
				fakes.AssertNoKey(t, v, fakes.Key)
			}
			assert.NotContains(t, Reason(err), fakes.Key)
		}
	}
}

// pictureCutOff is a picture whose body fails after its first bytes.
func pictureCutOff(err error) *http.Response {
	body := io.NopCloser(io.MultiReader(strings.NewReader("BMpicture"), iotest.ErrReader(err)))
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, ContentLength: -1}
}

func TestTheBodyOfARefusedPictureDoesNotEndWithinTheKey(t *testing.T) {
	t.Parallel()
	const read = 1<<20 + 512 // bytes of a page
	page := "<html>" + strings.Repeat(fakes.Key, 1000)
	page += strings.Repeat("x", read-len(page)-5) + fakes.Key // read up to its fifth byte
	pictures := gallery(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	c, err := NewClient("https://content.example.com", fakes.Key)
	require.NoError(t, err)
	_, err = c.Images.Download(t.Context(), at(pictures.URL+"/a.png"), io.Discard)
	var unread *DecodeError
	require.ErrorAs(t, err, &unread)
	assert.Equal(t, "xxxxx", string(unread.Body[len(unread.Body)-5:]))
}

// The host is also the hint of an error without a response.
func TestDownloadMasksTheKeyInItsHost(t *testing.T) {
	t.Parallel()
	image := at("https://" + fakes.Key + ".example.com/a.png")
	_, err := over(t, fakes.RoundTripper(fails(errors.New("no route to "+image.URL))), WithRetryPolicy(quick)).
		Images.Download(t.Context(), image, io.Discard)
	require.ErrorContains(t, err, "host [API key].example.com")
	fakes.AssertNoKey(t, err, fakes.Key)
}

// A host may repeat the key, and its response may end anywhere.
func TestDownloadMasksTheBeginningOfAKey(t *testing.T) {
	t.Parallel()
	const begun = 16
	cutOff := func(status int, text string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			resp, err := fakes.Respond(status, ``, "Content-Type", "text/plain")(r)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF)))
			return resp, err
		}
	}
	for name, rt := range map[string]fakes.RoundTripper{
		"a refusal cut off":         cutOff(403, "refused: "+fakes.Key[:begun]),
		"a refusal that is long":    fakes.Respond(403, strings.Repeat("x", maxErrorBody-begun)+fakes.Key),
		"a text cut off":            cutOff(200, "refused: "+fakes.Key[:begun]),
		"a text that is long":       fakes.Respond(200, strings.Repeat("x", sniffed+maxErrorBody-begun)+fakes.Key),
		"a message that is cut":     fakes.Respond(200, strings.Repeat("x ", 100-begun/2)+fakes.Key, "Content-Type", "text/plain"),
		"a head that ends in a key": fakes.Respond(200, strings.Repeat("x", sniffed-begun)+fakes.Key, "Content-Type", "text/plain"),
	} {
		var resp *Response
		_, err := over(t, rt, WithRetryPolicy(quick)).
			Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard, WithResponse(&resp))
		require.Error(t, err, name)
		texts := err.Error() + string(resp.Body)
		switch e := err.(type) {
		case *APIError:
			texts += string(e.Body)
		case *DecodeError:
			texts += string(e.Body)
		}
		assert.False(t, strings.Contains(texts, fakes.Key[:begun]), name)
	}
}

// A document is read as far as any other error, not only its first bytes.
func TestDownloadFindsTheMessageOfALongDocument(t *testing.T) {
	t.Parallel()
	long := `{"trace":"` + strings.Repeat("x", 2*sniffed) + `","message":"no such picture"}`
	_, err := over(t, fakes.RoundTripper(fakes.OK(long))).
		Images.Download(t.Context(), at("https://cdn.example.com/a.png"), io.Discard)
	require.ErrorContains(t, err, "instead of a picture: no such picture")
}

// A writer may be a connection, too: its failure is not the service's.
func TestFailedWriterIsNotBlamedOnTheService(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{io.ErrClosedPipe, net.ErrClosed, syscall.EPIPE, io.EOF} {
		_, err := over(t, fakes.RoundTripper(fakes.OK("BMpicture"))).
			Images.Download(t.Context(), at("https://cdn.example.com/a.png"), brokenWriter{failure})
		require.ErrorIs(t, err, failure)
		require.EqualError(t, err, "images.download: writing the picture after 0 bytes: "+failure.Error())
	}
}

// brokenWriter is a writer that fails.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
