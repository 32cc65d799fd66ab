package openapi

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
)

// everything makes each call with each parameter, and with each option that changes a request.
func everything(t *testing.T, newClient func(...aicontent.Option) *aicontent.Client) {
	ctx := t.Context()
	speech := aicontent.FileFromPath("../../examples/quickstart/speech.wav")
	for _, opts := range [][]aicontent.Option{nil, {
		aicontent.WithUpdateMethod(http.MethodPut),
		aicontent.WithUserAgent("gallery/2.1"),
		aicontent.WithHeader("X-Tenant", "7"),
	}} {
		c := newClient(opts...)
		params := aicontent.ImageStoreParams{
			Name: "Lighthouse", Description: "in a storm; 100 % rain & fog", Resolution: aicontent.Resolution256x256,
			Medium: aicontent.MediumInk, Filter: aicontent.FilterSepia,
		}
		for _, params.Style = range aicontent.Styles() {
			_, err := c.Images.Store(ctx, params)
			require.NoError(t, err)
		}
		params.Resolution = "1536x1024"
		newer := []aicontent.CallOption{aicontent.WithoutValidation(), aicontent.WithFormField("quality", "high")}
		image, err := c.Images.Store(ctx, params, newer...)
		require.NoError(t, err)
		for _, size := range []aicontent.PerPage{
			aicontent.PerPage10, aicontent.PerPage25, aicontent.PerPage50, aicontent.PerPage100,
		} {
			_, err = aicontent.Collect(c.Images.All(ctx, aicontent.ImageListParams{
				Search: "Lighthouse", SearchBy: aicontent.ImageSearchByName,
				SortBy: aicontent.SortByName, Sort: aicontent.SortAsc, PerPage: size,
			}))
			require.NoError(t, err)
		}
		_, err = c.Images.List(ctx, aicontent.ImageListParams{
			Resolution: aicontent.Resolution256x256, Style: aicontent.StyleRetro,
			Medium: aicontent.MediumInk, Filter: aicontent.FilterSepia, Favorite: new(false),
		}, aicontent.WithQuery("page", "1"))
		require.NoError(t, err)
		_, err = c.Images.Show(ctx, image.ID)
		require.NoError(t, err)
		for _, update := range []aicontent.ImageUpdateParams{{Name: new("Beacon"), Favorite: new(true)}, {}} {
			_, err = c.Images.Update(ctx, image.ID, update)
			require.NoError(t, err)
		}
		require.NoError(t, c.Images.Delete(ctx, image.ID))

		unsized := aicontent.FileFromReader("talk.mp3", readOnly{strings.NewReader("ID3 and so on")})
		unknown := aicontent.FileFromBytes("talk", []byte("nothing that is known"))
		var transcription *aicontent.Transcription
		for _, params := range []aicontent.TranscriptionStoreParams{
			{Name: "Talk", File: unsized, Language: "en"},
			{Name: "Talk", File: unknown, Language: "en"},
			{Name: "Keeper", File: speech, Description: "d", Language: "GB"},
		} {
			transcription, err = c.Transcriptions.Store(ctx, params, aicontent.WithoutValidation())
			require.NoError(t, err)
		}
		_, err = aicontent.Collect(c.Transcriptions.All(ctx, aicontent.TranscriptionListParams{
			Search: "dusk", SearchBy: aicontent.TranscriptionSearchByResult, Favorite: new(false),
			SortBy: aicontent.SortByID, Sort: aicontent.SortDesc, PerPage: aicontent.PerPage10,
		}))
		require.NoError(t, err)
		_, err = c.Transcriptions.Show(ctx, transcription.ID)
		require.NoError(t, err)
		_, err = c.Transcriptions.Update(ctx, transcription.ID, aicontent.TranscriptionUpdateParams{
			Name: new("Minutes"), Result: new("The text."), Favorite: new(true),
		})
		require.NoError(t, err)
		require.NoError(t, c.Transcriptions.Delete(ctx, transcription.ID))
	}
}

// readOnly hides everything of a reader but Read.
type readOnly struct{ r *strings.Reader }

func (r readOnly) Read(p []byte) (int, error) { return r.r.Read(p) }

// A document that does not describe each request is of no use to a gateway, a mock or a client in another language. One
// that describes more than the requests was not checked.
func TestRequestsConform(t *testing.T) {
	sent := map[string]bool{}
	var names []string
	for _, personality := range []kit.Personality{"", kit.CursorPaginator} {
		for _, more := range [][]kit.Option{nil, {kit.BooleanWords()}} {
			srv := kit.NewServer(t, append(more, personality, kit.BasePath("/tenant"),
				kit.Allow("resolution", "quality", "language"))...)
			for range 15 {
				srv.AddTranscription(aicontent.Transcription{Name: "Interview", Result: "He counts the ships at dusk."})
			}
			document, router := load(t, srv.URL)
			recording, exchanges := record()
			everything(t, func(opts ...aicontent.Option) *aicontent.Client {
				return srv.Client(append(opts, recording)...)
			})
			names = documented(document)
			for _, e := range exchanges() {
				found, err := e.checkRequest(router)
				require.NoError(t, err, "%s %s\n%.500q", e.request.Method, e.request.URL, e.requestBody)
				assert.Equal(t, "application/json", e.request.Header.Get("Accept"))
				for _, name := range found {
					assert.Contains(t, names, name, "is sent and not in the document")
					sent[name] = true
				}
			}
		}
	}
	for _, name := range names {
		assert.True(t, sent[name], "%s is in the document and never sent", name)
	}
}

