package aicontent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/fakes"
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
	unused := errors.New("a download has no use for it")
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, WithHTTPClient(&http.Client{Jar: jar}),
		WithHeader("Accept", "application/json"), WithQuery("tenant", "secret"), WithMaxResponseSize(1),
		limited(func(int) error { return unused }), keys(func(int) (string, error) { return "", unused }),
		WithMiddleware(func(http.RoundTripper) http.RoundTripper { return fakes.RoundTripper(fails(unused)) }))
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	var picture bytes.Buffer
	var resp *Response
	n, err := c.Images.Download(t.Context(), at(pictures.URL+"/moved.png"), &picture,
		WithHeader("X-Mine", "secret"), WithHeader("Accept", "text/plain"), WithQuery("mine",
			"secret"), WithResponse(&resp))
	require.NoError(t, err)
	assert.EqualValues(t, len("BMpicture"), n)
	assert.Equal(t, "BMpicture", picture.String(), "the size of responses does not limit pictures")
	assert.Equal(t, []string{"/moved.png", "/a.png?signature=s3"}, uris)
	for _, h := range header {
		h.Del("Accept-Encoding")
		assert.Len(t, h, 2, "%v", h)
		assert.Equal(t, "image/*, */*;q=0.8", h.Get("Accept"), "some firewalls refuse a request without it")
		assert.Contains(t, h.Get("User-Agent"), "aicontent-go/")
	}
	assert.Equal(t, 200, resp.StatusCode)
	assert.Empty(t, resp.Body)
}

// Client certificates, and the name of the service, say who the caller is. They stay at home. The
// caller's CA and dialer hold.
func TestDownloadKeepsTheCertificateAtHome(t *testing.T) {
	t.Parallel()
	mine, _ := fakes.Certificate(t, time.Now().Add(time.Hour))
	learned := make(chan string, 2)
	pictures := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		learned <- fmt.Sprint(len(r.TLS.PeerCertificates), r.TLS.ServerName)
		fakes.RespondToAll(w, r)
	}))
	pictures.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	pictures.StartTLS()
	defer pictures.Close()
	roots := x509.NewCertPool()
	roots.AddCert(pictures.Certificate())
	dials := 0
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: "example.com", Certificates: []tls.Certificate{mine},
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &mine, nil
			},
		},
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
	assert.Equal(t, "1example.com", <-learned)
	_, err = c.Images.Download(t.Context(), at(pictures.URL+"/a.png"), io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "0", <-learned)
	assert.Equal(t, 2, dials)
}

func TestDownloadRefusesBadInput(t *testing.T) {
	t.Parallel()
	c := over(t, fakes.RoundTripper(fakes.OK("BMpicture")))
	const required = "url: is required: the service sent none for the image"
	for address, text := range map[string]string{
		"":            required,
		"file:///a":   `url "file:///a": must be an http or https URL`,
		"http://[::1": `url "http://[::1": must be an http or https URL`,
	} {
		n, err := c.Images.Download(t.Context(), at(address), io.Discard)
		assert.EqualError(t, err, "images.download: "+text)
		assert.ErrorIs(t, err, ErrInvalid)
		assert.Zero(t, n)
	}
	_, err := c.Images.Download(t.Context(), &Image{}, io.Discard, WithResponseTimeout(-1))
	assert.ElementsMatch(t, []string{"response_timeout", "url"}, fieldsOf(t, err))
}

// aLongPicture is a picture that is longer than the bytes by which a picture is recognized.
var aLongPicture = "BM" + strings.Repeat("x", 2*headSize-2)

// Until the first byte is written nothing is lost by another attempt. The written bytes are the caller's: a second
// start would append to them, or hash them twice.
func TestDownloadIsRetriedUntilTheFirstByteIsWritten(t *testing.T) {
	t.Parallel()
	header := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(aLongPicture))
	part := aLongPicture[:headSize+100]
	requests := 0
	var rest string
	pictures := gallery(t, func(w http.ResponseWriter, r *http.Request) {
		switch requests++; requests {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			respondingBytes([]byte(header))(w, r)
		default:
			respondingBytes([]byte(header+rest))(w, r)
		}
	})
	policy := WithRetryPolicy(RetryPolicy{MaxAttempts: 9, MinBackoff: -1})
	c, err := NewClient("https://content.example.com/tenant", fakes.Key, policy)
	require.NoError(t, err)
	for _, rest = range []string{aLongPicture, part} {
		requests = 0
		var out bytes.Buffer
		n, err := c.Images.Download(t.Context(), at(pictures.URL), &out)
		assert.EqualValues(t, len(rest), n)
		assert.Equal(t, rest, out.String(), "it is not started over")
		assert.Equal(t, 4, requests)
		if rest == part {
			require.ErrorAs(t, err, new(*DecodeError))
			assert.ErrorContains(t, err, "the picture was cut off")
			continue
		}
		require.NoError(t, err)
	}
}

