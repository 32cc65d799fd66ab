package upload

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/wire"
)

// read returns the body as a transport reads it.
func read(t *testing.T, b *Body) []byte {
	req, s := attach(t, b)
	defer s.Close()
	data, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	if req.ContentLength >= 0 {
		assert.Len(t, data, int(req.ContentLength))
	}
	return data
}

// parsed takes the form apart as Go's parser does.
func parsed(b *Body, form []byte) (*multipart.Form, error) {
	_, params, err := mime.ParseMediaType(b.contentType)
	if err != nil {
		return nil, err
	}
	return multipart.NewReader(bytes.NewReader(form), params["boundary"]).ReadForm(1 << 20)
}

// A service that takes the form apart by its boundary must get the same at each attempt, from wherever the file comes.
func TestAttemptsSendTheSameBytes(t *testing.T) {
	data := recording(100_000)
	for kind, file := range filesOf(t, data) {
		body := bodyOf(t, file.File)
		first := read(t, body)
		assert.Equal(t, 1, bytes.Count(first, data), kind)
		if file.again {
			assert.True(t, bytes.Equal(first, read(t, body)), "%s: the bodies differ", kind)
			assert.True(t, bytes.Equal(first, read(t, body)), "%s: the bodies differ", kind)
		}
	}
}

// The form on the wire, to the byte: the fields in a fixed order, the file last.
func TestFormHasItsFieldsInOrderAndItsFileLast(t *testing.T) {
	const size = 12
	file := File{Name: "interview.wav", Source: Bytes([]byte("RIFF\x04\x00\x00\x00WAVE"))}
	body := Multipart(url.Values{
		"name": {"A \"name\"\r\nof two lines"}, "description": {"Zoë"}, "tags[]": {"b", "a"},
		"odd \"name\"\r\n\\": {"1"},
	}, "file", file, size)
	req, _ := attach(t, body)
	boundary, found := strings.CutPrefix(req.Header.Get("Content-Type"), "multipart/form-data; boundary=")
	require.True(t, found)
	require.Len(t, boundary, 60)
	want := strings.ReplaceAll(strings.Join([]string{
		`--B`, `Content-Disposition: form-data; name="description"`, ``, `Zoë`,
		`--B`, `Content-Disposition: form-data; name="name"`, ``, "A \"name\"\r\nof two lines",
		`--B`, `Content-Disposition: form-data; name="odd \"name\"%0D%0A\\"`, ``, `1`,
		`--B`, `Content-Disposition: form-data; name="tags[]"`, ``, `b`,
		`--B`, `Content-Disposition: form-data; name="tags[]"`, ``, `a`,
		`--B`, `Content-Disposition: form-data; name="file"; filename="interview.wav"`,
		`Content-Type: audio/wav`, ``, "RIFF\x04\x00\x00\x00WAVE",
		`--B--`, ``,
	}, "\r\n"), "--B", "--"+boundary)
	got, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
	assert.EqualValues(t, len(want), req.ContentLength)
	assert.NotEqual(t, body.contentType, Multipart(nil, "file", file, size).contentType, "two calls share a boundary")
}

// File names as they are given and as a service must read them.
var fileNames = []struct{ given, base string }{
	{"interview.wav", "interview.wav"},
	{"Interview mit Zoë, 録音 №1 🎙.wav", "Interview mit Zoë, 録音 №1 🎙.wav"},
	{`the "good" one.wav`, `the "good" one.wav`},
	{`"quoted".wav`, `"quoted".wav`},
	{`ends in a quote"`, `ends in a quote"`},
	{`it's; filename=x.wav`, `it's; filename=x.wav`},
	{"100% sure %22 %0D.wav", "100% sure %22 %0D.wav"},
	{"/home/zoe/interview.wav", "interview.wav"},
	{`C:\Recordings\interview.wav`, "interview.wav"},
	{`..\..\etc/../passwd.wav`, "passwd.wav"},
	{`back\slash "and" quote.wav`, `slash "and" quote.wav`},
	{"a&b<c>=d?.wav", "a&b<c>=d?.wav"},
	{" spaces around .wav", " spaces around .wav"},
	{"no extension", "no extension"},
	{".hidden", ".hidden"},
	{strings.Repeat("é", 148) + ".wav", strings.Repeat("é", 148) + ".wav"},
}

