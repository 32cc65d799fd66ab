package aicontent

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type fieldTexts = map[string][]string

// errorAnswers are what the files of testdata/errors say.
var errorAnswers = map[string]struct {
	message string
	fields  fieldTexts
}{
	"message.json": {"Resource not found.", nil},
	"validator.json": {"The name field is required. (and 1 more error)", fieldTexts{
		"name": {"The name field is required."}, "description": {"The description is too long.", "The description is not allowed."},
	}},
	"too-many.json":                 {"Too Many Attempts.", nil},
	"message-object.json":           {"", fieldTexts{"name": {"is required"}, "description": {"is too long"}}},
	"message-array.json":            {"name must be a string; name should not be empty; Bad Request", nil},
	"errors-object-of-strings.json": {"", fieldTexts{"name": {"is taken"}, "description": {"is too long"}}},
	"errors-strings.json":           {"The name is taken.; The description is too long.", nil},
	"errors-text.json":              {"The name is taken.", nil},
	"errors-field-message.json":     {"Try again.", fieldTexts{"name": {"is taken", "is short"}}},
	"errors-name-reason.json":       {"Your request is not valid.", fieldTexts{"per_page": {"must be 10"}}},
	"errors-param-detail.json":      {"", fieldTexts{"style": {"is unknown"}}},
	"errors-param-msg.json":         {"", fieldTexts{"name": {"Invalid value"}}},
	"errors-pointer.json":           {"", fieldTexts{"name": {"is taken"}}},
	"errors-code-description.json":  {"Name is taken.", nil},
	"errors-one-member-each.json":   {"", fieldTexts{"name": {"is taken"}, "description": {"is too long"}}},
	"errors-nested.json":            {"The request is not valid.", fieldTexts{"file.size": {"is too large"}, "file.type": {"is unknown"}}},
	"errors-one-object.json":        {"", fieldTexts{"name": {"is taken"}}},
	"error-text.json":               {"Unauthenticated.", nil},
	"error-object.json":             {"The name is taken.", nil},
	"error-object-details.json":     {"Bad input.", fieldTexts{"name": {"is taken"}}},
	"error-object-fields.json":      {"", fieldTexts{"name": {"is taken"}}},
	"error-true.json":               {"NAME_TAKEN", nil},
	"error-description.json":        {"invalid_token; The access token expired.", nil},
	"problem.json":                  {"You do not have enough credit.: An image costs 30, you have 12.", nil},
	"problem-title.json":            {"One or more validation errors occurred.", fieldTexts{"Name": {"The Name field is required."}}},
	"detail.json":                   {"Not found.", nil},
	"detail-array.json":             {"", fieldTexts{"name": {"Field required"}}},
	"fields-alone.json":             {"", fieldTexts{"name": {"This field is required."}, "favorite": {"Must be a valid boolean."}}},
	"array.json":                    {"Try again.", fieldTexts{"name": {"is taken"}}},
	"text.json":                     {"The name is taken.", nil},
	"description.json":              {"Your credit is used up.", nil},
	"status-text.json":              {"quota_exceeded", nil},
	"null.json":                     {"", nil},
	"empty-object.json":             {"", nil},
	"null-message.json":             {"", nil},
	"empty.txt":                     {"", nil},
	"plain.txt":                     {"upstream connect error or disconnect/reset before headers. reset reason: connection failure", nil},
	"page.html":                     {"502 Bad Gateway", nil},
	"page-heading.html":             {"We'll be back soon & well", nil},
	"page-text.html":                {"The request body is too large.", nil},
	"xml.txt":                       {"AccessDenied Access Denied", nil},
	"byte-order-mark.json":          {"Resource not found.", nil},
	"invalid-utf-8.json":            {"Resource \uFFFD not found.", nil},
	"lines.json":                    {"Resource not found. [31m Really.", nil},
	"cut-off.json":                  {`{"message":"Resource not fo`, nil},
	"long.json":                     {strings.Repeat("Resource not found. ", 100)[:maxSaid] + "…", nil},
}

// An error that says nothing of its cause, or buries it in a page, is one that nobody can act on.
func TestErrorsOfEveryShape(t *testing.T) {
	for name, body := range answersIn(t, "errors", errorAnswers) {
		t.Run(name, func(t *testing.T) {
			want := errorAnswers[name]
			c := deployment(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", "req-7")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = w.Write(body)
			})
			_, err := c.Images.Show(t.Context(), "7")
			var api *APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, want.message, api.Message)
			assert.Equal(t, want.fields, api.Fields)
			assert.Equal(t, http.StatusUnprocessableEntity, api.StatusCode)
			assert.Equal(t, "req-7", api.RequestID)
			assert.Equal(t, 7*time.Second, api.RetryAfter)
			assert.Equal(t, string(body), string(api.Body))
			assert.Equal(t, "/tenant/api/v1/images/7", api.Path)
			assertOneLine(t, err.Error())
			assert.True(t, strings.HasPrefix(err.Error(), "images.show: 422: "), err.Error())
			for field, texts := range want.fields {
				assert.Contains(t, err.Error(), field+": "+strings.Join(texts, ", "))
			}
			if want.message == "" && want.fields == nil {
				assert.Equal(t, "images.show: 422: unprocessable entity", err.Error())
			}
		})
	}
}

