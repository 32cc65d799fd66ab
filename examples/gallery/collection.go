package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// collection serves the pages of the pictures or of the recordings. The functions are where the two differ.
type collection[T, L, U any] struct {
	*server
	name    string // of a record, in addresses and for templates: picture or recording
	limit   int64  // of a form that creates, in bytes
	id      func(*T) aicontent.ID
	list    func(context.Context, L, ...aicontent.CallOption) (*aicontent.Page[T], error)
	show    func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	store   func(ctx context.Context, names *once.Client, name string, r *http.Request) (*T, bool, error)
	update  func(context.Context, aicontent.ID, U, ...aicontent.CallOption) (*T, error)
	delete  func(context.Context, aicontent.ID, ...aicontent.CallOption) error
	filters func(query url.Values) L
	changes func(form url.Values) U
}

func (c *collection[T, L, U]) addTo(mux *http.ServeMux) {
	mux.HandleFunc("GET "+c.path(), c.showList)
	mux.HandleFunc("GET "+c.path()+"/{id}", c.showRecord)
	mux.HandleFunc("POST "+c.path()+"/{id}", c.changeRecord)
	mux.HandleFunc("POST "+c.path()+"/{id}/delete", c.deleteRecord)
	mux.HandleFunc("GET /new-"+c.name, c.serveForm)
	mux.HandleFunc("POST /new-"+c.name, c.serveForm)
}

func (c *collection[T, L, U]) path() string { return "/" + c.name + "s" }

// recordPath returns the address of a record of a collection.
func recordPath(collection string, id aicontent.ID) string {
	return collection + "/" + url.PathEscape(string(id))
}

func (c *collection[T, L, U]) showList(w http.ResponseWriter, r *http.Request) {
	records, err := c.fetchList(r.Context(), r.URL.Query())
	v := view{Title: sentence(c.name + "s"), Data: records}
	if err != nil {
		v.Problem = c.explain(r, err, nil)
	}
	c.render(w, r, c.name+"s", v)
}

func (c *collection[T, L, U]) showRecord(w http.ResponseWriter, r *http.Request) {
	record, err := c.show(r.Context(), aicontent.ID(r.PathValue("id")))
	if err != nil {
		c.fail(w, r, c.explain(r, err, nil))
		return
	}
	c.render(w, r, c.name, view{Data: record})
}

// changeRecord updates the fields that the form has. If that fails, it shows a typed text again.
func (c *collection[T, L, U]) changeRecord(w http.ResponseWriter, r *http.Request) {
	id := aicontent.ID(r.PathValue("id"))
	err := parse(w, r, maxForm)
	if err == nil {
		_, err = c.update(r.Context(), id, c.changes(r.PostForm))
	}
	switch form := r.PostForm; {
	case err != nil && (form.Has("name") || form.Has("result")):
		p := c.explain(r, err, changing)
		c.render(w, r, "edit", view{Title: "Edit a " + c.name, Problem: p, Data: form})
	case err != nil:
		c.fail(w, r, c.explain(r, err, changing))
	default:
		http.Redirect(w, r, recordPath(c.path(), id)+"?done=saved", http.StatusSeeOther)
	}
}

func (c *collection[T, L, U]) deleteRecord(w http.ResponseWriter, r *http.Request) {
	if err := c.delete(r.Context(), aicontent.ID(r.PathValue("id"))); err != nil {
		c.fail(w, r, c.explain(r, err, changing))
		return
	}
	http.Redirect(w, r, c.path()+"?done=deleted", http.StatusSeeOther)
}

// formPath returns the address of a form.
func (c *collection[T, L, U]) formPath(token string) string {
	return "/new-" + c.name + "?form=" + token
}

// serveForm shows an empty form, at the address with its token. It creates the record of a filled one and leads to
// it, or shows the form again.
func (c *collection[T, L, U]) serveForm(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("form")
	switch {
	case !isToken(token):
		http.Redirect(w, r, c.formPath(newToken()), http.StatusSeeOther)
		return
	case r.Method != http.MethodPost:
		c.renderForm(w, r, token, nil)
		return
	}
	record, found, err := c.storeOnce(w, r, token)
	switch {
	case err != nil:
		c.refuseForm(w, r, token, err)
	case found:
		http.Redirect(w, r, recordPath(c.path(), c.id(record))+"?done=found", http.StatusSeeOther)
	default:
		c.log.Info("created", "form", token, "id", c.id(record))
		http.Redirect(w, r, recordPath(c.path(), c.id(record))+"?done=created", http.StatusSeeOther)
	}
}

// storeOnce stores the record of a form, and goes on after the visitor has left. A press during another press of the
// same form shares its call, even if the form was edited in between.
func (c *collection[T, L, U]) storeOnce(w http.ResponseWriter, r *http.Request, token string) (*T, bool, error) {
	if err := parse(w, r, c.limit); err != nil {
		return nil, false, err
	}
	name, err := recordName(r.PostForm.Get("name"), token)
	if err != nil {
		return nil, false, err
	}
	found := true // unless this press creates the record
	record, err, _ := c.presses.Do(c.name+token, func() (record any, err error) {
		names, err := c.namesOf(c.creating, token, name)
		if err == nil {
			record, found, err = c.store(c.creating, names, name, r)
		}
		return record, err
	})
	if err != nil {
		return nil, false, err
	}
	return record.(*T), found, nil
}

// namesOf returns a client of package once for the requests of a form. It fails if the form was sent with another
// title: that may have created a record, which a search for the new title does not find.
func (c *collection[T, L, U]) namesOf(ctx context.Context, token, name string) (*once.Client, error) {
	ledger := formLedger{c.ledger, c.names.Key(c.name, token)}
	var sent once.State
	entry, version, err := ledger.Get(ctx, ledger.key)
	if err == nil && version != "" {
		sent, err = once.ParseState(entry)
	}
	switch {
	case err != nil:
		return nil, unsent{fmt.Errorf("the ledger failed: %w", err), http.StatusServiceUnavailable}
	case !sent.Free() && sent.Name != name:
		err := &aicontent.ConflictError{Name: sent.Name, Problem: "the form was sent with another title"}
		return nil, &once.Error{Name: sent.Name, ID: sent.ID, Err: err}
	}
	return once.New(c.client, ledger, c.opts...)
}

// refuseForm shows a form whose record was not stored, as it was filled in. It keeps its token, so that its button
// finds a record that was created after all. After a conflict it gets a new one, for another record.
func (c *collection[T, L, U]) refuseForm(w http.ResponseWriter, r *http.Request, token string, err error) {
	p := c.explain(r, err, creating)
	if aicontent.OutcomeOf(err) != aicontent.OutcomeNotExecuted {
		p.LookAt, p.Fixed = c.path()+"?search="+token, true
	}
	if stored, ok := errors.AsType[*once.Error](err); ok && stored.ID != "" {
		p.LookAt = recordPath(c.path(), stored.ID)
	}
	if p.Status == http.StatusConflict {
		token, p.Fixed = newToken(), false
	}
	c.renderForm(w, r, token, p)
}

// renderForm shows a form with the posted values, and its problem.
func (c *collection[T, L, U]) renderForm(w http.ResponseWriter, r *http.Request, token string, p *problem) {
	c.render(w, r, "new-"+c.name, view{
		Title: "New " + c.name, Problem: p, Action: c.formPath(token), MaxBytes: c.limit, Data: r.PostForm,
	})
}