// From http to https is no step back, every 2xx is a picture, and each response is closed.
func TestDownloadFollowsHTTPToHTTPSAndClosesEachResponse(t *testing.T) {
	t.Parallel()
	closed := 0
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		body := closingBody{strings.NewReader("BMpicture"), &closed}
		resp := &http.Response{StatusCode: 299, Header: http.Header{}, Body: body, ContentLength: 9, Request: r}
		if r.URL.Scheme == "http" {
			resp.StatusCode = 302
			resp.Header.Set("Location", "https://pictures.example.com/a.png")
		}
		return resp, nil
	}))
	var out bytes.Buffer
	_, err := c.Images.Download(t.Context(), at("http://pictures.example.com/a.png"), &out)
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

// A writer that fails is asked once, and not blamed on the service: it may be a connection, too.
func TestDownloadReportsAWriterThatFails(t *testing.T) {
	t.Parallel()
	noSpace := errors.New("no space left")
	broken := cutOff(aLongPicture, io.ErrUnexpectedEOF)
	for name, row := range map[string]struct {
		rt   fakes.RoundTripper
		w    io.Writer
		n    int64
		want error
		text string
	}{
		"a full disk": {fakes.OK("BMpicture"), full(3, noSpace), 3, noSpace,
			"after 3 bytes: no space left"},
		"as the picture breaks off": {broken, full(0, noSpace), 0, noSpace, "after 0 bytes: no space left"},
		"a closed pipe": {fakes.OK("BMpicture"), full(0, io.ErrClosedPipe), 0, io.ErrClosedPipe,
			"after 0 bytes: io: "},
	} {
		s := script(row.rt)
		n, err := over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), aPicture, row.w)
		require.ErrorIs(t, err, row.want, name)
		assert.True(t, strings.HasPrefix(err.Error(), "images.download: writing the picture "+row.text), "%s: %v",
			name, err)
		assert.Equal(t, row.n, n, name)
		assert.Len(t, s.Asked, 1, name)
	}
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
		"a slow picture": {time.Second, 50 * time.Second, nil, "", 501 * time.Second, 0},
		"no header": {time.Hour, 0, nil,
			"no complete response within 30s (WithResponseTimeout)", 30 * time.Second, 0},
		"it stalls": {0, 2 * time.Minute, nil,
			"cut off: no progress for 1m0s (WithStallTimeout)",
			time.Minute, 0},
		"the context ends first": {0, 30 * time.Second, nil,
			"context deadline exceeded", 45 * time.Second, 45 * time.Second},
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
				var late *engine.TimeoutError
				assert.Equal(t, ctx.Err() == nil, errors.As(err, &late))
			})
		})
	}
}

