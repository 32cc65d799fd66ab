package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

func (s *server) pictures() *collection[aicontent.Image] {
	return &collection[aicontent.Image]{
		server: s, name: "picture", list: s.listPictures, show: s.client.Images.Show,
		update: s.updatePicture, delete: s.client.Images.Delete, read: s.readPicture,
	}
}

// listPictures returns what the filters ask for. They have the names of the service's parameters.
func (s *server) listPictures(
	ctx context.Context, query url.Values, opts ...aicontent.CallOption,
) (*aicontent.Page[aicontent.Image], error) {
	params := aicontent.ImageListParams{
		Search:     strings.TrimSpace(query.Get("search")),
		Resolution: aicontent.Resolution(query.Get("resolution")),
		Style:      aicontent.Style(query.Get("style")),
		Medium:     aicontent.Medium(query.Get("medium")),
		Filter:     aicontent.Filter(query.Get("filter")),
		Favorite:   favorite(query),
		PerPage:    aicontent.PerPage25,
	}
	params.SortBy, params.Sort = order(query)
	return s.client.Images.List(ctx, params, opts...)
}

func (s *server) readPicture(w http.ResponseWriter, r *http.Request) (draft, error) {
	err := parseForm(w, r, 1<<20) // sent forms are remembered
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
