package aicontent

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wireCase is a call and exactly what of it must arrive at the service.
type wireCase struct {
	call     func(context.Context, *Client) (any, error)
	opts     []Option
	request  string // method, and path and query as sent
	body     string
	status   int
	response string
	result   any // nil for any
}

// run makes the call against a service below a base path, so that a lost prefix fails.
func (w wireCase) run(t *testing.T) {
	var method, uri, body string
	var header http.Header
	c := deployment(t, func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		method, uri, body, header = r.Method, r.RequestURI, string(text), r.Header
		respondingBody(w.status, []byte(w.response))(rw, r)
	}, w.opts...)
	result, err := w.call(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(w.request, " ", " /tenant/api/v1/", 1), method+" "+uri)
	assert.Equal(t, w.body, body)
	if method == http.MethodGet || method == http.MethodDelete {
		assert.Empty(t, header.Get("Content-Type"))
		assert.Empty(t, header.Get("Content-Length"))
	} else {
		assert.Equal(t, "application/x-www-form-urlencoded", header.Get("Content-Type"))
	}
	if w.result != nil {
		assert.Equal(t, w.result, result)
	}
}

const lighthouseJSON = `{"id":7,"name":"Lighthouse","description":"a tower","resolution":"512x512",` +
	`"style":"retro","medium":"ink","filter":"sepia","favorite":true,` +
	`"result":"lighthouse.png","url":"https://pictures.example.com/lighthouse.png",` +
	`"created_at":"2024-05-04T10:11:12.000000Z","updated_at":"2024-05-05T00:00:00.000000Z"}`

func lighthouse() *Image {
	return &Image{
		ID: "7", Name: "Lighthouse", Description: "a tower", Resolution: Resolution512x512,
		Style: StyleRetro, Medium: MediumInk, Filter: FilterSepia, Favorite: true,
		Result: "lighthouse.png", URL: "https://pictures.example.com/lighthouse.png",
		CreatedAt: time.Date(2024, 5, 4, 10, 11, 12, 0, time.UTC),
		UpdatedAt: time.Date(2024, 5, 5, 0, 0, 0, 0, time.UTC),
		raw:       lighthouseJSON,
	}
}

func TestImageCallsSendWhatTheDocumentSays(t *testing.T) {
	t.Parallel()
	type call = func(context.Context, *Client) (any, error)
	list := func(params ImageListParams) call {
		return func(ctx context.Context, c *Client) (any, error) { return c.Images.List(ctx, params) }
	}
	show := func(id ID) call {
		return func(ctx context.Context, c *Client) (any, error) { return c.Images.Show(ctx, id) }
	}
	store := func(params ImageStoreParams, opts ...CallOption) call {
		return func(ctx context.Context, c *Client) (any, error) { return c.Images.Store(ctx, params, opts...) }
	}
	update := func(params ImageUpdateParams) call {
		return func(ctx context.Context, c *Client) (any, error) { return c.Images.Update(ctx, "7", params) }
	}
	remove := func(ctx context.Context, c *Client) (any, error) { return nil, c.Images.Delete(ctx, "7") }
	words, put := []Option{WithBooleanWords()}, []Option{WithUpdateMethod(http.MethodPut)}
	const none = `{"data":[]}`
	for name, w := range map[string]wireCase{
		"list without parameters": {list(ImageListParams{}), words, "GET images", "", 200, none, nil},
		"list with every parameter": {
			list(ImageListParams{
				Search: "light & house", SearchBy: ImageSearchByName, Resolution: Resolution256x256,
				Style: Style3DRender, Medium: MediumSprayPaint, Filter: FilterGrayscale, Favorite: new(true),
				SortBy: SortByName, Sort: SortAsc, PerPage: PerPage25,
			}), nil,
			"GET images?favorite=1&filter=grayscale&medium=spray_paint&per_page=25&resolution=256x256" +
				"&search=light+%26+house&search_by=name&sort=asc&sort_by=name&style=3d_render", "", 200, none, nil,
		},
		"list with a boolean in words": {
			list(ImageListParams{Favorite: new(false), Search: "1"}), words,
			"GET images?favorite=false&search=1", "", 200, none, nil,
		},
		"show": {show("7"), nil, "GET images/7", "", 200, `{"data":` + lighthouseJSON + `,"status":200}`, lighthouse()},
		"store with every field": {
			store(ImageStoreParams{
				Name: "Lighthouse", Description: "a tower, 100% = tall", Resolution: Resolution1024x1024,
				Style: StyleArtDeco, Medium: MediumInk, Filter: FilterInvert,
			}), nil, "POST images",
			"description=a+tower%2C+100%25+%3D+tall&filter=invert&medium=ink&name=Lighthouse&resolution=1024x1024" +
				"&style=art_deco", 201, `{"data":` + lighthouseJSON + `,"status":201}`, lighthouse(),
		},
		"store with what is required": {
			store(aStore), nil, "POST images", "description=d&name=n&resolution=256x256", 200, `{"data":{"id":1}}`, nil,
		},
		"store with fields and parameters of a newer deployment": {
			store(ImageStoreParams{Name: "n", Description: "d", Resolution: "1536x1024"}, WithoutValidation(),
				WithFormField("quality", "high"), WithFormField("description", "mine"), WithQuery("tenant",
					"a b")), nil,
			"POST images?tenant=a+b", "description=mine&name=n&quality=high&resolution=1536x1024", 200, `{"id":1}`, nil,
		},
		"update of both fields": {
			update(ImageUpdateParams{Name: new("Tower"), Favorite: new(true)}), nil,
			"PATCH images/7", "favorite=1&name=Tower", 200, lighthouseJSON, lighthouse(),
		},
		"update with PUT carries no more than what is set": {
			update(ImageUpdateParams{Favorite: new(false)}), put,
			"PUT images/7", "favorite=0", 200, lighthouseJSON, nil,
		},
		"delete": {remove, nil, "DELETE images/7", "", 200,
			`{"id":7,"object":"image","deleted":true}`, nil},
		"delete without a body in the response": {remove, nil, "DELETE images/7", "", 204, "", nil},
	} {
		t.Run(name, w.run)
	}
}
