package main

import (
	"errors"
	"net/http"
	"net/url"
)

// maxForm limits a form without a file, in bytes. A day of speech is about 1.3 million characters, which a form
// encodes in up to nine bytes each.
const maxForm = 16 << 20

// parseForm parses a form without a file into r.PostForm.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return errors.Join(errMalformedForm, err)
	}
	return nil
}

// posted returns a pointer to a field of the form, or nil if the form does not have it.
func posted(form url.Values, field string) *string {
	if !form.Has(field) {
		return nil
	}
	return new(form.Get(field))
}

// postedFavorite is like posted, for the button that marks favorites.
func postedFavorite(form url.Values) *bool {
	if !form.Has("favorite") {
		return nil
	}
	return new(form.Get("favorite") == "1")
}
