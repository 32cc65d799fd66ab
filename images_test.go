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
		"list of what is no favorite": {
			list(ImageListParams{Favorite: new(false)}), nil, "GET images?favorite=0", "", 200, none, nil,
		},
		"list with a boolean in words": {
			list(ImageListParams{Favorite: new(false), Search: "1"}), words,
			"GET images?favorite=false&search=1", "", 200, none, nil,
		},
		"show": {show("7"), nil, "GET images/7", "", 200, `{"data":` + lighthouseJSON + `,"status":200}`, lighthouse()},
		"show with an id that needs escaping": {
			show("a?b%dü;e#f"), nil, "GET images/a%3Fb%25d%C3%BC%3Be%23f", "", 200, lighthouseJSON, lighthouse(),
		},
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
		"update with words": {
			update(ImageUpdateParams{Favorite: new(true), Name: new("1")}), words,
			"PATCH images/7", "favorite=true&name=1", 200, lighthouseJSON, nil,
		},
		"update of nothing": {update(ImageUpdateParams{}), nil, "PATCH images/7", "", 200,
			lighthouseJSON, nil},
		"delete": {remove, nil, "DELETE images/7", "", 200,
			`{"id":7,"object":"image","deleted":true}`, nil},
		"delete without a body in the response": {remove, nil, "DELETE images/7", "", 204, "", nil},
	} {
		t.Run(name, w.run)
	}
}

// Every problem at once, each with enough to correct the call without the documentation, and nothing is sent.
func TestImagesRefuseBadInput(t *testing.T) {
	t.Parallel()
	c, requests := capturing(t)
	ctx := t.Context()
	const (
		waived      = " (WithoutValidation sends it anyway)"
		resolutions = "must be one of 256x256, 512x512, 1024x1024"
		styles      = "must be one of 3d_render, abstract, anime, art_deco, cartoon, digital_art, illustration, " +
			"origami, pixel_art, photography, pop_art, retro, sketch, vaporwave"
		mediums = "must be one of acrylic, canvas, chalk, charcoal, crayon, glass, ink, pastel, pencil, " +
			"spray_paint, watercolor"
		filters = "must be one of grayscale, sepia, invert"
		keep    = "must not be empty (leave it nil to keep the current one)"
	)
	store := func(params ImageStoreParams, opts ...CallOption) error {
		return second(c.Images.Store(ctx, params, opts...))
	}
	update := func(id ID, name string, opts ...CallOption) error {
		return second(c.Images.Update(ctx, id, ImageUpdateParams{Name: &name}, opts...))
	}
	list := func(params ImageListParams) error { return second(c.Images.List(ctx, params)) }
	for _, row := range []struct {
		err  error
		text string
	}{
		{
			store(ImageStoreParams{}),
			"images.store: name: is required; description: is required; resolution: is required",
		},
		{
			store(ImageStoreParams{Name: " \t", Description: "\u00a0\u2003", Resolution: Resolution256x256}),
			`images.store: name " \t": is required; description "\u00a0\u2003": is required`,
		},
		{
			store(ImageStoreParams{Name: "\u200b\ufeff", Description: "\u2060 \x00", Resolution: Resolution256x256}),
			`images.store: name "\u200b\ufeff": is required; description "\u2060 \x00": is required`,
		},
		{
			store(ImageStoreParams{"n", "d", "7x7", "Retro", "oil", "sepia "}),
			`images.store: resolution "7x7": ` + resolutions + `; style "Retro": ` + styles + `; medium "oil": ` +
				mediums +
				`; filter "sepia ": ` + filters + waived,
		},
		{
			store(ImageStoreParams{Resolution: "7x7"}, WithoutValidation()),
			"images.store: name: is required; description: is required",
		},
		{
			list(ImageListParams{
				SearchBy: "result", Resolution: "1x1", Style: "x", Medium: "x", Filter: "x", SortBy: "date", Sort: "up",
				PerPage: 7,
			}),
			`images.list: search_by "result": must be one of name; resolution "1x1": ` + resolutions + `; style "x": ` +
				styles + `; medium "x": ` + mediums + `; filter "x": ` + filters +
				`; sort_by "date": must be one of id, ` +
				`name; sort "up": must be one of desc, asc; per_page "7": must be one of 10, 25, 50, 100` + waived,
		},
		{update(" ", ""), `images.update: id " ": ` + idReason + `; name: ` + keep},
		{
			update("..", " ", WithResponseTimeout(-1), WithHeader("Host", "x")),
			`images.update: response_timeout "-1ns": must be 0 or at least 1ms (write 30*time.Second for 30 ` +
				`seconds); header "Host": is set by the SDK and cannot be changed; id "..": ` + idReason +
				`; name " ": ` + keep,
		},
		{c.Images.Delete(ctx, "7\n"), `images.delete: id "7\n": ` + idReason},
	} {
		require.ErrorAs(t, row.err, new(*ValidationError), row.text)
		assert.ErrorIs(t, row.err, ErrInvalid)
		assert.EqualError(t, row.err, row.text)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(row.err))
	}
	for _, err := range c.Images.All(ctx, ImageListParams{PerPage: 7}) {
		assert.Equal(t, []string{"per_page"}, fieldsOf(t, err))
	}
	assert.Empty(t, *requests)
}
