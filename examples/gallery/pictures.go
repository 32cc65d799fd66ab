package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

func picturePath(id aicontent.ID) string { return "/pictures/" + url.PathEscape(string(id)) }

// listPictures shows the grid. Its filters have the names of the service's parameters.
func (s *server) listPictures(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	params := aicontent.ImageListParams{
		Search:     strings.TrimSpace(query.Get("search")),
		Resolution: aicontent.Resolution(query.Get("resolution")),
		Style:      aicontent.Style(query.Get("style")),
		Medium:     aicontent.Medium(query.Get("medium")),
		Filter:     aicontent.Filter(query.Get("filter")),
		Favorite:   onlyFavorites(query),
		PerPage:    perPage,
	}
	params.SortBy, params.Sort = order(query)
	get := func(opts ...aicontent.CallOption) (*aicontent.Page[aicontent.Image], error) {
		return s.client.Images.List(r.Context(), params, opts...)
	}
	images, err := fetchList(r.Context(), query, params, get)
	if err != nil {
		s.fail(w, r, s.explain(r, err, reading))
		return
	}
	s.render(w, r, "pictures", view{Title: "Pictures", Data: images})
}

func (s *server) newPicture(w http.ResponseWriter, r *http.Request) {
	params := aicontent.ImageStoreParams{Resolution: aicontent.Resolution512x512}
	s.render(w, r, "new-picture", view{Title: "New picture", Data: params})
}

func (s *server) createPicture(w http.ResponseWriter, r *http.Request) {
	if !s.readForm(w, r) {
		return
	}
	params := aicontent.ImageStoreParams{
		Name:        r.PostForm.Get("name"),
		Description: r.PostForm.Get("description"),
		Resolution:  aicontent.Resolution(r.PostForm.Get("resolution")),
		Style:       aicontent.Style(r.PostForm.Get("style")),
		Medium:      aicontent.Medium(r.PostForm.Get("medium")),
		Filter:      aicontent.Filter(r.PostForm.Get("filter")),
	}
	image, err := once(&s.forms, r.PostForm.Get("form"), func() (*aicontent.Image, error) {
		return s.client.Images.Store(r.Context(), params)
	})
	if err != nil {
		p := s.explain(r, err, creating)
		if mayExist(err) {
			p.LookAt = "/pictures?" + url.Values{"search": {strings.TrimSpace(params.Name)}}.Encode()
		}
		s.render(w, r, "new-picture", view{Title: "New picture", Problem: &p, Data: params})
		return
	}
	http.Redirect(w, r, picturePath(image.ID)+"?done=created", http.StatusSeeOther)
}

func (s *server) showPicture(w http.ResponseWriter, r *http.Request) {
	image, err := s.client.Images.Show(r.Context(), aicontent.ID(r.PathValue("id")))
	if err != nil {
		s.fail(w, r, s.explain(r, err, reading))
		return
	}
	s.render(w, r, "picture", view{Title: image.Name, Data: image})
}

// updatePicture updates the fields that the form has: the name, or whether the picture is a favorite.
func (s *server) updatePicture(w http.ResponseWriter, r *http.Request) {
	if !s.readForm(w, r) {
		return
	}
	id := aicontent.ID(r.PathValue("id"))
	params := aicontent.ImageUpdateParams{Name: posted(r.PostForm, "name"), Favorite: postedFavorite(r.PostForm)}
	_, err := s.client.Images.Update(r.Context(), id, params)
	switch {
	case err != nil && params.Name != nil:
		p := s.explain(r, err, changing)
		s.render(w, r, "picture", view{Title: "Rename", Problem: &p, Data: &aicontent.Image{ID: id, Name: *params.Name}})
	case err != nil:
		s.fail(w, r, s.explain(r, err, changing))
	default:
		http.Redirect(w, r, cameFrom(r, "/pictures", picturePath(id)), http.StatusSeeOther)
	}
}

func (s *server) deletePicture(w http.ResponseWriter, r *http.Request) {
	if err := s.client.Images.Delete(r.Context(), aicontent.ID(r.PathValue("id"))); err != nil {
		s.fail(w, r, s.explain(r, err, changing))
		return
	}
	http.Redirect(w, r, "/pictures?done=deleted", http.StatusSeeOther)
}

// cameFrom returns the address of the page that a form was on: a list, at the record, or else the record's page.
func cameFrom(r *http.Request, collection, record string) string {
	if query := r.PostForm.Get("list"); query != "" {
		return collection + "?" + strings.TrimPrefix(query, "?") + "#item-" + url.PathEscape(r.PathValue("id"))
	}
	return record + "?done=saved"
}
