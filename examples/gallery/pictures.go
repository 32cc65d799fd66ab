package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

func (s *server) addPictures(mux *http.ServeMux) {
	images := s.client.Images
	c := collection[aicontent.Image, aicontent.ImageListParams, aicontent.ImageUpdateParams]{
		server: s, name: "picture", limit: maxForm, id: func(image *aicontent.Image) aicontent.ID { return image.ID },
		list: images.List, show: images.Show, store: storePicture, update: images.Update, delete: images.Delete,
		filters: pictureFilters, changes: pictureChanges,
	}
	c.addTo(mux)
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

func storePicture(
	ctx context.Context, names *once.Client, name string, r *http.Request,
) (*aicontent.Image, bool, error) {
	form := r.PostForm
	return names.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        name,
		Description: form.Get("description"),
		Resolution:  aicontent.Resolution(form.Get("resolution")),
		Style:       aicontent.Style(form.Get("style")),
		Medium:      aicontent.Medium(form.Get("medium")),
		Filter:      aicontent.Filter(form.Get("filter")),
	})
}

func pictureChanges(form url.Values) aicontent.ImageUpdateParams {
	return aicontent.ImageUpdateParams{Name: posted(form, "name"), Favorite: favorite(form)}
}
