package response

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/redact"
)

const key redact.Key = "sk/live-0123456789"

type byField = map[string][]string

// messages are those of the files of testdata/errors. A file without a message here shows its body.
var messages = map[string]string{
	"byte-order-mark.json":          "Resource not found.",
	"code-message.json":             "image not found",
	"detail.json":                   "Not found.",
	"empty-object.json":             "",
	"empty.txt":                     "",
	"error-description.json":        "The access token expired.",
	"error-object.json":             "The name is taken.",
	"error-text.json":               "Unauthenticated.",
	"errors-object-of-strings.json": "description: is too long; name: is taken",
	"invalid-utf-8.json":            "Resource \uFFFD not found.",
	"lines.json":                    "Resource not found. [31m Really.",
	"long.json":                     started(redact.MaxLine, strings.Repeat("Resource not found. ", 100)),
	"message-list-of-one.json":      "name must be shorter than 128",
	"message-array.json":            "name must be a string; name should not be empty",
	"message-object.json":           "name: The name field is required.",
	"message-object-several.json": "description: The description is too long; " +
		"name: The name field is required, The name must be a string.",
	"message.json":            "Resource not found.",
	"null.json":               "",
	"page-without-title.html": "",
	"page.html":               "502 Bad Gateway",
	"problem-title.json":      "One or more validation errors occurred.",
	"problem.json":            "You do not have enough credit: An image costs 30, you have 12.",
	"too-many.json":           "Too Many Attempts.",
	"validator.json":          "The name field is required. (and 1 more error)",
}

// fieldsOf are the fields of those files that have any.
var fieldsOf = map[string]byField{
	"errors-object-of-strings.json": {"name": {"is taken"}, "description": {"is too long"}},
	"message-object.json":           {"name": {"The name field is required."}},
	"message-object-several.json": {
		"name":        {"The name field is required.", "The name must be a string."},
		"description": {"The description is too long."},
	},
	"problem-title.json": {"Name": {"The Name field is required."}},
	"validator.json": {
		"name":        {"The name field is required."},
		"description": {"The description is too long.", "The description is not allowed."},
	},
}

// started returns the first n bytes of a text that goes on.
func started(n int, text string) string { return text[:n] + "…" }

// An error that does not name its cause, or buries it in a page, cannot be acted on.
func TestMessageIsReadFromErrorsOfEveryShape(t *testing.T) {
	found := 0
	for name, body := range fixtures[any](t, "errors", nil) {
		want, listed := messages[name]
		if listed {
			found++
		} else if want = strings.TrimSpace(body); len(want) > 200 {
			want = started(200, want)
		}
		assertRead(t, body, want, fieldsOf[name], name)
	}
	assert.Equal(t, len(messages), found, "a row without a file")
}

// assertRead asserts the message and the fields of a body.
func assertRead(t *testing.T, body, message string, fields byField, name string) {
	t.Helper()
	got, gotFields := Message(body, redact.Keys{key})
	assert.Equal(t, message, got, name)
	assert.Equal(t, fields, gotFields, name)
}

// The service's texts about a field must be found under the field's name, even if that name also describes errors.
func TestFieldsMayBeNamedLikeDescriptions(t *testing.T) {
	for body, want := range map[string]byField{
		`{"errors":{"name":"is taken","description":"is long"}}`:   {"name": {"is taken"}, "description": {"is long"}},
		`{"errors":{"message":"is long","detail":["is short"]}}`:   {"message": {"is long"}, "detail": {"is short"}},
		`{"errors":{"name":["is taken","is short","is taken"]}}`:   {"name": {"is taken", "is short"}},
		`{"message":{"name":"is taken"},"errors":{"name":["no"]}}`: {"name": {"is taken", "no"}},
	} {
		_, fields := Message(body, redact.Keys{key})
		assert.Equal(t, want, fields, body)
	}
}

// A text is said once and an empty one not at all.
func TestMessagesAreJoined(t *testing.T) {
	for body, want := range map[string]string{
		`x`:                          "x",
		`{"message":"","error":"x"}`: "x",
		`{"message":"x","error":"z","detail":"y"}`: "x",
		`{"message":["x","","x",1,"y."]}`:          "x; y.",
		`{"error":"z","error_description":"x"}`:    "x",
		`{"title":["x","y"]}`:                      "x; y",
		`{"message":" ","error":{"message":"x"}}`:  "x",
		`{"detail":"x"}`:                           "x",
		`{"title":"x.","detail":"y."}`:             "x: y.",
		`{"title":7,"detail":"x"}`:                 "x",
	} {
		assertRead(t, body, want, nil, body)
	}
}

func TestABodyWithoutAMessageShowsItsBeginning(t *testing.T) {
	long := strings.Repeat("no route to host, ", 100)
	timeout := "<!DOCTYPE html><title>\n a.example &amp; b | 524: A timeout occurred </title>"
	for body, want := range map[string]string{
		"a trace\n  at main.php:7":             "a trace at main.php:7",
		long:                                   started(200, long),
		strings.Repeat("x", 195) + string(key): started(200, strings.Repeat("x", 195)+"[API key]x"),
		`"x"`:                                  `"x"`,
		`7`:                                    "7",
		`{"error":true}`:                       `{"error":true}`,
		`<Error><Code>SlowDown</Code></Error>`: `<Error><Code>SlowDown</Code></Error>`,
		timeout:                                "a.example & b | 524: A timeout occurred",
		`<html><title>` + string(key) + `</title></html>`: "[API key]",
		`<html><h1>Sorry</h1></html>`:                     "",
		`{}`:                                              "",
		`[]`:                                              "",
		`[{}]`:                                            "",
		`null`:                                            "",
		`""`:                                              "",
		` `:                                               "",
	} {
		assertRead(t, body, want, nil, body)
	}
}