func assertOneLine(t testing.TB, text string) {
	t.Helper()
	assert.NotContains(t, text, "\n")
	assert.Less(t, len(text), 2*maxErrorText)
	assert.True(t, utf8.ValidString(text))
	assert.False(t, strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x2028 }), "%q", text)
}

// A deployment, or who stands in for it, can write anything into an error: neither its memory nor a log may fill up with it.
func TestErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 4000)
	var fields, texts, nested strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&fields, `,"field%d":[%q]`, i, long[:200])
		fmt.Fprintf(&texts, `,"text %d"`, i)
	}
	nested.WriteString(strings.Repeat(`{"a":`, 5000) + `"deep"` + strings.Repeat("}", 5000))
	for name, body := range map[string]string{
		"fields": `{"errors":{"x":["y"]` + fields.String() + `}}`,
		"texts":  `{"errors":["x"` + texts.String() + `]}`,
		"field":  `{"errors":{"` + long + `":["x"` + texts.String() + `]}}`,
		"nested": `{"errors":` + nested.String() + `,"message":` + nested.String() + `,"error":` + nested.String() + `}`,
		"long":   `{"message":"` + long + `","detail":"` + long + `","title":"` + long + `","error":"` + long + `"}`,
		"page":   "<html><body>" + strings.Repeat("<p>"+long, 100),
		"plain":  long,
		"tag":    "<" + long,
	} {
		e := newAPIError(&http.Response{StatusCode: 500}, []byte(body), &url.URL{}, "a-key-for-tests")
		assertOneLine(t, e.Error())
		assert.LessOrEqual(t, len(e.Fields), maxErrorFields, name)
		size := len(e.Message)
		for field, texts := range e.Fields {
			assert.LessOrEqual(t, len(texts), maxErrorFields, name)
			size += len(field) + len(strings.Join(texts, ""))
		}
		assert.Less(t, size, 64<<10, name)
	}
}

// What the service says of a field must be found under the name that the field has on the wire, even where that name is
// also one that describes errors.
func TestFieldsNamedLikeDescriptions(t *testing.T) {
	for body, want := range map[string]fieldTexts{
		`{"errors":{"name":"is taken","description":"is long"}}`:                                  {"name": {"is taken"}, "description": {"is long"}},
		`{"errors":[{"description":"is long"}]}`:                                                  {"description": {"is long"}},
		`{"errors":{"description":{"message":"is long"}}}`:                                        {"description": {"is long"}},
		`{"errors":{"name":[{"message":"is taken","code":1},{"msg":"is short"}]}}`:                {"name": {"is taken", "is short"}},
		`{"errors":[{"path":["name"],"message":"is taken"}]}`:                                     {"name": {"is taken"}},
		`{"errors":[{"loc":["body","file","name"],"msg":"is taken"}]}`:                            {"name": {"is taken"}},
		`{"errors":[{"property":"name","message":"is taken"}]}`:                                   {"name": {"is taken"}},
		`{"errors":[{"objectName":"image","field":"name","defaultMessage":"must not be blank"}]}`: {"name": {"must not be blank"}},
	} {
		e := newAPIError(&http.Response{StatusCode: 422}, []byte(body), &url.URL{}, "a-key-for-tests")
		assert.Equal(t, want, e.Fields, body)
	}
}

func FuzzError(f *testing.F) {
	for _, body := range everyAnswer(f) {
		f.Add(body)
	}
	f.Add([]byte(`{"message":"the key a-key-for-tests is not known","errors":{"a-key-for-tests":["A-KEY-FOR-TESTS"]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := newAPIError(&http.Response{StatusCode: 422}, body, &url.URL{}, "a-key-for-tests")
		assertOneLine(t, e.Error())
		require.LessOrEqual(t, len(e.Message), maxSaid+len("…"))
		require.LessOrEqual(t, len(e.Fields), maxErrorFields)
		for field, texts := range e.Fields {
			require.NotEmpty(t, texts)
			require.LessOrEqual(t, len(texts), maxErrorFields)
			require.LessOrEqual(t, len(field), maxSaid+len("…"))
			require.NotContains(t, field, "a-key-for-tests")
			for _, text := range texts {
				require.NotEmpty(t, text)
				require.LessOrEqual(t, len(text), maxSaid+len("…"))
			}
		}
		require.NotContains(t, strings.ToLower(e.Error()), "a-key-for-tests")
	})
}
