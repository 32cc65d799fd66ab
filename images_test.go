package aicontent

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// wireCase is a call and exactly what of it must arrive at the service.
type wireCase struct {
	name     string
	call     func(context.Context, *Client) (any, error)
	opts     []Option
	method   string
	uri      string // path and query, as sent
	body     string
	response string
	status   int
	result   any
}

// run makes the call against a service below a base path, so that a lost prefix fails.
func (w wireCase) run(t *testing.T) {
	var method, uri, body string
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		method, uri, body, header = r.Method, r.RequestURI, string(text), r.Header
		rw.Header().Set("Content-Type", "application/json")
		if w.status != 0 {
			rw.WriteHeader(w.status)
		}
		_, _ = io.WriteString(rw, w.response)
	}))
	defer srv.Close()
	c, err := NewClient(srv.URL+"/tenant/", fakes.Key, w.opts...)
	require.NoError(t, err)
	result, err := w.call(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, w.method, method)
	assert.Equal(t, "/tenant/api/v1/"+w.uri, uri)
	assert.Equal(t, w.body, body)
	assert.Equal(t, "Bearer "+fakes.Key, header.Get("Authorization"))
	assert.Equal(t, "application/json", header.Get("Accept"))
	assert.Regexp(t, `^aicontent-go/\d+\.\d+\.\d+ \(go.+; .+/.+\)$`, header.Get("User-Agent"))
	if w.method == http.MethodGet || w.method == http.MethodDelete {
		assert.Empty(t, header.Get("Content-Type"))
		assert.Empty(t, header.Get("Content-Length"))
	} else {
		assert.Equal(t, "application/x-www-form-urlencoded", header.Get("Content-Type"))
	}
	if w.result != nil {
		assert.Equal(t, w.result, result)
	}
}

const lighthouseJSON = `{"id":7,"name":"Lighthouse","description":"a tower","resolution":"512x512","style":"retro","medium":"ink",` +
	`"filter":"sepia","favorite":true,"result":"lighthouse.png","url":"https://pictures.example.com/lighthouse.png",` +
	`"created_at":"2024-05-04T10:11:12.000000Z","updated_at":"2024-05-05T00:00:00.000000Z"}`

func lighthouse() *Image {
	return &Image{
		ID: "7", Name: "Lighthouse", Description: "a tower", Resolution: Resolution512x512, Style: StyleRetro, Medium: MediumInk,
		Filter: FilterSepia, Favorite: true, Result: "lighthouse.png", URL: "https://pictures.example.com/lighthouse.png",
		CreatedAt: time.Date(2024, 5, 4, 10, 11, 12, 0, time.UTC), UpdatedAt: time.Date(2024, 5, 5, 0, 0, 0, 0, time.UTC),
		raw: lighthouseJSON,
	}
}

func TestImagesOnTheWire(t *testing.T) {
	t.Parallel()
	for _, w := range []wireCase{
		{
			name:   "list without parameters",
			call:   func(ctx context.Context, c *Client) (any, error) { return c.Images.List(ctx, ImageListParams{}) },
			method: "GET", uri: "images", response: `{"data":[]}`,
		},
		{
			name: "list with every parameter",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.List(ctx, ImageListParams{
					Search: "light & house", SearchBy: ImageSearchByName, Resolution: Resolution256x256, Style: Style3DRender, Medium: MediumSprayPaint,
					Filter: FilterGrayscale, Favorite: new(true), SortBy: SortByName, Sort: SortAsc, PerPage: PerPage25,
				})
			},
			method: "GET",
			uri: "images?favorite=1&filter=grayscale&medium=spray_paint&per_page=25&resolution=256x256&search=light+%26+house&search_by=name" +
				"&sort=asc&sort_by=name&style=3d_render",
			response: `{"data":[]}`,
		},
		{
			name: "list of what is no favorite",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.List(ctx, ImageListParams{Favorite: new(false)})
			},
			method: "GET", uri: "images?favorite=0", response: `[]`,
		},
		{
			name: "list with a boolean in words",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.List(ctx, ImageListParams{Favorite: new(false), Search: "1"})
			},
			opts: []Option{WithBooleanWords()}, method: "GET", uri: "images?favorite=false&search=1", response: `[]`,
		},
		{
			name:   "show",
			call:   func(ctx context.Context, c *Client) (any, error) { return c.Images.Show(ctx, "7") },
			method: "GET", uri: "images/7", response: `{"data":` + lighthouseJSON + `,"status":200}`, result: lighthouse(),
		},
		{
			name:   "show with an id that needs escaping",
			call:   func(ctx context.Context, c *Client) (any, error) { return c.Images.Show(ctx, "a?b%dü;e#f") },
			method: "GET", uri: "images/a%3Fb%25d%C3%BC%3Be%23f", response: lighthouseJSON, result: lighthouse(),
		},
		{
			name: "store with every field",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Store(ctx, ImageStoreParams{
					Name: "Lighthouse", Description: "a tower, 100% = tall", Resolution: Resolution1024x1024, Style: StyleArtDeco, Medium: MediumInk, Filter: FilterInvert,
				})
			},
			method: "POST", uri: "images",
			body:   "description=a+tower%2C+100%25+%3D+tall&filter=invert&medium=ink&name=Lighthouse&resolution=1024x1024&style=art_deco",
			status: 201, response: `{"data":` + lighthouseJSON + `,"status":201}`, result: lighthouse(),
		},
		{
			name: "store with what is required",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Store(ctx, ImageStoreParams{Name: "n", Description: "d", Resolution: Resolution256x256})
			},
			method: "POST", uri: "images", body: "description=d&name=n&resolution=256x256", response: `{"data":{"id":1}}`,
		},
		{
			name: "store with fields and parameters of a newer deployment",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Store(ctx, ImageStoreParams{Name: "n", Description: "d", Resolution: "1536x1024"},
					WithoutValidation(), WithFormField("quality", "high"), WithFormField("description", "mine"), WithQuery("tenant", "a b"))
			},
			method: "POST", uri: "images?tenant=a+b", body: "description=mine&name=n&quality=high&resolution=1536x1024", response: `{"id":1}`,
		},
		{
			name: "update of both fields",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Update(ctx, "7", ImageUpdateParams{Name: new("Tower"), Favorite: new(true)})
			},
			method: "PATCH", uri: "images/7", body: "favorite=1&name=Tower", response: lighthouseJSON, result: lighthouse(),
		},
		{
			name: "update with PUT carries no more than what is set",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Update(ctx, "7", ImageUpdateParams{Favorite: new(false)})
			},
			opts: []Option{WithUpdateMethod(http.MethodPut)}, method: "PUT", uri: "images/7", body: "favorite=0", response: lighthouseJSON,
		},
		{
			name: "update with words",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Update(ctx, "7", ImageUpdateParams{Favorite: new(true), Name: new("1")})
			},
			opts: []Option{WithBooleanWords()}, method: "PATCH", uri: "images/7", body: "favorite=true&name=1", response: lighthouseJSON,
		},
		{
			name: "update of nothing",
			call: func(ctx context.Context, c *Client) (any, error) {
				return c.Images.Update(ctx, "7", ImageUpdateParams{})
			},
			method: "PATCH", uri: "images/7", response: lighthouseJSON,
		},
		{
			name:   "delete",
			call:   func(ctx context.Context, c *Client) (any, error) { return nil, c.Images.Delete(ctx, "7") },
			method: "DELETE", uri: "images/7", response: `{"id":7,"object":"image","deleted":true,"status":200}`,
		},
		{
			name:   "delete without a body in the response",
			call:   func(ctx context.Context, c *Client) (any, error) { return nil, c.Images.Delete(ctx, "7") },
			method: "DELETE", uri: "images/7", status: 204,
		},
	} {
		t.Run(w.name, w.run)
	}
}