// A writer may take its time: WithStallTimeout is for the service.
func TestDownloadWaitsForASlowWriter(t *testing.T) {
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

// What the host of the pictures says of a missing one is the caller's to see. It speaks of no base URL and of no key.
func TestDownloadReportsWhatTheHostSaysOfAMissingPicture(t *testing.T) {
	t.Parallel()
	for status, row := range map[int]struct{ body, text string }{
		300: {"choose", "images.download: 300: choose (request req-7)"},
		401: {`{"message":"The link has expired."}`, "images.download: 401: The link has expired. (request req-7)"},
		404: {"<html><title>no such key</title></html>", "images.download: 404: no such key (request req-7)"},
	} {
		var log bytes.Buffer
		var resp *Response
		s := script(fakes.Respond(status, row.body, "X-Request-Id", "req-7"))
		source := keys(func(int) (string, error) { t.Error("it was asked"); return fakes.Key, nil })
		_, err := over(t, s, source, debugging(&log)).
			Images.Download(t.Context(), aPicture, io.Discard, WithResponse(&resp))
		assert.EqualError(t, err, row.text)
		assert.NotErrorIs(t, err, ErrNotFound, "it is not the service's own word")
		assert.False(t, Retryable(err))
		assert.Len(t, s.Sent, 1)
		require.NotNil(t, resp)
		assert.Equal(t, status, resp.StatusCode)
		assert.Equal(t, row.body, string(resp.Body))
		assert.Equal(t, "req-7", resp.RequestID)
		assert.Contains(t, log.String(), fmt.Sprintf("status=%d request_id=req-7", status))
	}
}

// A host that switches protocols, which nothing asks for, must not keep a download for ever.
func TestDownloadEndsWhereTheHostSwitchesProtocols(t *testing.T) {
	t.Parallel()
	baseURL := fakes.RawServer(t, func(*http.Request) string {
		return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
	})
	c, err := NewClient(baseURL, fakes.Key)
	require.NoError(t, err)
	n, err := c.Images.Download(t.Context(), at(baseURL+"/7.png"), io.Discard)
	var switched *APIError
	require.ErrorAs(t, err, &switched)
	assert.Equal(t, 101, switched.StatusCode)
	assert.Zero(t, n)
}

// A redirect for ever, to what is no web address, or past the program's guard against internal hosts is not followed,
// and not asked for again.
func TestDownloadRefusesRedirects(t *testing.T) {
	t.Parallel()
	guard := errors.New("an internal host")
	for name, row := range map[string]struct {
		location string
		guard    func(*http.Request, []*http.Request) error
		requests int
		want     error
		text     string
	}{
		"for ever":  {"/again.png", nil, 11, nil, "redirect refused: gave up after 10 of them"},
		"to a file": {"file:///a", nil, 1, nil, "redirect refused: it does not lead to an http or https URL"},
		"with a guard": {"/a.png", func(*http.Request, []*http.Request) error { return guard }, 1, guard,
			"redirect refused: an internal host"},
		"with a last guard": {"/a.png", useLastResponse, 1, nil,
			"302: redirect refused by the http.Client's CheckRedirect"},
	} {
		requests := 0
		rt := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			assert.Empty(t, r.Referer(), "a signed URL is not for the next host")
			return fakes.Respond(302, ``, "Location", row.location)(r)
		})
		hc := &http.Client{Transport: rt, CheckRedirect: row.guard}
		_, err := using(t, hc, WithRetryPolicy(quick)).Images.Download(t.Context(), aPicture, io.Discard)
		assert.ErrorContains(t, err, "images.download: "+row.text, name)
		assert.Equal(t, row.want != nil, errors.Is(err, guard), name)
		assert.Equal(t, row.requests, requests, name)
	}
}

func useLastResponse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Some deployments send a path alone. A tenant's pictures are below its path: a relative URL must not lead to another
// tenant's.
func TestDownloadResolvesARelativeURLAgainstTheBaseURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ base, address, want string }{
		{"/tenant", "/storage/a b.png?v=1", "/storage/a%20b.png?v=1"},
		{"/tenant", "storage/1.png", "/tenant/storage/1.png"},
		{"/tenant/", "storage/1.png", "/tenant/storage/1.png"},
		{"", "storage/1.png", "/storage/1.png"},
	} {
		s := script(fakes.OK("BMpicture"))
		c, err := NewClient("https://content.example.com"+row.base, fakes.Key,
			WithHTTPClient(&http.Client{Transport: s}))
		require.NoError(t, err)
		_, err = c.Images.Download(t.Context(), at(row.address), io.Discard)
		require.NoError(t, err)
		assert.Equal(t, "https://content.example.com"+row.want, s.Sent[0].URL.String())
	}
}

