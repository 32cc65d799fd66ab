package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

var errNotBegun = unsent{fmt.Errorf("the visitor left, or the gallery is stopping: %w", context.Canceled)}

// formPath returns the address of a form.
func (c *collection[T, L, S]) formPath(token string) string {
	return "/new-" + c.name + "?" + url.Values{"form": {token}}.Encode()
}

// showForm shows an empty form. Its token is in the address too, so that a visitor who reloads the form, or goes back
// to it, finds the same one.
func (c *collection[T, L, S]) showForm(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("form")
	if !isToken(token) {
		http.Redirect(w, r, c.formPath(newToken()), http.StatusSeeOther)
		return
	}
	c.renderForm(w, r, url.Values{"form": {token}}, nil)
}

// create creates the form's record and leads to it, or shows the form again, as it was filled in. It goes on after the
// visitor has left: what was sent is billed.
func (c *collection[T, L, S]) create(w http.ResponseWriter, r *http.Request) {
	form, params, err := c.read(w, r)
	switch {
	case err != nil:
	case !isToken(form.Get("form")):
		err = errMalformedForm
	case r.Context().Err() != nil:
		err = errNotBegun
	}
	var record *T
	var found bool
	if err == nil {
		record, found, err = c.storeOnce(r, form, params)
	}
	if err != nil {
		c.renderForm(w, r, form, c.explainForm(r, form, err))
		return
	}
	done := "found"
	if !found {
		done = "created"
		c.log.Info("created", "name", recordName(form), "id", c.id(record))
	}
	http.Redirect(w, r, recordPath(c.path(), c.id(record))+"?done="+done, http.StatusSeeOther)
}

// storeOnce stores the record of a form. A visitor who goes back and edits the title of a form that was sent would store
// another record, so a form keeps its title, as long as the gallery runs, unless nothing came of it.
func (c *collection[T, L, S]) storeOnce(r *http.Request, form url.Values, params S) (*T, bool, error) {
	token, name := form.Get("form"), recordName(form)
	first, again := c.sent.LoadOrStore(token, name)
	if again && first != name {
		return nil, false, &aicontent.ConflictError{Name: first.(string), Reason: "the form was sent with another title"}
	}
	record, found, err := c.store(c.creating, r, params)
	outcome := aicontent.OutcomeOf(err)
	if !again && outcome == aicontent.OutcomeNotExecuted {
		c.sent.Delete(token)
	}
	return record, found, err
}

// renderForm shows a form, and what is wrong with it. One that has created a record, or has no token, gets a new token.
func (c *collection[T, L, S]) renderForm(w http.ResponseWriter, r *http.Request, form url.Values, p *problem) {
	if p != nil && p.Sent || !isToken(form.Get("form")) {
		form = maps.Clone(form)
		form.Set("form", newToken())
	}
	c.render(w, r, "new-"+c.name, view{Title: "New " + c.name, Problem: p, Data: form})
}

// explainForm turns the error of a form that creates into a problem. After an edited title the form would create
// another record, so the title stays as long as nobody knows whether there is one.
func (c *collection[T, L, S]) explainForm(r *http.Request, form url.Values, err error) *problem {
	p := c.explain(r, err, creating)
	outcome := aicontent.OutcomeOf(err)
	stored, conflict := &once.Error{}, &aicontent.ConflictError{}
	edited := errors.As(err, &conflict)
	p.Sent = edited || outcome == aicontent.OutcomeExecuted && !aicontent.Retryable(err)
	maybe := outcome == aicontent.OutcomeExecuted || outcome == aicontent.OutcomeUnknown
	p.Fixed = maybe && !p.Sent
	switch {
	case errors.As(err, &stored) && stored.ID != "":
		p.LookAt = recordPath(c.path(), stored.ID)
	case edited:
		p.LookAt = c.path() + "?" + url.Values{"search": {conflict.Name}}.Encode()
	case maybe:
		p.LookAt = c.path() + "?" + url.Values{"search": {recordName(form)}}.Encode()
	}
	return &p
}