// Every problem at once, and nothing is sent.
func TestImagesRefuseBadInput(t *testing.T) {
	t.Parallel()
	s := &fakes.Script{Responses: fakes.Responses{fakes.OK(fakes.StoredImage)}}
	c := over(t, s)
	const waived = " (WithoutValidation sends it anyway)"
	var none context.Context
	for name, row := range map[string]struct {
		err  error
		text string
	}{
		"store without anything": {
			second(c.Images.Store(t.Context(), ImageStoreParams{})),
			"images.store: name: is required; description: is required; resolution: is required",
		},
		"store with blanks": {
			second(c.Images.Store(t.Context(), ImageStoreParams{Name: " \t", Description: "\n", Resolution: Resolution256x256})),
			`images.store: name " \t": is required; description "\n": is required`,
		},
		"store with characters that the service trims": {
			second(c.Images.Store(t.Context(), ImageStoreParams{Name: "\u200b\ufeff", Description: "\u2060 \x00", Resolution: Resolution256x256})),
			`images.store: name "\u200b\ufeff": is required; description "\u2060 \x00": is required`,
		},
		"store with unknown values": {
			second(c.Images.Store(t.Context(), ImageStoreParams{Name: "n", Description: "d", Resolution: "7x7", Style: "Retro", Medium: "oil", Filter: "blur"})),
			`images.store: resolution "7x7": must be one of 256x256, 512x512, 1024x1024` +
				`; style "Retro": must be one of 3d_render, abstract, anime, art_deco, cartoon, digital_art, illustration, origami, pixel_art, photography, pop_art, retro, sketch, vaporwave` +
				`; medium "oil": must be one of acrylic, canvas, chalk, charcoal, crayon, glass, ink, pastel, pencil, spray_paint, watercolor` +
				`; filter "blur": must be one of grayscale, sepia, invert` + waived,
		},
		"store without validation still needs a name": {
			second(c.Images.Store(t.Context(), ImageStoreParams{Description: "d", Resolution: "7x7"}, WithoutValidation())),
			"images.store: name: is required",
		},
		"list": {
			second(c.Images.List(t.Context(), ImageListParams{PerPage: 7, SearchBy: "result", SortBy: "date", Sort: "up"})),
			`images.list: search_by "result": must be one of name; sort_by "date": must be one of id, name` +
				`; sort "up": must be one of desc, asc; per_page "7": must be one of 10, 25, 50, 100` + waived,
		},
		"update with an empty name": {
			second(c.Images.Update(t.Context(), " ", ImageUpdateParams{Name: new("")})),
			`images.update: id " ": is required; name: must not be empty (leave it nil to keep the current one)`,
		},
		"show":        {second(c.Images.Show(t.Context(), "..")), `images.show: id "..": must not be a relative path segment`},
		"delete":      {c.Images.Delete(t.Context(), "7\n"), `images.delete: id "7\n": must not contain white space or control characters`},
		"nil context": {second(c.Images.Show(none, "7")), "images.show: ctx: must not be nil"},
	} {
		t.Run(name, func(t *testing.T) {
			var invalid *ValidationError
			require.ErrorAs(t, row.err, &invalid)
			require.ErrorIs(t, row.err, ErrInvalid)
			assert.Equal(t, row.text, row.err.Error())
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(row.err))
		})
	}
	for _, err := range c.Images.All(t.Context(), ImageListParams{PerPage: 7}) {
		require.ErrorIs(t, err, ErrInvalid)
	}
	assert.Empty(t, s.Asked, "nothing was sent")
}

func second[T any](_ T, err error) error { return err }

var aStore = ImageStoreParams{Name: "n", Description: "d", Resolution: Resolution256x256}
