package main

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

// collection serves the pages of the pictures or of the recordings. The functions are where the two differ.
type collection[T, L, S any] struct {
	*server
	name    string // of a record, in addresses and for templates: picture or recording
	filters func(query url.Values, size aicontent.PerPage) L
	list    func(context.Context, L, ...aicontent.CallOption) (*aicontent.Page[T], error)
	all     func(context.Context, L, ...aicontent.CallOption) iter.Seq2[*T, error]
	show    func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	update  func(context.Context, aicontent.ID, url.Values) error
	delete  func(context.Context, aicontent.ID, ...aicontent.CallOption) error
	read    func(http.ResponseWriter, *http.Request) (url.Values, S, error) // of a form that creates
	check   func(S, ...aicontent.CallOption) error                          // what store refuses before it sends
	store   func(context.Context, S, ...aicontent.CallOption) (*T, bool, error)
	find    func(context.Context, string, ...aicontent.CallOption) (*T, error)
	id      func(*T) aicontent.ID
	texts   func(*T) url.Values // that its form changes
}

func (c *collection[T, L, S]) addTo(mux *http.ServeMux) {
	mux.HandleFunc("GET "+c.path(), c.showList)
	mux.HandleFunc("GET "+c.path()+"/{id}", c.showRecord)
	mux.HandleFunc("POST "+c.path()+"/{id}", c.changeRecord)
	mux.HandleFunc("POST "+c.path()+"/{id}/delete", c.deleteRecord)
	mux.HandleFunc("GET /new-"+c.name, c.showForm)
	mux.HandleFunc("POST /new-"+c.name, c.create)
}

func (c *collection[T, L, S]) path() string { return "/" + c.name + "s" }

// recordPath returns the address of a record of a collection.
func recordPath(collection string, id aicontent.ID) string {
	return collection + "/" + url.PathEscape(string(id))
}

func (c *collection[T, L, S]) showList(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	records, err := c.fetchList(r.Context(), query)
	if err != nil {
		c.fail(w, r, c.explain(r, err, reading))
		return
	}
	c.render(w, r, c.name+"s", view{Title: sentence(c.name + "s"), Data: records})
}

func (c *collection[T, L, S]) showRecord(w http.ResponseWriter, r *http.Request) {
	id, list := r.PathValue("id"), r.URL.Query().Get("list")
	record, err := c.show(r.Context(), aicontent.ID(id))
	if err != nil {
		c.fail(w, r, c.explain(r, err, reading))
		return
	}
	c.render(w, r, c.name, view{Data: record, List: list, Back: c.listPath(list, id)})
}

// changeRecord updates the fields that the form has. If that fails, it shows the form again, as it was filled in.
func (c *collection[T, L, S]) changeRecord(w http.ResponseWriter, r *http.Request) {
	id, list := aicontent.ID(r.PathValue("id")), r.URL.Query().Get("list")
	err := parseForm(w, r, maxForm)
	e := edit{ID: id, Fields: r.PostForm}
	if err == nil {
		err = c.save(r.Context(), &e)
	}
	switch form := r.PostForm; {
	case err != nil && form.Has("name"):
		p := c.explain(r, err, changing)
		c.render(w, r, c.name, view{Problem: &p, List: list, Data: e})
	case err != nil:
		c.fail(w, r, c.explain(r, err, changing))
	case form.Has("list"):
		http.Redirect(w, r, c.listPath(form.Get("list"), string(id)), http.StatusSeeOther)
	default:
		query := url.Values{"done": {"saved"}, "list": {list}}
		http.Redirect(w, r, recordPath(c.path(), id)+"?"+query.Encode(), http.StatusSeeOther)
	}
}

func (c *collection[T, L, S]) save(ctx context.Context, e *edit) error {
	form := e.Fields
	if form.Has("opened-name") {
		record, err := c.show(ctx, e.ID)
		if err != nil {
			return unsent{err}
		}
		if form, err = e.changes(c.texts(record)); err != nil {
			return err
		}
	}
	if !form.Has("name") && !form.Has("result") && !form.Has("favorite") {
		return nil
	}
	return c.update(ctx, e.ID, form)
}

func (c *collection[T, L, S]) deleteRecord(w http.ResponseWriter, r *http.Request) {
	if err := c.delete(r.Context(), aicontent.ID(r.PathValue("id"))); err != nil {
		c.fail(w, r, c.explain(r, err, changing))
		return
	}
	http.Redirect(w, r, c.listPath(r.URL.Query().Get("list")+"&done=deleted", ""), http.StatusSeeOther)
}

// listPath returns the address of a list, from its query, at a record.
func (c *collection[T, L, S]) listPath(query, id string) string {
	list, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
	address := url.URL{Path: c.path(), RawQuery: list.Encode()}
	if id != "" {
		address.Fragment = "item-" + id
	}
	return address.String()
}
