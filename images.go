package aicontent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// ImagesService has the methods for images. Use [Client].Images. It is safe for concurrent use.
type ImagesService struct {
	client *Client
}

// Image is an image as the service sent it. A field that the service omits or sends as null, and a time that cannot be
// read, is zero: a program that deletes old images must leave out those whose CreatedAt is zero.
type Image struct {
	ID          ID         `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Resolution  Resolution `json:"resolution"`
	Style       Style      `json:"style"`
	Medium      Medium     `json:"medium"`
	Filter      Filter     `json:"filter"`
	Favorite    bool       `json:"favorite"`

	// Undocumented; set if the service sends them.
	Result    string    `json:"result"`              // file name of the picture
	URL       string    `json:"url"`                 // of the picture: see [ImagesService.Download]
	CreatedAt time.Time `json:"created_at,omitzero"` // zero if unknown, never a sign of age; UTC if no zone was sent
	UpdatedAt time.Time `json:"updated_at,omitzero"` // likewise

	raw string
}

// Raw returns a copy of the record as sent, including unknown members, or nil if there was none.
func (i *Image) Raw() json.RawMessage { return append(json.RawMessage(nil), i.raw...) }

// Equal reports whether the fields are equal, ignoring Raw and time zones.
func (i Image) Equal(other Image) bool {
	sameTimes := i.CreatedAt.Equal(other.CreatedAt) && i.UpdatedAt.Equal(other.UpdatedAt)
	i.raw, i.CreatedAt, i.UpdatedAt = other.raw, other.CreatedAt, other.UpdatedAt
	return sameTimes && i == other
}

// String returns the ID and the name.
func (i Image) String() string { return fmt.Sprintf("Image(%s %q)", i.ID, i.Name) }

// UnmarshalJSON reads a record as the client does. A JSON null is a no-op. A struct that embeds an Image needs an
// UnmarshalJSON of its own to read its other fields.
func (i *Image) UnmarshalJSON(data []byte) error { return unmarshalRecord(i, data) }

func (i *Image) parts() (id *ID, name, raw *string) { return &i.ID, &i.Name, &i.raw }

// ImageListParams filter and order a list. The zero value selects all images, newest first. The API has no filter for
// images that changed since some time.
type ImageListParams struct {
	Search     string        `url:"search,omitempty"`    // text to search for; empty is no search
	SearchBy   ImageSearchBy `url:"search_by,omitempty"` // where to search; zero is the name
	Resolution Resolution    `url:"resolution,omitempty"`
	Style      Style         `url:"style,omitempty"`
	Medium     Medium        `url:"medium,omitempty"`
	Filter     Filter        `url:"filter,omitempty"`
	Favorite   *bool         `url:"favorite,int,omitempty"` // nil selects all, new(true) the favorites
	SortBy     SortBy        `url:"sort_by,omitempty"`      // zero is the ID, the order of creation
	Sort       Sort          `url:"sort,omitempty"`         // zero is descending
	PerPage    PerPage       `url:"per_page,omitempty"`     // zero leaves the choice to the service
}

// ImageStoreParams describe the image to create. Name, Description and Resolution are required.
type ImageStoreParams struct {
	Name        string     `url:"name"`
	Description string     `url:"description"` // of the picture, for the AI
	Resolution  Resolution `url:"resolution"`
	Style       Style      `url:"style,omitempty"`
	Medium      Medium     `url:"medium,omitempty"`
	Filter      Filter     `url:"filter,omitempty"`
}

func (p ImageStoreParams) arguments() arguments {
	return arguments{op: images.store, params: p}
}

// ImageUpdateParams are the fields to change; a nil field is not changed. The request is sent even if all are nil.
type ImageUpdateParams struct {
	Name     *string `url:"name,omitempty"` // must not be empty
	Favorite *bool   `url:"favorite,int,omitempty"`
}

// List returns one page of images. It is retried after transient failures. WithQuery("page", "3") selects page 3,
// except on a deployment with cursors: Current of the page is then not 3.
func (s *ImagesService) List(ctx context.Context, params ImageListParams, opts ...CallOption) (*Page[Image], error) {
	return list[Image](ctx, s.client, arguments{op: images.list, params: params}, opts)
}

// All returns an iterator over the images of all pages, which it fetches as the loop reaches them, from the first page,
// or that of WithQuery("page", "3"). An error is yielded once, with a nil image, and ends the loop; it matches
// [ErrPagination] if the service does not say whether more pages follow, or repeats one. Keeping an image does not keep
// its page in memory.
//
// An image that moves to the next page during the loop is yielded once. If others are deleted during the loop, some may
// be missed: the loop then ends with ErrPagination if the service reports a lower total or fewer pages. Confirm with
// Show that an image is gone before you delete a copy of it.
func (s *ImagesService) All(ctx context.Context, params ImageListParams, opts ...CallOption) iter.Seq2[*Image, error] {
	return all[Image](ctx, s.client, arguments{op: images.list, params: params}, opts)
}

// Show returns the image with the given ID. It is retried after transient failures. If there is none, the error matches
// [ErrNotFound].
func (s *ImagesService) Show(ctx context.Context, id ID, opts ...CallOption) (*Image, error) {
	return call(ctx, s.client, arguments{op: images.show, id: id}, opts, readRecord[Image])
}

// FindByName returns the image with exactly the given name, as Show returns it, but always with its ID. It ignores
// white space and invisible characters at the ends of names, and the form of line breaks. It searches with List and is
// retried like List. The error matches [ErrNotFound] only if a list that was read to its end has no such image; a 404
// from the search does not match. If several images have the name, it is a [*ConflictError] with two of their IDs. If
// Show has the image under another name, because the list or Show lags behind an Update, the error is retryable.
func (s *ImagesService) FindByName(ctx context.Context, name string, opts ...CallOption) (*Image, error) {
	return findByName[Image](ctx, s.client, images, name, opts)
}

// Validate returns the [*ValidationError] that Store would return before it sends anything, or nil, with the options of
// the client and of the call. Use it when you accept a job that runs later.
func (s *ImagesService) Validate(params ImageStoreParams, opts ...CallOption) error {
	return s.client.validate(params.arguments(), opts)
}

// Store creates an image and returns when the service has drawn it, which may take minutes and is billed. It is retried
// only if the service cannot have executed the request. A failed Store may still have created, and billed, the image:
// ask [OutcomeOf] before you store it again, or use [github.com/aicontent/aicontent-go/once]. Some services respond
// before the picture is there: see Wait.
func (s *ImagesService) Store(ctx context.Context, params ImageStoreParams, opts ...CallOption) (*Image, error) {
	return call(ctx, s.client, params.arguments(), opts, readRecord[Image])
}

// Update changes only the fields that are set and returns the updated image. It is retried after transient failures; a
// retry may overwrite changes that others made meanwhile.
func (s *ImagesService) Update(
	ctx context.Context, id ID, params ImageUpdateParams, opts ...CallOption,
) (*Image, error) {
	return call(ctx, s.client, arguments{op: images.update, id: id, params: params}, opts, readRecord[Image])
}

// Delete deletes an image. It is retried after transient failures; then a 404 is success if an earlier attempt may have
// been executed. After a Delete that was cut off, call it again: [ErrNotFound] means that the image is gone.
func (s *ImagesService) Delete(ctx context.Context, id ID, opts ...CallOption) error {
	_, err := call(ctx, s.client, arguments{op: images.remove, id: id}, opts, readDeleted)
	return err
}
