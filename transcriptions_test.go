package aicontent

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const interviewJSON = `{"id":"b3a1","name":"Interview","description":"two voices","language":"GB",` +
	`"result":"Hello.","favorite":0,"words":1,"created_at":"2024-05-04T10:11:12.000000Z","updated_at":null}`

func interview() *Transcription {
	return &Transcription{
		ID: "b3a1", Name: "Interview", Description: "two voices", Language: "GB", Result: "Hello.", Words: 1,
		CreatedAt: time.Date(2024, 5, 4, 10, 11, 12, 0, time.UTC), raw: interviewJSON,
	}
}

func TestTranscriptionCallsSendWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	type call = func(context.Context, *Client) (any, error)
	list := func(params TranscriptionListParams) call {
		return func(ctx context.Context, c *Client) (any, error) { return c.Transcriptions.List(ctx, params) }
	}
	update := func(params TranscriptionUpdateParams) call {
		return func(ctx context.Context, c *Client) (any, error) { return c.Transcriptions.Update(ctx, "b3a1", params) }
	}
	show := func(ctx context.Context, c *Client) (any, error) { return c.Transcriptions.Show(ctx, "b3a1") }
	remove := func(ctx context.Context, c *Client) (any, error) { return nil, c.Transcriptions.Delete(ctx, "b3a1") }
	words, put := []Option{WithBooleanWords()}, []Option{WithUpdateMethod(http.MethodPut)}
	for name, w := range map[string]wireCase{
		"list without parameters": {
			list(TranscriptionListParams{}), nil, "GET transcriptions", "", 200, `{"data":[]}`, nil,
		},
		"list with every parameter": {
			list(TranscriptionListParams{
				Search: "héllo", SearchBy: TranscriptionSearchByResult, Favorite: new(true), SortBy: SortByID,
				Sort: SortDesc, PerPage: PerPage100,
			}), nil,
			"GET transcriptions?favorite=1&per_page=100&search=h%C3%A9llo&search_by=result&sort=desc&sort_by=id",
			"", 200, `[]`, nil,
		},
		"show": {show, nil, "GET transcriptions/b3a1", "", 200, `{"data":` + interviewJSON + `}`, interview()},
		"update of every field": {
			update(TranscriptionUpdateParams{Name: new("n"), Result: new("Good day."), Favorite: new(true)}), nil,
			"PATCH transcriptions/b3a1", "favorite=1&name=n&result=Good+day.", 200, interviewJSON, interview(),
		},
		"update to an empty result": {
			update(TranscriptionUpdateParams{Result: new("")}), put,
			"PUT transcriptions/b3a1", "result=", 200, interviewJSON, nil,
		},
		"update with words": {
			update(TranscriptionUpdateParams{Favorite: new(false)}), words,
			"PATCH transcriptions/b3a1", "favorite=false", 200, interviewJSON, nil,
		},
		"delete": {remove, nil, "DELETE transcriptions/b3a1", "", 204, "", nil},
	} {
		t.Run(name, w.run)
	}
}

func TestTranscriptionStoreSendsItsFieldsAndThenItsFile(t *testing.T) {
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
			got = append(got, fmt.Sprintf("%s|%s|%s|%s",
				part.FormName(), part.FileName(), part.Header.Get("Content-Type"), text))
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
		Name: "Interview \"1\"", File: FileFromBytes("a talk.wav", []byte(wavHead)),
		Description: "two\r\nvoices", Language: "GB",
	}, WithFormField("speakers", "2"))
	require.NoError(t, err)
	assert.Equal(t, interview(), transcription)
	assert.Equal(t, "/tenant/api/v1/transcriptions", uri)
	assert.Positive(t, length)
	assert.ElementsMatch(t, []string{
		`name|||Interview "1"`, "description|||two\r\nvoices", "language|||GB", "speakers|||2",
		"file|a talk.wav|audio/wav|" + wavHead,
	}, got)
	assert.True(t, strings.HasPrefix(got[len(got)-1], "file|"),
		"the file comes last, so that a service knows the rest before it")
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
