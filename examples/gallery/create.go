package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// formPath returns the address of a form.
func (c *collection[T, L, S]) formPath(token string) string {
	return "/new-" + c.name + "?" + url.Values{"form": {token}}.Encode()
}

// resultPath returns the address of what became of a form.
func (c *collection[T, L, S]) resultPath(token string) string { return c.formPath(token) + "&wait=1" }

// key is what forms remembers a form under.
func (c *collection[T, L, S]) key(token string) string { return c.name + " " + token }

// showForm shows an empty form, or what became of it. The token is in the address, so that a visitor who reloads a form
// that was sent, or goes back to it, finds the same one.
func (c *collection[T, L, S]) showForm(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	token := query.Get("form")
	if !isToken(token) {
		http.Redirect(w, r, c.formPath(newToken()), http.StatusSeeOther)
		return
	}
	sent, known, err := c.lookUp(r, token)
	switch {
	case err != nil:
		c.fail(w, r, c.explain(r, err, reading))
	case !known:
		c.renderForm(w, r, url.Values{"form": {token}}, nil)
	case sent.working > 0:
		w.Header().Set("Refresh", "3; url="+c.resultPath(token))
		c.render(w, r, "working", view{Title: "Creating a " + c.name, Data: sent.fields})
	case sent.id != "" && !query.Has("wait"):
		c.renderForm(w, r, sent.fields, c.explainForm(r, sent.fields, errSentBefore))
	default:
		c.showResult(w, r, sent)
	}
}

// lookUp returns what became of a form, if it was sent. If that was before the gallery was started, it begins to look
// for the record.
func (c *collection[T, L, S]) lookUp(r *http.Request, token string) (sent sentForm, known bool, err error) {
	if sent, known = c.forms.look(c.key(token)); known {
		return sent, true, nil
	}
	name, err := c.forms.name(r.Context(), c.key(token))
	if name == "" || err != nil {
		return sent, false, err
	}
	fields := url.Values{"form": {token}, "name": {title(name)}}
	c.looking.Go(func() {
		c.submit(r, fields, func(ctx context.Context) (*T, bool, error) {
			record, err := c.find(ctx, name)
			if errors.Is(err, aicontent.ErrNotFound) && aicontent.OutcomeOf(err) == aicontent.OutcomeNotSent {
				err = errNoRecord
			}
			return record, true, err
		})
	})
	return sentForm{fields: fields, working: 1}, true, nil
}

func (c *collection[T, L, S]) create(w http.ResponseWriter, r *http.Request) {
	fields, params, err := c.read(w, r)
	if err == nil {
		err = c.check(params)
	}
	switch {
	case err != nil:
	case len(fields.Get("name")) > maxTitle:
		err = &aicontent.ValidationError{Problems: []aicontent.FieldProblem{{Field: "name", Reason: "is too long"}}}
	case r.Context().Err() != nil:
		err = errNotBegun
	}
	sent := sentForm{fields: fields}
	if err != nil {
		sent.problem = c.explainForm(r, fields, err)
	} else {
		sent = c.submit(r, fields, func(ctx context.Context) (*T, bool, error) { return c.store(ctx, params) })
	}
	io.CopyN(io.Discard, r.Body, c.maxUpload) // browsers read the response only when everything is sent
	c.showResult(w, r, sent)
}

// submit creates or finds the form's record. It goes on after the visitor has left.
func (c *collection[T, L, S]) submit(
	r *http.Request, fields url.Values, record func(context.Context) (*T, bool, error),
) (sent sentForm) {
	key, name := c.key(fields.Get("form")), recordName(fields)
	ctx, cancel := c.forms.creating(r)
	defer cancel()
	err := c.forms.begin(ctx, key, name, fields)
	if err == nil {
		err = errors.New("it was interrupted") // by a panic
		defer func() { c.forms.end(key, name, sent, aicontent.OutcomeOf(err)) }()
		var made *T
		if made, sent.found, err = record(ctx); err == nil {
			sent.id = c.id(made)
		}
	}
	if err != nil {
		sent.problem = c.explainForm(r, fields, err)
	}
	sent.fields = fields
	return sent
}

// showResult leads to the record that a form has created, or shows the form again, as it was filled in.
func (c *collection[T, L, S]) showResult(w http.ResponseWriter, r *http.Request, sent sentForm) {
	if sent.id == "" {
		c.renderForm(w, r, sent.fields, sent.problem)
		return
	}
	done := "created"
	if sent.found {
		done = "found"
	}
	http.Redirect(w, r, recordPath(c.path(), sent.id)+"?done="+done, http.StatusSeeOther)
}

// renderForm shows a form, and what is wrong with it.
func (c *collection[T, L, S]) renderForm(w http.ResponseWriter, r *http.Request, fields url.Values, p *problem) {
	if p != nil && p.Sent {
		fields = maps.Clone(fields)
		fields.Set("form", newToken())
	}
	c.render(w, r, "new-"+c.name, view{Title: "New " + c.name, Problem: p, Data: fields})
}

// explainForm turns the error of a form that creates into a problem.
func (c *collection[T, L, S]) explainForm(r *http.Request, fields url.Values, err error) *problem {
	p := c.explain(r, err, creating)
	outcome := aicontent.OutcomeOf(err)
	stored, conflict := &once.Error{}, &aicontent.ConflictError{}
	edited := errors.Is(err, errSentBefore) || errors.As(err, &conflict)
	p.Sent = edited || outcome == aicontent.OutcomeDone
	switch {
	case len(conflict.IDs) == 1:
		p.LookAt = recordPath(c.path(), conflict.IDs[0])
	case edited:
		p.LookAt = c.resultPath(fields.Get("form"))
	case errors.As(err, &stored) && stored.ID != "":
		p.LookAt = recordPath(c.path(), stored.ID)
	case p.Sent || outcome == aicontent.OutcomeUnknown:
		p.LookAt = c.path() + "?" + url.Values{"search": {strings.TrimSpace(fields.Get("name"))}}.Encode()
	}
	return &p
}
