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
	store   func(context.Context, *http.Request, S) (*T, bool, error)
	id      func(*T) aicontent.ID
	text    func(record *T, field string) string
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
	v := view{Title: sentence(c.name + "s")}
	records, err := c.fetchList(r.Context(), r.URL.Query())
	if err != nil {
		p := c.explain(r, err, reading)
		v.Problem = &p
	}
	v.Data = records
	c.render(w, r, c.name+"s", v)
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

// changeRecord updates the fields that the form has. If that fails, it shows what was typed again.
func (c *collection[T, L, S]) changeRecord(w http.ResponseWriter, r *http.Request) {
	id, list := aicontent.ID(r.PathValue("id")), r.URL.Query().Get("list")
	err := parseForm(w, r)
	e := newEdit(r.PostForm)
	if err == nil {
		err = c.save(r.Context(), id, &e)
	}
	switch form := r.PostForm; {
	case err != nil && e.Field != "":
		p := c.explain(r, err, changing)
		c.render(w, r, "edit", view{Title: "Edit a " + c.name, Problem: &p, List: list, Data: e})
	case err != nil:
		c.fail(w, r, c.explain(r, err, changing))
	case form.Has("list"):
		http.Redirect(w, r, c.listPath(form.Get("list"), string(id)), http.StatusSeeOther)
	default:
		query := url.Values{"done": {"saved"}, "list": {list}}
		http.Redirect(w, r, recordPath(c.path(), id)+"?"+query.Encode(), http.StatusSeeOther)
	}
}

// save updates the record, unless the form's text was not changed, or somebody else has changed it too.
func (c *collection[T, L, S]) save(ctx context.Context, id aicontent.ID, e *edit) error {
	if e.Opened != "" {
		record, err := c.show(ctx, id)
		if err != nil {
			return unsent{err}
		}
		needed, err := e.compare(c.text(record, e.Field))
		if !needed {
			return err
		}
	}
	return c.update(ctx, id, e.form)
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
