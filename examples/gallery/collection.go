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
type collection[T, L any] struct {
	*server
	name    string // of a record, in addresses and for templates: picture or recording
	limit   int64  // of a form that creates, in bytes
	filters func(query url.Values) L
	list    func(context.Context, L, ...aicontent.CallOption) (*aicontent.Page[T], error)
	show    func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	find    func(context.Context, string, ...aicontent.CallOption) (*T, error)
	store   func(ctx context.Context, name string, r *http.Request) (*T, bool, error)
	update  func(context.Context, aicontent.ID, url.Values) error
	delete  func(context.Context, aicontent.ID, ...aicontent.CallOption) error
	id      func(*T) aicontent.ID
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

// recordPath returns the address of a record of a collection.
func recordPath(collection string, id aicontent.ID) string {
	return collection + "/" + url.PathEscape(string(id))
}

func (c *collection[T, L]) showList(w http.ResponseWriter, r *http.Request) {
	v := view{Title: sentence(c.name + "s")}
	records, err := c.fetchList(r.Context(), r.URL.Query())
	if err != nil {
		v.Problem = c.explain(r, err, nil)
	}
	v.Data = records
	c.render(w, r, c.name+"s", v)
}

func (c *collection[T, L]) showRecord(w http.ResponseWriter, r *http.Request) {
	record, err := c.show(r.Context(), aicontent.ID(r.PathValue("id")))
	if err != nil {
		c.fail(w, r, c.explain(r, err, nil))
		return
	}
	c.render(w, r, c.name, view{Data: record})
}

// changeRecord updates the fields that the form has. If that fails, it shows a typed text again.
func (c *collection[T, L]) changeRecord(w http.ResponseWriter, r *http.Request) {
	id := aicontent.ID(r.PathValue("id"))
	err := parse(w, r, maxForm)
	if err == nil {
		err = c.update(r.Context(), id, r.PostForm)
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

func (c *collection[T, L]) deleteRecord(w http.ResponseWriter, r *http.Request) {
	if err := c.delete(r.Context(), aicontent.ID(r.PathValue("id"))); err != nil {
		c.fail(w, r, c.explain(r, err, changing))
		return
	}
	http.Redirect(w, r, c.path()+"?done=deleted", http.StatusSeeOther)
}

// formPath returns the address of a form.
func (c *collection[T, L]) formPath(token string) string { return "/new-" + c.name + "?form=" + token }

// showForm shows an empty form, at the address that has its token.
func (c *collection[T, L]) showForm(w http.ResponseWriter, r *http.Request) {
	if !isToken(tokenOf(r)) {
		http.Redirect(w, r, c.formPath(newToken()), http.StatusSeeOther)
		return
	}
	c.renderForm(w, r, tokenOf(r), nil)
}

// create creates the form's record and leads to it, or shows the form again, as it was filled in.
func (c *collection[T, L]) create(w http.ResponseWriter, r *http.Request) {
	token := tokenOf(r)
	if !isToken(token) {
		c.showForm(w, r)
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
func (c *collection[T, L]) storeOnce(w http.ResponseWriter, r *http.Request, token string) (*T, bool, error) {
	if err := parse(w, r, c.limit); err != nil {
		return nil, false, err
	}
	name, err := recordName(r.PostForm.Get("name"), token)
	if err != nil {
		return nil, false, err
	}
	found := true // unless this press creates the record
	record, err, _ := c.presses.Do(c.name+token, func() (record any, err error) {
		if err = c.claim(c.creating, token, name); err == nil {
			record, found, err = c.store(c.creating, name, r)
		}
		return record, err
	})
	if err != nil {
		return nil, false, err
	}
	return record.(*T), found, nil
}

// claim writes down the name of a form before it is sent. If a visitor goes back, edits the title and sends the form
// again, a second record would be created. Therefore the form keeps its first name, unless the service has no record of
// that name, and no request can still create one.
func (c *collection[T, L]) claim(ctx context.Context, token, name string) error {
	key := c.names.Key(c.name, token)
	entry, version, err := c.titles.Get(ctx, key)
	first := string(entry)
	if err == nil && first != "" && first != name {
		record, err := c.find(ctx, first)
		if err == nil {
			err = &aicontent.ConflictError{Name: first, Reason: "the form was sent with another title"}
			return &once.Error{Name: first, ID: c.id(record), Err: err}
		}
		if !errors.Is(err, aicontent.ErrNotFound) {
			return err
		}
	}
	if err == nil && first != name {
		_, err = c.titles.Put(ctx, key, []byte(name), version)
	}
	if err != nil {
		return unsent{fmt.Errorf("the ledger failed: %w", err), true}
	}
	return nil
}

// refuseForm shows a form whose record was not stored, as it was filled in. It keeps its token, so that its button
// finds a record that was created after all. After a conflict it gets a new one, for another record.
func (c *collection[T, L]) refuseForm(w http.ResponseWriter, r *http.Request, token string, err error) {
	p := c.explain(r, err, creating)
	if aicontent.OutcomeOf(err) != aicontent.OutcomeNotExecuted {
		p.LookAt, p.Fixed = c.path()+"?search="+token, true
	}
	if stored, ok := errors.AsType[*once.Error](err); ok && stored.ID != "" {
		p.LookAt = recordPath(c.path(), stored.ID)
	}
	if isConflict(err) {
		token, p.Fixed = newToken(), false
	}
	c.renderForm(w, r, token, p)
}

// renderForm shows a form with the values that were posted, and its problem.
func (c *collection[T, L]) renderForm(w http.ResponseWriter, r *http.Request, token string, p *problem) {
	c.render(w, r, "new-"+c.name, view{
		Title: "New " + c.name, Problem: p, Action: c.formPath(token), MaxBytes: c.limit, Data: r.PostForm,
	})
}
