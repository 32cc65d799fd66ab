package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

type pictures = collection[aicontent.Image, aicontent.ImageListParams, aicontent.ImageStoreParams]

func (s *server) pictures() *pictures {
	images := s.client.Images
	return &pictures{
		server: s, name: "picture", filters: pictureFilters, list: images.List, all: images.All, show: images.Show,
		update: s.updatePicture, delete: images.Delete, read: readPicture, store: s.storePicture,
		id:   func(image *aicontent.Image) aicontent.ID { return image.ID },
		text: func(image *aicontent.Image, _ string) string { return title(image.Name) },
	}
}

// pictureFilters returns what the query asks for. Its filters have the names of the service's parameters.
func pictureFilters(query url.Values, size aicontent.PerPage) aicontent.ImageListParams {
	params := aicontent.ImageListParams{
		Search:     strings.TrimSpace(query.Get("search")),
		Resolution: aicontent.Resolution(query.Get("resolution")),
		Style:      aicontent.Style(query.Get("style")),
		Medium:     aicontent.Medium(query.Get("medium")),
		Filter:     aicontent.Filter(query.Get("filter")),
		Favorite:   favorite(query),
		PerPage:    size,
	}
	params.SortBy, params.Sort = order(query)
	return params
}

func readPicture(w http.ResponseWriter, r *http.Request) (url.Values, aicontent.ImageStoreParams, error) {
	err := parseForm(w, r)
	form := r.PostForm
	return form, aicontent.ImageStoreParams{
		Name:        recordName(form),
		Description: form.Get("description"),
		Resolution:  aicontent.Resolution(form.Get("resolution")),
		Style:       aicontent.Style(form.Get("style")),
		Medium:      aicontent.Medium(form.Get("medium")),
		Filter:      aicontent.Filter(form.Get("filter")),
	}, err
}

func (s *server) storePicture(
	ctx context.Context, _ *http.Request, params aicontent.ImageStoreParams,
) (*aicontent.Image, bool, error) {
	return s.names.Images.Store(ctx, params)
}

func (s *server) updatePicture(ctx context.Context, id aicontent.ID, form url.Values) error {
	params := aicontent.ImageUpdateParams{Name: posted(form, "name"), Favorite: favorite(form)}
	_, err := s.client.Images.Update(ctx, id, params)
	return err
}

// posted returns a pointer to a text of the form, or nil if the form does not have it.
func posted(form url.Values, field string) *string {
	if !form.Has(field) {
		return nil
	}
	return new(form.Get(field))
}