// A backslash goes before a quote: most parsers read that right, and few read the %22 of browsers.
func TestGoReadsFileNamesAsTheyWereGiven(t *testing.T) {
	for _, name := range fileNames {
		body := bodyOf(t, File{Name: name.given, Source: Bytes(recording(100))})
		text := read(t, body)
		form, err := parsed(body, text)
		require.NoError(t, err)
		require.Len(t, form.File["file"], 1)
		assert.Equal(t, name.base, form.File["file"][0].Filename)
		assert.Equal(t, []string{"Interview"}, form.Value["name"])
		escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name.base)
		assert.Contains(t, string(text), `filename="`+escaped+`"`+"\r\n")
	}
}

// An upload that broke off before its closing delimiter is sent again: Go's parser, as any other, must not have taken
// it for whole. It takes one for whole that lacks the last line break alone.
func TestGoTakesNoFormForWholeThatIsCutBeforeItsDelimiter(t *testing.T) {
	const size = 100_000
	body := bodyOf(t, wav(Bytes(recording(size))))
	sent := read(t, body)
	takes := func(n int) bool {
		form, err := parsed(body, sent[:n])
		if err == nil {
			assert.Len(t, form.File["file"], 1)
		}
		return err == nil
	}
	require.True(t, takes(len(sent)))
	for _, n := range []int{size / 10, size / 2, size * 99 / 100, size} {
		assert.False(t, takes(len(body.head)+n), "%d bytes of the file", n)
	}
	var whole []int
	for missing := 1; missing < len(body.tail); missing++ {
		if takes(len(sent) - missing) {
			whole = append(whole, missing)
		}
	}
	assert.Equal(t, []int{2}, whole)
}

// Forms carry no file, report no progress, and are always whole.
func TestFormWithoutAFileIsAlwaysWhole(t *testing.T) {
	body := Form(url.Values{"name": {"a b"}, "favorite": {"1"}})
	assert.True(t, body.Replayable())
	assert.Zero(t, body.FileSize)

	req := httptest.NewRequest(http.MethodPost, "/", nil)
	s, err := body.Attach(req, Clock{}, func(int64) { t.Error("progress without a file") })
	require.NoError(t, err)
	s.Close()
	assert.True(t, s.Complete())
	got, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	assert.Equal(t, "favorite=1&name=a+b", string(got))
	assert.EqualValues(t, len(got), req.ContentLength)
	assert.Equal(t, "application/x-www-form-urlencoded", req.Header.Get("Content-Type"))

	req = httptest.NewRequest(http.MethodPatch, "/", nil)
	_, err = Form(nil).Attach(req, Clock{}, nil)
	require.NoError(t, err)
	assert.Equal(t, http.NoBody, req.Body)
	assert.Zero(t, req.ContentLength)
	assert.Equal(t, "application/x-www-form-urlencoded", req.Header.Get("Content-Type"))
}

// net/http sends a request with a GetBody again by itself: a create request must never have one, and no upload.
func TestNetHTTPMaySendNoPOSTAndNoUploadAgain(t *testing.T) {
	form := Form(url.Values{"name": {"a"}})
	for method, replay := range map[string]bool{http.MethodPost: false, http.MethodPatch: true, http.MethodPut: true} {
		req := httptest.NewRequest(method, "/", nil)
		_, err := form.Attach(req, Clock{}, nil)
		require.NoError(t, err)
		require.Equal(t, replay, req.GetBody != nil, method)
		if replay {
			_, _ = io.Copy(io.Discard, req.Body)
			again, err := req.GetBody()
			require.NoError(t, err)
			got, err := io.ReadAll(again)
			require.NoError(t, err)
			assert.Equal(t, "name=a", string(got), method)
		}
	}
	req, _ := attach(t, bodyOf(t, wav(Bytes(recording(10)))))
	assert.Nil(t, req.GetBody)
}

