package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

func (s *server) pictures() *collection[aicontent.Image, aicontent.ImageListParams] {
	images := s.client.Images
	return &collection[aicontent.Image, aicontent.ImageListParams]{
		server: s, name: "picture", filters: pictureFilters, list: images.List, all: images.All, show: images.Show,
		texts:  func(image *aicontent.Image) url.Values { return url.Values{"name": {image.Name}} },
		update: s.updatePicture, delete: images.Delete, read: s.readPicture,
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

func (s *server) readPicture(w http.ResponseWriter, r *http.Request) (draft, error) {
	err := parseForm(w, r, maxFields)
	form := r.PostForm
	return draft{form, func(ctx context.Context) (aicontent.ID, error) {
		image, err := s.client.Images.Store(ctx, aicontent.ImageStoreParams{
			Name:        form.Get("name"),
			Description: form.Get("description"),
			Resolution:  aicontent.Resolution(form.Get("resolution")),
			Style:       aicontent.Style(form.Get("style")),
			Medium:      aicontent.Medium(form.Get("medium")),
			Filter:      aicontent.Filter(form.Get("filter")),
		})
		if err != nil {
			return "", err
		}
		return image.ID, nil
	}}, err
}

func (s *server) updatePicture(ctx context.Context, id aicontent.ID, form url.Values) error {
	params := aicontent.ImageUpdateParams{Name: posted(form, "name"), Favorite: favorite(form)}
	_, err := s.client.Images.Update(ctx, id, params)
	return err
}
