package aicontent

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// ImagesService has the operations on images. It is reached through [Client].Images and is
// safe for concurrent use.
type ImagesService struct {
	client *Client
}

// Image is an image as the service sends it. The interface documents what can be set, not what is answered:
// a member that a deployment leaves out, or sends as null, is the zero value.
type Image struct {
	ID          ID
	Name        string
	Description string
	Resolution  Resolution
	Style       Style
	Medium      Medium
	Filter      Filter
	Favorite    bool

	// The interface does not list these; many deployments send them.
	Result    string    // the picture's file name
	URL       string    // where the picture can be fetched, often from another host; never send the API key there
	CreatedAt time.Time // UTC where the deployment names no zone
	UpdatedAt time.Time

	raw json.RawMessage
}

// Raw is the record as it was sent, unknown members included, for json.Unmarshal; nil for an image that was not
// sent. It shares memory with the other records of its page and must not be changed.
func (i *Image) Raw() json.RawMessage { return i.raw }

// MarshalJSON writes the record as it was sent, unknown members included, with the fields that were changed since.
func (i Image) MarshalJSON() ([]byte, error) { return marshal(&i, i.raw) }

// String is the record as JSON.
func (i Image) String() string {
	text, _ := i.MarshalJSON()
	return string(text)
}

// UnmarshalJSON reads a record as tolerantly as the client does.
func (i *Image) UnmarshalJSON(data []byte) error { return unmarshal(i, data) }

func (i *Image) fields(list []field) []field {
	return append(list,
		field{"id", (*string)(&i.ID)},
		field{"name", &i.Name},
		field{"description", &i.Description},
		field{"resolution", (*string)(&i.Resolution)},
		field{"style", (*string)(&i.Style)},
		field{"medium", (*string)(&i.Medium)},
		field{"filter", (*string)(&i.Filter)},
		field{"favorite", &i.Favorite},
		field{"result", &i.Result},
		field{"url", &i.URL},
		field{"created_at", &i.CreatedAt},
		field{"updated_at", &i.UpdatedAt},
	)
}

func (i *Image) keep(raw json.RawMessage) { i.raw = raw }
func (i *Image) identity() ID             { return i.ID }

// ImageListParams choose and order the images of a list. The zero value takes all of them, the newest first.
type ImageListParams struct {
	Search     string        `url:"search,omitempty"`    // the text to search for; empty is no search
	SearchBy   ImageSearchBy `url:"search_by,omitempty"` // where to search; zero is the name
	Resolution Resolution    `url:"resolution,omitempty"`
	Style      Style         `url:"style,omitempty"`
	Medium     Medium        `url:"medium,omitempty"`
	Filter     Filter        `url:"filter,omitempty"`
	Favorite   *bool         `url:"favorite,int,omitempty"` // nil is both; see [Ptr]
	SortBy     SortBy        `url:"sort_by,omitempty"`      // zero is the id, by which the newest come first
	Sort       Sort          `url:"sort,omitempty"`         // zero is descending
	PerPage    PerPage       `url:"per_page,omitempty"`     // zero is the service's choice
}

func (params *ImageListParams) check(p *problems) {
	oneOf(p, "search_by", params.SearchBy, imageSearches)
	oneOf(p, "resolution", params.Resolution, resolutions)
	oneOf(p, "style", params.Style, styles)
	oneOf(p, "medium", params.Medium, mediums)
	oneOf(p, "filter", params.Filter, filters)
	oneOf(p, "sort_by", params.SortBy, sortKeys)
	oneOf(p, "sort", params.Sort, sorts)
	oneOf(p, "per_page", params.PerPage, perPages)
}

// ImageStoreParams say what to draw. Name, Description and Resolution are required.
type ImageStoreParams struct {
	Name        string     `url:"name"`
	Description string     `url:"description"` // what the AI is to draw
	Resolution  Resolution `url:"resolution"`
	Style       Style      `url:"style,omitempty"`
	Medium      Medium     `url:"medium,omitempty"`
	Filter      Filter     `url:"filter,omitempty"`
}