// The validator must see a wrong request, or the tests beside this one prove nothing.
func TestWrongRequestsDoNotConform(t *testing.T) {
	ctx := t.Context()
	for name, call := range map[string]func(*aicontent.Client){
		"style": func(c *aicontent.Client) {
			params := aicontent.ImageStoreParams{Name: "n", Description: "d", Resolution: "256x256", Style: "baroque"}
			_, _ = c.Images.Store(ctx, params, aicontent.WithoutValidation())
		},
		"favorite": func(c *aicontent.Client) {
			_, _ = c.Images.List(ctx, aicontent.ImageListParams{}, aicontent.WithQuery("favorite", "yes"))
		},
		"language": func(c *aicontent.Client) {
			file := aicontent.FileFromBytes("a.mp3", []byte("ID3"))
			params := aicontent.TranscriptionStoreParams{Name: "n", File: file, Language: "XX"}
			_, _ = c.Transcriptions.Store(ctx, params, aicontent.WithoutValidation())
		},
	} {
		e, router := sole(t, kit.NewServer(t, kit.Lenient()), call)
		_, err := e.checkRequest(router)
		assert.ErrorContains(t, err, name)
	}
}

// Each personality of the kit stands for deployments that were seen: the document must describe all of their responses.
func TestResponsesConform(t *testing.T) {
	for _, personality := range kit.Personalities() {
		t.Run(string(personality), func(t *testing.T) {
			srv := kit.NewServer(t, personality, kit.BasePath("/tenant"))
			_, router := load(t, srv.URL)
			recording, exchanges := record()
			client := func(opts ...aicontent.Option) *aicontent.Client { return srv.Client(append(opts, recording)...) }
			kit.TestService(tolerant{t}, client)
			statuses := map[int]int{}
			for _, e := range exchanges() {
				stored := e.request.Method == http.MethodPost && e.response.StatusCode == http.StatusOK
				if personality == kit.SaysNo && stored {
					assert.Error(t, e.checkResponse(router), "a refusal is no record: %s", e.responseBody)
					continue
				}
				status := e.response.StatusCode
				err := e.checkResponse(router)
				require.NoError(t, err, "%s %s\n%d %s", e.request.Method, e.request.URL, status, e.responseBody)
				statuses[status/100]++
			}
			assert.True(t, statuses[2] > 10 || personality == kit.SaysNo)
			assert.Greater(t, statuses[4], 3)
		})
	}
}

// tolerant is a test that fails no scenario, because only the responses count. The kit's tests have the scenarios that
// each personality must fail.
type tolerant struct{ *testing.T }

func (t tolerant) Errorf(format string, args ...any) { t.Logf(format, args...) }

func (t tolerant) Fatalf(format string, args ...any) {
	t.Logf(format, args...)
	runtime.Goexit()
}

func (t tolerant) Run(_ string, scenario func(tolerant)) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		scenario(t)
	}()
	<-done
	return true
}

func showImage(c *aicontent.Client) { _, _ = c.Images.Show(context.Background(), "7") }

// A response that no deployment sends must not conform.
func TestWrongResponsesDoNotConform(t *testing.T) {
	for _, body := range []string{
		`{"data":{"name":"no id"}}`, `{"data":[]}`, `[]`, `"text"`, `{"data":{"id":7,"name":"n","favorite":"yes"}}`,
	} {
		srv := kit.NewServer(t)
		srv.Fault(kit.Status(http.StatusOK, body))
		e, router := sole(t, srv, showImage)
		assert.Error(t, e.checkResponse(router), body)
	}
}

// The values that the SDK knows and those of the document cannot differ.
func TestValuesAreThoseOfTheSDK(t *testing.T) {
	document, _ := load(t, "")
	for schema, values := range map[string][]any{
		"Style": untyped(aicontent.Styles()), "Medium": untyped(aicontent.Mediums()),
		"Filter": untyped(aicontent.Filters()), "Resolution": untyped(aicontent.Resolutions()),
	} {
		assert.Equal(t, values, document.Components.Schemas[schema].Value.Enum)
	}

	var countries []any
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if code := string(a) + string(b); aicontent.CountryCode(code).Valid() {
				countries = append(countries, code)
			}
		}
	}
	assert.Equal(t, countries, document.Components.Schemas["CountryCode"].Value.Enum)
}

func untyped[T ~string](values []T) (list []any) {
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}
