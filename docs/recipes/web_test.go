package recipes

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func uploads(t *testing.T, srv *aicontenttest.Server) http.Handler {
	names := onceClient(t, srv)
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /recordings/{id}", passOn(srv.Client(), names))
	mux.HandleFunc("GET /recordings/{id}", result(names))
	return mux
}

func serve(h http.Handler, method string, body io.Reader) int {
	return serveTo(context.Background(), h, method, body)
}

// serveTo serves a visitor who leaves when the context ends.
func serveTo(ctx context.Context, h http.Handler, method string, body io.Reader) int {
	req := httptest.NewRequestWithContext(ctx, method, "/recordings/4711", body)
	if req.ContentLength < 0 {
		req.ContentLength = 1 << 20 // of a pipe
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, req)
	return recorder.Code
}

func TestPassOnStoresAFormSentTwiceOnce(t *testing.T) {
	srv := aicontenttest.NewServer(t, aicontenttest.NoChunkedUploads)
	h := uploads(t, srv)
	require.Equal(t, http.StatusNotFound, serve(h, http.MethodGet, nil), "nothing was sent")
	require.Equal(t, http.StatusOK, serve(h, http.MethodPut, strings.NewReader("a voice message")))
	assert.Equal(t, int64(15), srv.Created()[0].File.Size)
	require.Equal(t, http.StatusOK, serve(h, http.MethodPut, strings.NewReader("a voice message")))
	assert.Len(t, srv.Records(), 1, "the same form sent twice")
	assert.Equal(t, http.StatusOK, serve(h, http.MethodGet, nil))
}

// Whoever sends a visitor the address of a recording must not run a script in the visitor's browser.
func TestTextsAreNoPages(t *testing.T) {
	srv := aicontenttest.NewServer(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		r.Body = bytes.ReplaceAll(r.Body, []byte(`"result":"`), []byte(`"result":"<script>alert(1)</script>`))
	}))
	h := uploads(t, srv)
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		recorder := httptest.NewRecorder()
		body := strings.NewReader("a voice message")
		h.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, "/recordings/4711", body))
		require.Contains(t, recorder.Body.String(), "<script>", method)
		assert.Equal(t, "text/plain; charset=utf-8", recorder.Result().Header.Get("Content-Type"), method)
	}
}

func TestVisitorsReachNoRecordOfAnotherProgram(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	srv.AddTranscription(aicontent.Transcription{Name: "4711", Result: "a job of ours"})
	h := uploads(t, srv)
	assert.Equal(t, http.StatusNotFound, serve(h, http.MethodGet, nil))
	require.Equal(t, http.StatusOK, serve(h, http.MethodPut, strings.NewReader("a voice message")))
	assert.Len(t, srv.Transcriptions(), 2)
}

// A recording that is too large costs the service nothing.
func TestPassOnRefusesALargeRecordingAtOnce(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/recordings/4711", http.NoBody)
	req.Body, req.ContentLength = io.NopCloser(zeros{}), largestUpload+1
	recorder := httptest.NewRecorder()
	uploads(t, srv).ServeHTTP(recorder, req)
	assert.Equal(t, http.StatusRequestEntityTooLarge, recorder.Code)
	assert.Empty(t, srv.Requests())
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// The visitor leaves as soon as the upload has arrived. The call goes on, and is not made again.
func TestPassOnGoesOnWithoutItsVisitor(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		h := uploads(t, srv)
		visitor, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		go serveTo(visitor, h, http.MethodPut, strings.NewReader("a voice message"))
		time.Sleep(90 * time.Second)
		require.Equal(t, http.StatusGatewayTimeout, serve(h, http.MethodGet, nil), "after 110 s: not yet")
		require.Equal(t, http.StatusOK, serve(h, http.MethodGet, nil), "after 120 s")
		require.Equal(t, http.StatusOK, serve(h, http.MethodPut, strings.NewReader("a voice message")))
		assert.Len(t, srv.Requests(), 4, "a search, a Store and two Show requests: nothing was lost")
	}, aicontenttest.LatencyOn(aicontent.TranscriptionsStore, 2*time.Minute))
}

func TestPassOnTellsWhoStalls(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		h := uploads(t, srv)
		stalled, visitor := io.Pipe()
		defer visitor.Close()
		assert.Equal(t, http.StatusRequestTimeout, serve(h, http.MethodPut, stalled))
		srv.FaultOn(aicontent.TranscriptionsStore, 1, aicontenttest.Stall(aicontenttest.MidUpload))
		long := strings.NewReader(strings.Repeat("a voice message ", 1<<16))
		assert.Equal(t, http.StatusServiceUnavailable, serve(h, http.MethodPut, long))
		assert.Empty(t, srv.Records())
	})
}