func (params *ImageStoreParams) check(p *problems) {
	p.required("name", params.Name)
	p.required("description", params.Description)
	p.required("resolution", string(params.Resolution))
	oneOf(p, "resolution", params.Resolution, resolutions)
	oneOf(p, "style", params.Style, styles)
	oneOf(p, "medium", params.Medium, mediums)
	oneOf(p, "filter", params.Filter, filters)
}

// ImageUpdateParams are the fields to change. A nil field stays as it is.
type ImageUpdateParams struct {
	Name     *string `url:"name,omitempty"`
	Favorite *bool   `url:"favorite,int,omitempty"`
}

// List retrieves one page of images. It is tried again after whatever passes.
func (s *ImagesService) List(ctx context.Context, params ImageListParams, opts ...CallOption) (*Page[Image], error) {
	return list[Image](ctx, s.client, call{
		op: "images.list", method: http.MethodGet, path: []string{"images"}, query: valuesOf(params), check: params.check,
	}, opts)
}

// All walks over the images of all pages, fetching each page when it is reached. It stops when the
// loop is left; an error is given once and last. A record that moves onto the next page while the walk goes on is
// given once. [ErrPagination] says that the service does not tell whether more follow.
func (s *ImagesService) All(ctx context.Context, params ImageListParams, opts ...CallOption) iter.Seq2[*Image, error] {
	return walk(ctx, func(ctx context.Context) (*Page[Image], error) { return s.List(ctx, params, opts...) })
}

// Show retrieves one image. It is tried again after whatever passes. An id that the service does not know is [ErrNotFound].
func (s *ImagesService) Show(ctx context.Context, id ID, opts ...CallOption) (*Image, error) {
	return do(ctx, s.client, call{
		op: "images.show", method: http.MethodGet, path: []string{"images", string(id)}, check: id.check,
	}, opts, readImage)
}

// Store creates an image and returns when the service has drawn it, which may take minutes and is billed. It is sent
// again only where the service cannot have acted. A failed Store may still have created, and billed, the record: ask
// [OutcomeOf] before sending it again.
//
// With [WithOnce] the SDK finds that out by itself. The caller promises that the name is used for this one record; before each
// send the SDK looks for a record with exactly that name and returns it when there is one, and after a lost answer it keeps
// looking for [RetryPolicy].SettleTime before it sends again. Two records with the name are an error that matches
// [ErrConflict] and names both. What this cannot promise: a service that makes the record later than the
// settle time, another process that stores the same name at the same moment, and a deployment whose search does not find
// what it just stored can each still lead to a second record, as the interface has no operation that makes one only if it is new.
func (s *ImagesService) Store(ctx context.Context, params ImageStoreParams, opts ...CallOption) (*Image, error) {
	return do(ctx, s.client, call{
		op: "images.store", method: http.MethodPost, path: []string{"images"}, form: valuesOf(params), body: urlencoded,
		check: params.check, name: params.Name, find: find,
	}, opts, readImage)
}

// Update changes the fields that are set, and only those, and returns the image as it then is. It is tried
// again after whatever passes: a second time it changes nothing more.
func (s *ImagesService) Update(ctx context.Context, id ID, params ImageUpdateParams, opts ...CallOption) (*Image, error) {
	return do(ctx, s.client, call{
		op: "images.update", path: []string{"images", string(id)}, form: valuesOf(params), body: urlencoded,
		check: func(p *problems) { id.check(p); p.notBlank("name", params.Name) },
	}, opts, readImage)
}

// Delete removes an image. It is tried again after whatever passes; when an earlier attempt may have
// been carried out, not finding the image any more is success.
func (s *ImagesService) Delete(ctx context.Context, id ID, opts ...CallOption) error {
	_, err := do(ctx, s.client, call{
		op: "images.delete", method: http.MethodDelete, path: []string{"images", string(id)}, check: id.check,
	}, opts, readDeleted)
	return err
}

func readImage(a *answer) (*Image, error) { return readRecord[Image](a, "image") }
