package openapi

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
)

func init() {
	// The validator decodes the body of a part or a response by its media type.
	for _, media := range []string{"audio/wav", "audio/wave", "audio/mpeg", "audio/flac"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
}

// load returns the document, as it is for a deployment at the base URL.
func load(t testing.TB, baseURL string) (*openapi3.T, routers.Router) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromFile("../../openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()))
	document.Servers = openapi3.Servers{{URL: baseURL + "/api/v1"}}
	router, err := gorillamux.NewRouter(document)
	require.NoError(t, err)
	return document, router
}

// exchange is a request and its response, with their bodies.
type exchange struct {
	request      *http.Request
	requestBody  []byte
	response     *http.Response
	responseBody []byte
}

// recorder is a middleware that keeps what passes it.
type recorder struct {
	next http.RoundTripper
	mu   *sync.Mutex
	kept *[]exchange
}

func record() (aicontent.Option, func() []exchange) {
	r := recorder{mu: new(sync.Mutex), kept: new([]exchange)}
	option := aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return recorder{next, r.mu, r.kept}
	})
	return option, func() []exchange {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Clone(*r.kept)
	}
}

// sole returns the exchange of one request to a server, and the document's routes.
func sole(t *testing.T, srv *kit.Server, call func(*aicontent.Client)) (exchange, routers.Router) {
	t.Helper()
	_, router := load(t, srv.URL)
	recording, exchanges := record()
	call(srv.Client(recording, aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})))
	require.Len(t, exchanges(), 1)
	return exchanges()[0], router
}

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	e := exchange{request: req.Clone(req.Context())}
	var sent bytes.Buffer
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(req.Body, &sent), req.Body}
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	e.requestBody, e.response, e.responseBody = sent.Bytes(), resp, body
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.kept = append(*r.kept, e)
	return resp, nil
}

var options = &openapi3filter.Options{
	IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true, MultiError: true, SkipSettingDefaults: true,
	AuthenticationFunc: func(_ context.Context, in *openapi3filter.AuthenticationInput) error {
		header := in.RequestValidationInput.Request.Header.Get("Authorization")
		if token, ok := strings.CutPrefix(header, "Bearer "); !ok || token == "" {
			return in.NewError(nil)
		}
		return nil
	},
}

// input finds the operation of an exchange.
func (e exchange) input(router routers.Router) (*openapi3filter.RequestValidationInput, error) {
	req := e.request.Clone(context.Background())
	req.Body = nil
	if len(e.requestBody) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(e.requestBody))
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		return nil, err
	}
	return &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: options}, nil
}

// checkRequest returns what is not allowed about the request, and the names of its parameters and fields with those
// of the operation: images.list?search.
func (e exchange) checkRequest(router routers.Router) ([]string, error) {
	in, err := e.input(router)
	if err != nil {
		return nil, err
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		return nil, err
	}
	operation := in.Route.Operation.OperationID
	names := []string{operation}
	for name := range e.request.URL.Query() {
		names = append(names, operation+"?"+name)
	}
	form, err := url.ParseQuery(string(e.requestBody))
	if strings.HasPrefix(e.request.Header.Get("Content-Type"), "multipart/form-data") {
		req := e.request.Clone(context.Background())
		req.Body = io.NopCloser(bytes.NewReader(e.requestBody))
		err = req.ParseMultipartForm(1 << 20)
		if err == nil {
			form = req.MultipartForm.Value
			for name := range req.MultipartForm.File {
				form.Add(name, "")
			}
		}
	}
	for name := range form {
		names = append(names, operation+"!"+name)
	}
	return names, err
}

// checkResponse returns what the response has that the document does not know.
func (e exchange) checkResponse(router routers.Router) error {
	in, err := e.input(router)
	if err != nil {
		return err
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: e.response.StatusCode, Header: e.response.Header,
		Body: io.NopCloser(bytes.NewReader(e.responseBody)), Options: options,
	})
}

// documented are the names that checkRequest returns, as the document has them.
func documented(document *openapi3.T) (names []string) {
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			names = append(names, operation.OperationID)
			for _, parameter := range operation.Parameters {
				names = append(names, operation.OperationID+"?"+parameter.Value.Name)
			}
			if operation.RequestBody == nil {
				continue
			}
			for _, media := range operation.RequestBody.Value.Content {
				for name := range maps.Keys(media.Schema.Value.Properties) {
					names = append(names, operation.OperationID+"!"+name)
				}
			}
		}
	}
	return names
}