// writes counts the writes to a connection.
type writes struct {
	net.Conn
	n atomic.Int64
}

func (w *writes) Write(p []byte) (int, error) {
	w.n.Add(1)
	return w.Conn.Write(p)
}

// Header and body of a form go out in one write through the SDK's transport: two would be one packet more for every
// create and update request.
func TestFormsAreOneWrite(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPatch} {
		dial := fakes.PipeDialer(t, func(nc net.Conn) {
			if req, err := http.ReadRequest(bufio.NewReader(nc)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(nc, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			}
		})
		w := &writes{}
		base := &http.Transport{}
		base.DialContext = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			w.Conn, err = dial(ctx, network, address)
			return w, err
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://service.test/", nil)
		require.NoError(t, err)
		_, err = Form(url.Values{"name": {"a"}, "description": {"b"}}).Attach(req, Clock{}, nil)
		require.NoError(t, err)
		resp, err := wire.New(base, false).RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.EqualValues(t, 1, w.n.Load(), method)
	}
}

// A service that moved says so with 307 or 308, for which net/http wants the body once more: the response must arrive
// all the same.
func TestRedirectsOfUploadsAreResponses(t *testing.T) {
	for _, code := range []int{307, 308} {
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		})
		once := Reader(onlyReader{bytes.NewReader(recording(100_000))})
		for _, source := range []Source{Bytes(recording(100_000)), once} {
			status, _, err := post(t.Context(), address, bodyOf(t, wav(source)))
			require.NoError(t, err)
			assert.Equal(t, code, status)
		}
	}
}

// A large form that the network stops taking must not keep a call for ever: only then is the attempt told of a form.
func TestLargeFormThatStallsEndsTheAttempt(t *testing.T) {
	limits := wire.Limits{Stall: time.Minute, Wait: time.Hour}
	network := &wire.TimeoutError{Phase: wire.Sending, Limit: time.Minute}
	response := &wire.TimeoutError{Phase: wire.Waiting, Limit: time.Hour}
	for name, c := range map[string]struct {
		size    int
		read    int // of the body, after half a minute; -1 is all
		tracked bool
		err     *wire.TimeoutError
		after   time.Duration
	}{
		"small":         {largeForm, -1, false, network, time.Minute},
		"read in full":  {largeForm + 1, -1, true, response, time.Hour + time.Minute/2},
		"read in part":  {largeForm + 1, 1000, true, network, 3 * time.Minute / 2},
		"never touched": {largeForm + 1, 0, true, network, time.Minute},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := Form(url.Values{"d": {strings.Repeat("x", c.size-len("d="))}})
			assert.Equal(t, c.tracked, b.Tracked())
			start := time.Now()
			req, _, clock, err := begin(t, t.Context(), b, limits, nil)
			require.NoError(t, err)
			time.Sleep(time.Minute / 2)
			p := make([]byte, c.size)
			if c.read >= 0 {
				p = p[:c.read]
			}
			if len(p) > 0 {
				_, err := io.ReadFull(req.Body, p)
				require.NoError(t, err)
			}
			<-req.Context().Done()
			assert.Equal(t, c.err, clock.Expired())
			assert.Equal(t, c.after, time.Since(start))
		})
	}
	assert.Equal(t, 64<<10, largeForm)
	assert.True(t, bodyOf(t, wav(Bytes(recording(9)))).Tracked())
}

// The end of a large form is the end for those that read it, such as a middleware.
func TestLargeFormIsReadToItsEnd(t *testing.T) {
	text := strings.Repeat("x", largeForm)
	assert.Equal(t, "d="+text, string(read(t, Form(url.Values{"d": {text}}))))
}