// A file that is saved as a picture must open as one, whatever the status and the header say. Nothing is written of a
// document.
func TestDownloadSucceedsOnlyWithAWholePicture(t *testing.T) {
	t.Parallel()
	const (
		png, jpeg = "\x89PNG\x0d\x0a\x1a\x0a....", "\xff\xd8\xff\xe0...."
		webp      = "RIFF\x00\x00\x00\x00WEBPVP8 "
		avif      = "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00"
		jxl, tiff = "\xff\x0a\xfa\x7f", "II*\x00\x08\x00\x00\x00"
		problem   = `{"title":"No credit","detail":"buy some"}`
		xml, page = `<?xml version="1.0"?><error>expired</error>`, `<!doctype html><title>Sign in</title>`

		kind, encoding = "Content-Type", "Content-Encoding"
		nothing        = "got nothing instead of a picture"
		document       = "got JSON, XML or HTML instead of a picture"
		noCredit       = document + ": No credit: buy some"
	)
	late := `{"trace":"` + strings.Repeat("x", 2*headSize) + `","message":"no such picture"}`
	for name, row := range map[string]struct {
		status int
		body   string
		header []string
		text   string // of the error; empty for success
	}{
		"a PNG":                            {200, png, []string{kind, "image/png"}, ""},
		"a WebP labelled text/plain":       {200, webp, []string{kind, "text/plain; charset=utf-8"}, ""},
		"a JPEG labelled application/json": {200, jpeg, []string{kind, "application/json"}, ""},
		"a PNG without a label":            {200, png, nil, ""},
		"an AVIF":                          {200, avif, []string{kind, "image/avif"}, ""},
		"a JPEG XL without a label":        {200, jxl, nil, ""},
		"a TIFF labelled as bytes":         {200, tiff, []string{kind, "application/octet-stream"}, ""},
		"a long picture":                   {200, aLongPicture, nil, ""},

		"an empty 200":                  {200, ``, []string{kind, "image/png"}, nothing},
		"no content":                    {204, ``, nil, nothing},
		"nothing but a space":           {200, " ", []string{kind, "image/png"}, nothing},
		"JSON":                          {200, problem, []string{kind, "application/json"}, noCredit},
		"JSON behind a line break":      {200, "\r\n" + problem, nil, noCredit},
		"JSON behind a byte order mark": {200, "\ufeff" + problem, nil, noCredit},
		"JSON whose message comes late": {200, late, nil, document + ": no such picture"},
		"a list in JSON":                {200, `[]`, nil, document},
		"XML":                           {200, xml, []string{kind, "application/xml"}, document},
		"XML behind a space":            {200, " <Error/>", []string{kind, "image/png"}, document},
		"HTML":                          {200, page, []string{kind, "text/html"}, document + ": Sign in"},
		"a picture in br": {200, "\x0b\x02\x80\x89\x01\x03", []string{kind, "image/png", encoding, "br"},
			`the picture has the Content-Encoding "br", which was not asked for`},
	} {
		s := script(fakes.Respond(row.status, row.body, row.header...))
		var out bytes.Buffer
		n, err := over(t, s, WithRetryPolicy(quick)).Images.Download(t.Context(), aPicture, &out)
		assert.EqualValues(t, out.Len(), n, name)
		assert.Len(t, s.Sent, 1, name)
		assert.Equal(t, "identity", s.Sent[0].Header.Get("Accept-Encoding"))
		if row.text == "" {
			assert.NoError(t, err, name)
			assert.Equal(t, row.body, out.String(), name)
			continue
		}
		require.ErrorAs(t, err, new(*DecodeError), name)
		assert.ErrorContains(t, err, row.text, name)
		assert.Zero(t, n, name)
	}
}

// A deployment may put the key into the URL of a picture, and its host may repeat it.
func TestDownloadMasksTheKeyInItsURL(t *testing.T) {
	t.Parallel()
	image := at("https://" + fakes.Key + ".example.com/" + fakes.Key + "/a.png?key=" + fakes.Key)
	echo := []string{"X-Request-Id", "req " + fakes.Key, "X-Echo", fakes.Key}
	source := keys(func(int) (string, error) { return fakes.Key, nil })
	for name, row := range map[string]struct {
		rt   fakes.RoundTripper
		text string // of the error
	}{
		"an error":             {fakes.Respond(403, `{"message":"`+fakes.Key+` is blocked"}`, echo...), ""},
		"a lost connection":    {fails(errors.New("no route to " + image.URL)), "host [API key].example.com"},
		"a picture cut off":    {cutOff("BMpicture", errors.New(fakes.Key)), ""},
		"a redirect to itself": {fakes.Respond(302, ``, "Location", image.URL), ""},
	} {
		for _, opts := range [][]Option{nil, {source}} {
			var log bytes.Buffer
			o := &observer{}
			var resp *Response
			c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/7") {
					return fakes.OK(fakes.StoredImage)(r)
				}
				return row.rt(r)
			}), append(opts, WithRetryPolicy(quick), WithAttemptHook(o.hook), debugging(&log))...)
			require.NoError(t, showSeven(t.Context(), c), "the client learns the key of a source with its first call")
			_, err := c.Images.Download(t.Context(), image, io.Discard, WithResponse(&resp))
			require.Error(t, err, name)
			for _, v := range []any{err, resp, o.attempts, o.results, log.String()} {
				fakes.AssertNoKey(t, v, fakes.Key)
			}
			assert.NotContains(t, Reason(err), fakes.Key)
			assert.ErrorContains(t, err, row.text, name)
		}
	}
}
