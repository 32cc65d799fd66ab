package aicontent

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

const (
	interviewJSON = `{"id":"b3a1","name":"Interview","description":"two voices","language":"GB","result":"Hello.","favorite":0,"words":1,` +
		`"created_at":"2024-05-04T10:11:12.000000Z","updated_at":null}`
	wavHead = "RIFF\x24\x00\x00\x00WAVEfmt "
)

func interview() *Transcription {
	return &Transcription{
		ID: "b3a1", Name: "Interview", Description: "two voices", Language: "GB", Result: "Hello.", Words: 1,
		CreatedAt: time.Date(2024, 5, 4, 10, 11, 12, 0, time.UTC), raw: interviewJSON,
	}
}

func TestTranscriptionsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, w := range []wireCase{
		{
			name: "list without parameters",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Transcriptions.List(ctx, TranscriptionListParams{})
			},
			method: "GET", uri: "transcriptions", response: `{"data":[]}`,
		},
		{
			name: "list with every parameter",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Transcriptions.List(ctx, TranscriptionListParams{
					Search: "héllo", SearchBy: TranscriptionSearchByResult, Favorite: new(true), SortBy: SortByID, Sort: SortDesc, PerPage: PerPage100,
				})
			},
			method: "GET", uri: "transcriptions?favorite=1&per_page=100&search=h%C3%A9llo&search_by=result&sort=desc&sort_by=id", response: `[]`,
		},
		{
			name:   "show",
			call:   func(ctx context.Context, c *Client) (any, error) { return c.Transcriptions.Show(ctx, "b3a1") },
			method: "GET", uri: "transcriptions/b3a1", response: `{"data":` + interviewJSON + `}`, result: interview(),
		},
		{
			name: "update of every field",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Transcriptions.Update(ctx, "b3a1", TranscriptionUpdateParams{Name: new("n"), Result: new("Good day."), Favorite: new(true)})
			},
			method: "PATCH", uri: "transcriptions/b3a1", body: "favorite=1&name=n&result=Good+day.", response: interviewJSON, result: interview(),
		},
		{
			name: "update to an empty result",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Transcriptions.Update(ctx, "b3a1", TranscriptionUpdateParams{Result: new("")})
			},
			opts: []Option{WithUpdateMethod(http.MethodPut)}, method: "PUT", uri: "transcriptions/b3a1", body: "result=", response: interviewJSON,
		},
		{
			name:   "delete",
			call:   func(ctx context.Context, c *Client) (any, error) { return nil, c.Transcriptions.Delete(ctx, "b3a1") },
			method: "DELETE", uri: "transcriptions/b3a1", status: 204,
		},
	} {
		t.Run(w.name, w.run)
	}
}

