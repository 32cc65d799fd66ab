package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

// collection serves the pages of the pictures or of the recordings. The functions are where the two differ.
type collection[T, L any] struct {
	*server
	name    string // of a record, in addresses and for templates: picture or recording
	filters func(query url.Values, size aicontent.PerPage) L
	list    func(context.Context, L, ...aicontent.CallOption) (*aicontent.Page[T], error)
	all     func(context.Context, L, ...aicontent.CallOption) iter.Seq2[*T, error]
	show    func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	texts   func(*T) url.Values // by field
	update  func(context.Context, aicontent.ID, url.Values) error
	delete  func(context.Context, aicontent.ID, ...aicontent.CallOption) error
	read    func(http.ResponseWriter, *http.Request) (draft, error)
}

// draft is a record to be created: the fields of its form, and the call that creates it.
type draft struct {
	fields url.Values
	store  func(context.Context) (aicontent.ID, error)
}

func (c *collection[T, L]) addTo(mux *http.ServeMux) {
	mux.HandleFunc("GET "+c.path(), c.showList)
	mux.HandleFunc("GET "+c.path()+"/{id}", c.showRecord)
	mux.HandleFunc("POST "+c.path()+"/{id}", c.changeRecord)
	mux.HandleFunc("POST "+c.path()+"/{id}/delete", c.deleteRecord)
	mux.HandleFunc("GET /new-"+c.name, c.showForm)
	mux.HandleFunc("POST /new-"+c.name, c.create)
}

func (c *collection[T, L]) path() string { return "/" + c.name + "s" }

// formPath returns the address of a form.
func (c *collection[T, L]) formPath(form string) string {
	return "/new-" + c.name + "?" + url.Values{"form": {form}}.Encode()
}

// recordPath returns the address of a record of a collection.
func recordPath(collection string, id aicontent.ID) string {
	return collection + "/" + url.PathEscape(string(id))
}

func (c *collection[T, L]) showList(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	records, err := c.fetchList(r.Context(), query)
	if err != nil {
		c.fail(w, r, c.explain(r, err, reading))
		return
	}
	c.render(w, r, c.name+"s", view{Title: sentence(c.name + "s"), Data: records})
}

// showForm shows an empty form, or what became of it. The token is in the address, so that a visitor who reloads a form
// that was sent, or goes back to it, finds the same one.
func (c *collection[T, L]) showForm(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	form := query.Get("form")
	sent, err := c.forms.find(form)
	fields := url.Values{"form": {form}}
	if sent.fields != nil {
		fields = sent.fields
	}
	switch {
	case form == "":
		http.Redirect(w, r, c.formPath(c.forms.token()), http.StatusSeeOther)
	case sent.working:
		w.Header().Set("Refresh", "3; url="+c.formPath(form)+"&wait=1")
		c.render(w, r, "working", view{Title: "Creating a " + c.name, Data: fields})
	case sent.fields != nil && query.Has("wait"):
		c.showCreated(w, r, fields, sent.id, sent.err)
	case err != nil:
		c.refuse(w, r, fields, err)
	default:
		c.render(w, r, "new-"+c.name, view{Title: "New " + c.name, Data: fields})
	}
}

func (c *collection[T, L]) create(w http.ResponseWriter, r *http.Request) {
	d, err := c.read(w, r)
	var id aicontent.ID
	if err == nil {
		id, err = c.forms.once(r.Context(), d)
	}
	c.showCreated(w, r, d.fields, id, err)
}

func (c *collection[T, L]) showCreated(
	w http.ResponseWriter, r *http.Request, fields url.Values, id aicontent.ID, err error,
) {
	if err != nil {
		c.refuse(w, r, fields, err)
		return
	}
	http.Redirect(w, r, recordPath(c.path(), id)+"?done=created", http.StatusSeeOther)
}

// refuse shows the form again, as it was filled in. It has a new token only if sending it again may create a second
// record, of which the visitor is told.
func (c *collection[T, L]) refuse(w http.ResponseWriter, r *http.Request, fields url.Values, err error) {
	p := c.explain(r, err, creating)
	io.CopyN(io.Discard, r.Body, c.maxUpload) // browsers read the response only when everything is sent
	form := fields.Get("form")
	switch {
	case errors.Is(err, errSentBefore):
		p.LookAt = c.formPath(form) + "&wait=1"
	case mayExist(err):
		p.LookAt = c.path() + "?" + url.Values{"search": {strings.TrimSpace(fields.Get("name"))}}.Encode()
	}
	if mayExist(err) || form == "" {
		fields = maps.Clone(fields)
		fields.Set("form", c.forms.token())
	}
	c.render(w, r, "new-"+c.name, view{Title: "New " + c.name, Problem: &p, Data: fields})
}

func (c *collection[T, L]) showRecord(w http.ResponseWriter, r *http.Request) {
	id, list := r.PathValue("id"), r.URL.Query().Get("list")
	record, err := c.show(r.Context(), aicontent.ID(id))
	if err != nil {
		c.fail(w, r, c.explain(r, err, reading))
		return
	}
	c.render(w, r, c.name, view{Data: record, List: list, Back: c.listPath(list, id)})
}

// changeRecord updates the fields that the form has. If that fails, it shows the form again, as it was filled in.
func (c *collection[T, L]) changeRecord(w http.ResponseWriter, r *http.Request) {
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

func (c *collection[T, L]) save(ctx context.Context, e *edit) error {
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

func (c *collection[T, L]) deleteRecord(w http.ResponseWriter, r *http.Request) {
	if err := c.delete(r.Context(), aicontent.ID(r.PathValue("id"))); err != nil {
		c.fail(w, r, c.explain(r, err, changing))
		return
	}
	http.Redirect(w, r, c.listPath(r.URL.Query().Get("list")+"&done=deleted", ""), http.StatusSeeOther)
}

// listPath returns the address of a list, from its query, at a record.
func (c *collection[T, L]) listPath(query, id string) string {
	list, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
	address := url.URL{Path: c.path(), RawQuery: list.Encode()}
	if id != "" {
		address.Fragment = "item-" + id
	}
	return address.String()
}
