package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go"
)

func (s *server) pictures() *collection[aicontent.Image, aicontent.ImageListParams] {
	images := s.client.Images
	return &collection[aicontent.Image, aicontent.ImageListParams]{
		server: s, name: "picture", limit: maxForm, filters: pictureFilters,
		list: images.List, show: images.Show, find: s.names.Images.Find,
		store: s.storePicture, update: s.updatePicture, delete: images.Delete,
		id: func(image *aicontent.Image) aicontent.ID { return image.ID },
	}
}

func pictureFilters(query url.Values) aicontent.ImageListParams {
	return aicontent.ImageListParams{
		Search:     query.Get("search"),
		Resolution: aicontent.Resolution(query.Get("resolution")),
		Style:      aicontent.Style(query.Get("style")),
		Medium:     aicontent.Medium(query.Get("medium")),
		Filter:     aicontent.Filter(query.Get("filter")),
		Favorite:   favorite(query),
		PerPage:    pageSize,
		SortBy:     aicontent.SortBy(cmp.Or(query.Get("sort_by"), "id")),
		Sort:       aicontent.Sort(cmp.Or(query.Get("sort"), "desc")),
	}
}

func (s *server) storePicture(ctx context.Context, name string, r *http.Request) (*aicontent.Image, bool, error) {
	form := r.PostForm
	return s.names.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        name,
		Description: form.Get("description"),
		Resolution:  aicontent.Resolution(form.Get("resolution")),
		Style:       aicontent.Style(form.Get("style")),
		Medium:      aicontent.Medium(form.Get("medium")),
		Filter:      aicontent.Filter(form.Get("filter")),
	})
}

func (s *server) updatePicture(ctx context.Context, id aicontent.ID, form url.Values) error {
	params := aicontent.ImageUpdateParams{Name: posted(form, "name"), Favorite: favorite(form)}
	_, err := s.client.Images.Update(ctx, id, params)
	return err
}