func TestStatusOfMapsEachErrorToItsStatus(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("a voice"), iotest.ErrReader(io.ErrUnexpectedEOF))
	for name, test := range map[string]struct {
		fault aicontenttest.Fault
		call  func(context.Context, *aicontent.Client) error
		want  int
	}{
		"success":               {call: storeImage, want: 200},
		"invalid arguments":     {call: storeNothing, want: 422},
		"limit of today":        {call: storeWithoutCredit, want: 503},
		"no connection":         {fault: aicontenttest.RefuseConnection(), call: storeImage, want: 503},
		"503 in mid-upload":     {fault: aicontenttest.Status(503, "down").Early(), call: upload(long()), want: 503},
		"429":                   {fault: later(429), call: storeImage, want: 503},
		"401":                   {fault: aicontenttest.Status(401, ""), call: storeImage, want: 502},
		"403 of a firewall":     {fault: aicontenttest.HTMLPage(403), call: storeImage, want: 504},
		"no such record":        {call: show, want: 404},
		"no such name":          {call: findByName, want: 404},
		"search by a proxy":     {fault: aicontenttest.HTMLPage(404), call: findByName, want: 504},
		"409":                   {fault: refusal(409, "Conflict"), call: storeImage, want: 409},
		"413":                   {fault: aicontenttest.Status(413, "").Early(), call: upload(long()), want: 413},
		"larger than our limit": {call: upload(http.MaxBytesReader(nil, io.NopCloser(long()), 100)), want: 413},
		"422":                   {fault: refusal(422, "Not this."), call: storeImage, want: 422},
		"broken upload":         {call: upload(broken), want: 400},
		"stalled upload":        {call: stalledUpload, want: 408},
		"response without record": {
			fault: aicontenttest.Status(201, "{}"), call: storeImage, want: 502,
		},
		"500": {fault: aicontenttest.Status(500, ""), call: storeImage, want: 504},
		"error of another package": {
			call: func(context.Context, *aicontent.Client) error { return io.EOF }, want: 504,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
				if test.fault.Name != "" {
					srv.Fault(test.fault)
				}
				client := srv.Client(oneAttempt)
				err := test.call(t.Context(), client)
				assert.Equal(t, test.want, statusOf(err), "%v", err)
			})
		})
	}
}

// refusal is a response of the service that gives this reason.
func refusal(status int, message string) aicontenttest.Fault {
	return aicontenttest.Status(status, `{"message":"`+message+`"}`)
}

// later is a refusal that asks for more patience than the SDK has.
func later(status int) aicontenttest.Fault {
	return aicontenttest.Status(status, "").WithRetryAfter("3600")
}

func storeImage(ctx context.Context, client *aicontent.Client) error {
	_, err := client.Images.Store(ctx, image)
	return err
}

func storeNothing(ctx context.Context, client *aicontent.Client) error {
	_, err := client.Images.Store(ctx, aicontent.ImageStoreParams{})
	return err
}

func storeWithoutCredit(ctx context.Context, client *aicontent.Client) error {
	spent, err := aicontent.NewClient(client.BaseURL(), "test-key", dailyLimit(0))
	if err != nil {
		return err
	}
	return storeImage(ctx, spent)
}

func show(ctx context.Context, client *aicontent.Client) error {
	_, err := client.Images.Show(ctx, "404")
	return err
}

func findByName(ctx context.Context, client *aicontent.Client) error {
	_, err := client.Images.FindByName(ctx, "nowhere")
	return err
}

func upload(body io.Reader) func(context.Context, *aicontent.Client) error {
	return func(ctx context.Context, client *aicontent.Client) error {
		_, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: "Voice message",
			File: aicontent.FileFromReader("message.m4a", body),
		})
		return err
	}
}

// long returns more than the buffers of the network hold, to be read once.
func long() io.Reader {
	return io.MultiReader(strings.NewReader(strings.Repeat("a voice message ", 1<<16)))
}

// stalledUpload is that of a visitor who sends nothing.
func stalledUpload(ctx context.Context, client *aicontent.Client) error {
	body, visitor := io.Pipe()
	defer visitor.Close()
	return upload(body)(ctx, client)
}

func TestKeptUploadSurvivesA503InMidUpload(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		file, remove, err := keep("message.m4a", long())
		require.NoError(t, err)
		defer remove()
		srv.Fault(aicontenttest.Status(503, "down").WithRetryAfter("1").Early())
		params := aicontent.TranscriptionStoreParams{Name: "Voice message", File: file}
		_, err = srv.Client().Transcriptions.Store(t.Context(), params)
		require.NoError(t, err)
	})
}