func TestTranscriptionsStoreOnTheWire(t *testing.T) {
	t.Parallel()
	var got []string
	var length int64
	var uri string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uri, length = r.RequestURI, r.ContentLength
		kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		assert.NoError(t, err)
		assert.Equal(t, "multipart/form-data", kind)
		counted := &countingReader{r: r.Body}
		for form := multipart.NewReader(counted, params["boundary"]); ; {
			part, err := form.NextPart()
			if err != nil {
				assert.Equal(t, io.EOF, err)
				break
			}
			text, _ := io.ReadAll(part)
			got = append(got, fmt.Sprintf("%s|%s|%s|%s", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), text))
		}
		_, _ = io.Copy(io.Discard, counted)
		assert.Equal(t, length, counted.n, "the length that was announced is what came")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, `{"data":`+interviewJSON+`,"status":201}`)
	}))
	defer srv.Close()
	c, err := NewClient(srv.URL+"/tenant", "test-key")
	require.NoError(t, err)
	transcription, err := c.Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "Interview \"1\"", File: FileFromBytes("a talk.wav", []byte(wavHead)), Description: "two\r\nvoices", Language: "GB",
	}, WithFormField("speakers", "2"))
	require.NoError(t, err)
	assert.Equal(t, interview(), transcription)
	assert.Equal(t, "/tenant/api/v1/transcriptions", uri)
	assert.Positive(t, length)
	assert.ElementsMatch(t, []string{
		`name|||Interview "1"`, "description|||two\r\nvoices", "language|||GB", "speakers|||2", "file|a talk.wav|audio/wav|" + wavHead,
	}, got)
	assert.True(t, strings.HasPrefix(got[len(got)-1], "file|"), "the file comes last, so that a service knows the rest before it")
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func TestTranscriptionsRefuseBadInput(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(interviewJSON)}}
	c := over(t, s)
	audio := FileFromBytes("a.wav", []byte(wavHead))
	_, missing := os.Open("testdata/none.wav") // its text is the system's
	const waived = " (WithoutValidation sends it anyway)"
	store := func(params TranscriptionStoreParams, opts ...CallOption) error {
		return second(c.Transcriptions.Store(t.Context(), params, opts...))
	}
	for name, row := range map[string]struct {
		err  error
		text string
	}{
		"nothing":        {store(TranscriptionStoreParams{}), "transcriptions.store: name: is required; file: is required (make it with FileFromPath, FileFromFS, FileFromBytes or FileFromReader)"},
		"a lower case":   {store(TranscriptionStoreParams{Name: "n", File: audio, Language: "us"}), `transcriptions.store: language "us": must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language` + waived},
		"a language":     {store(TranscriptionStoreParams{Name: "n", File: audio, Language: "en"}), `transcriptions.store: language "en": must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language` + waived},
		"no country":     {store(TranscriptionStoreParams{Name: "n", File: audio, Language: "XX"}), `transcriptions.store: language "XX": must be a country code of ISO 3166-1 alpha-2 in capital letters, such as US or DE, not a language` + waived},
		"an empty file":  {store(TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", nil)}), `transcriptions.store: file "a.wav": must not be empty` + waived},
		"a missing file": {store(TranscriptionStoreParams{Name: "n", File: FileFromPath("testdata/none.wav")}), `transcriptions.store: file "none.wav": cannot be read: ` + missing.Error()},
		"a directory":    {store(TranscriptionStoreParams{Name: "n", File: FileFromPath(".")}), `transcriptions.store: file ".": must have a file name (FileFromPath and FileFromFS take it from their path, FileFromBytes and FileFromReader from their first argument)`},
		"a blank name":   {store(TranscriptionStoreParams{Name: " ", File: FileFromBytes("", []byte(wavHead))}, WithoutValidation()), `transcriptions.store: name " ": is required; file: must have a file name (FileFromPath and FileFromFS take it from their path, FileFromBytes and FileFromReader from their first argument)`},
		"a line break":   {store(TranscriptionStoreParams{Name: "n", File: FileFromBytes("a\r\nb.wav", []byte(wavHead))}), `transcriptions.store: file "a\r\nb.wav": must have a name without control characters or line breaks`},
		"a picture":      {store(TranscriptionStoreParams{Name: "n", File: FileFromBytes("a.wav", []byte("\x89PNG\x0D\x0A\x1A\x0A"))}), `transcriptions.store: file "a.wav": must be an audio file, but it is a PNG image` + waived},
		"a list": {
			second(c.Transcriptions.List(t.Context(), TranscriptionListParams{SearchBy: "description", SortBy: "words", Sort: "x", PerPage: 11})),
			`transcriptions.list: search_by "description": must be one of name, result` + `; sort_by "words": must be one of id, name` +
				`; sort "x": must be one of desc, asc` + `; per_page "11": must be one of 10, 25, 50, 100` + waived,
		},
		"an update": {second(c.Transcriptions.Update(t.Context(), ".", TranscriptionUpdateParams{Name: new(" ")})), `transcriptions.update: id ".": must not be a relative path segment; name " ": must not be empty (leave it nil to keep the current one)`},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, row.err, ErrInvalid)
			assert.Equal(t, row.text, row.err.Error())
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(row.err))
		})
	}
	assert.ErrorIs(t, store(TranscriptionStoreParams{File: FileFromPath("testdata/none.wav")}), fs.ErrNotExist, "the cause is not lost")
	assert.Empty(t, s.Asked, "nothing was sent")
}

func TestTranscriptionsWithoutValidation(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(interviewJSON)}}
	_, err := over(t, s).Transcriptions.Store(t.Context(), TranscriptionStoreParams{
		Name: "n", File: FileFromBytes("notes.txt", []byte("plainly text")), Language: "en",
	}, WithoutValidation())
	require.NoError(t, err)
	assert.Contains(t, s.Bodies[0], "plainly text")
	assert.Contains(t, s.Bodies[0], "\r\n\r\nen\r\n")
}