func TestMembersWithoutAMessageGiveNoFields(t *testing.T) {
	for _, body := range []string{
		`{"data":[{"id":7}],"tags":["x",1],"list":[[]]}`, `{"error":true}`, `{"errors":[1,"x",["x"],{"message":"x"}]}`,
		`{"message":[["x"]]}`, `["x"]`, `{"message":7}`, `{"error":{"error":"x"}}`,
		`{"errors":{"name":[""," ",{"message":"x"}]}}`, `{"errors":{"file":{"size":"x"}}}`, `{"name":["x"]}`,
	} {
		assertRead(t, body, body, nil, body)
	}
}

// The key of a production deployment must not get into a log because a service echoes it.
func TestKeyIsMasked(t *testing.T) {
	const echoed = `{"message":"The key sk\/live-0123456789 has expired.",` +
		`"errors":{"sk%2Flive-0123456789":["sk%2Flive-0123456789!"]}}`
	assertRead(t, echoed, "The key [API key] has expired.", byField{"[API key]": {"[API key]!"}}, echoed)
	long := strings.Repeat("x", redact.MaxLine-5)
	for body, want := range map[string]string{
		`{"message":"` + long + string(key) + `"}`: long + "[API …",
		long[:195] + string(key) + "x":             long[:195] + "[API …",
		"no such key: sk/live-0123456789\n":        "no such key: [API key]",
	} {
		assertRead(t, body, want, nil, body)
	}
}

// A deployment, or a proxy before it, can write anything into an error: neither memory nor a log may fill up with it.
func TestErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 4000)
	var fields, texts strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&fields, `,"field%d":[%q]`, i, long[:200])
		fmt.Fprintf(&texts, `,"text %d"`, i)
	}
	nested := strings.Repeat(`{"a":`, 5000) + `"deep"` + strings.Repeat("}", 5000)
	for name, test := range map[string]struct {
		body          string
		fields, texts int
	}{
		"fields": {`{"errors":{"x":["y"]` + fields.String() + `}}`, 100, 100},
		"nested": {`{"errors":` + nested + `,"message":` + nested + `,"error":` + nested + `}`, 0, 0},
		"long":   {strings.ReplaceAll(`{"message":"L","detail":"L","title":"L","error":"L"}`, "L", long), 0, 0},
		"plain":  {long, 0, 0},
	} {
		message, fields := Message(test.body, redact.Keys{key})
		assertLine(t, message)
		assert.Len(t, fields, test.fields, name)
		count := 0
		for field, texts := range fields {
			assertLine(t, field)
			count += len(texts)
		}
		assert.Equal(t, test.texts, count, name)
	}
}

func assertLine(t testing.TB, text string) {
	t.Helper()
	assert.LessOrEqual(t, len(text), redact.MaxLine+len("…"))
	assert.True(t, utf8.ValidString(text))
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' }
	assert.False(t, strings.ContainsFunc(text, control), "%q", text)
}

// An error's text is read by people on call: it says everything once, without double punctuation.
func TestTextSaysEverythingOnce(t *testing.T) {
	for _, test := range []struct {
		message string
		fields  byField
		want    string
	}{
		{"", nil, ""},
		{"Not found.", nil, "Not found."},
		{"", byField{"name": {"is taken."}}, "name: is taken."},
		{"name: is taken.", byField{"name": {"is taken."}}, "name: is taken."},
		{
			"The data is invalid.", byField{"name": {"is taken"}, "file": {"too long.", "not nice."}},
			"The data is invalid; file: too long, not nice; name: is taken",
		},
		{"Sure?", byField{"name": {"is taken"}}, "Sure?; name: is taken"},
		{
			"The name is taken. (and 1 more error)",
			byField{"file": {"is too large."}, "name": {"The name is taken."}},
			"file: is too large; name: The name is taken.",
		},
		{
			"It is short. (and 1 more error)", byField{"name": {"It is taken.", "It is short."}},
			"name: It is taken, It is short.",
		},
		{
			"file: is too large; name: is ta…", byField{"file": {"is too large"}, "name": {"is taken"}},
			"file: is too large; name: is taken",
		},
		{"The data is invalid.", byField{"name": nil, "file": {""}}, "The data is invalid; file: ; name: "},
	} {
		assert.Equal(t, test.want, Text(test.message, test.fields))
	}
	long := `{"message":{"name":["` + strings.Repeat("x", 600) + `","` + strings.Repeat("y", 600) + `"]}}`
	message, fields := Message(long, redact.Keys{key})
	assert.Equal(t, Text("", fields), Text(message, fields), "a message that was cut repeats the fields too")
}

func FuzzMessage(f *testing.F) {
	for _, body := range fixtures[any](f, "errors", nil) {
		f.Add([]byte(body))
	}
	f.Add([]byte(`{"message":"no sk/live-0123456789","errors":{"sk/live-0123456789":["sk%2Flive-0123456789"]}}`))
	f.Add([]byte(`<title>sk/live-0123456789</title>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		message, fields := Message(string(body), redact.Keys{key})
		assertLine(t, message)
		require.LessOrEqual(t, len(fields), maxTexts)
		for field, texts := range fields {
			require.NotEmpty(t, message)
			assertLine(t, field)
			require.NotEmpty(t, texts)
			require.LessOrEqual(t, len(texts), maxTexts)
			for _, text := range texts {
				require.NotEmpty(t, text)
				assertLine(t, text)
			}
		}
		require.NotContains(t, Text(message, fields), string(key))
	})
}
