package aicontenttest

import (
	"fmt"
	"net/http"
	"strings"
)

// acted writes down that the service did what it was asked to do.
func (c *call) acted(id string) {
	c.server.book.write(func() { c.entry.Acted, c.entry.RecordID = true, id })
}

// read does list and show.
func (c *call) read() *Answer {
	coll := c.route.collection
	if c.route.id == "" {
		query := coll.newListQuery(c.query, c.server.allowed)
		if v, given := last(c.query, "favorite"); given {
			if b, ok := c.server.boolean(v); ok {
				query.favorite = &b
			}
		}
		if c.server.shape.counting != byCursor {
			query.cursor = nil
		}
		c.acted("")
		header := make(http.Header)
		body := c.server.listBody(coll, coll.page(query), c.query, header)
		a := c.json(http.StatusOK, body)
		for name, values := range header {
			a.Header[name] = values
		}
		return a
	}
	r, ok := coll.find(c.route.id)
	if !ok {
		return c.notFound()
	}
	c.acted(r.id)
	return c.json(http.StatusOK, c.server.recordBody(coll, r, http.StatusOK))
}

func (c *call) store(f form) *Answer {
	coll := c.route.collection
	var r record
	for _, field := range coll.store {
		if v, ok := f.get(field.name); ok && field.kind != audio {
			*r.value(field.name) = v
		}
	}
	if f.upload != nil {
		r.upload = *f.upload
		r.result = f.upload.report()
	}
	kept := coll.add(r)
	c.server.book.made(coll, kept, c.entry.Number)
	c.acted(kept.id)
	status := http.StatusCreated
	if c.server.shape.store200 {
		status = http.StatusOK
	}
	return c.json(status, c.server.recordBody(coll, kept, status))
}

// change does update: PUT and PATCH alike change the fields that were sent.
func (c *call) change(f form) *Answer {
	coll := c.route.collection
	r, ok := coll.change(c.route.id, func(r *record) {
		for _, field := range coll.update {
			v, present := f.get(field.name)
			if !present {
				continue
			}
			if field.kind != flag {
				*r.value(field.name) = v
			} else if b, ok := c.server.boolean(v); ok {
				r.favorite = b
			}
		}
	})
	if !ok {
		return c.notFound()
	}
	c.acted(r.id)
	return c.json(http.StatusOK, c.server.recordBody(coll, r, http.StatusOK))
}

func (c *call) remove() *Answer {
	coll := c.route.collection
	r, ok := coll.remove(c.route.id)
	if !ok {
		return c.notFound()
	}
	c.server.book.deleted(coll, r, c.entry.Number)
	c.acted(r.id)
	if c.server.shape.delete204 {
		return &Answer{Status: http.StatusNoContent, Header: make(http.Header)}
	}
	return c.json(http.StatusOK, object{
		{"id", c.server.id(r)}, {"object", coll.singular}, {"deleted", true}, {"status", http.StatusOK},
	})
}

func (c *call) notFound() *Answer { return c.message(http.StatusNotFound, "Resource not found.") }

// message is the shape of every error but a validation error, as JSON or as a page.
func (c *call) message(status int, text string) *Answer {
	if !c.wantsJSON() {
		return htmlAnswer(status, text)
	}
	if status == http.StatusUnauthorized {
		return c.json(status, object{{"message", text}})
	}
	return c.json(status, object{{"message", text}, {"status", status}})
}

func (c *call) methodNotAllowed() *Answer {
	methods := strings.Join(c.route.methods, ", ")
	a := c.message(http.StatusMethodNotAllowed, fmt.Sprintf(
		"The %s method is not supported for this route. Supported methods: %s.", c.r.Method, methods))
	a.Header.Set("Allow", methods)
	return a
}

// invalid is the answer of the validator.
func (c *call) invalid(problems []problem) *Answer {
	const status = http.StatusUnprocessableEntity
	text := problems[0].message
	if n := len(problems) - 1; n == 1 {
		text += " (and 1 more error)"
	} else if n > 1 {
		text += fmt.Sprintf(" (and %d more errors)", n)
	}
	if c.server.shape.messageOnly || !c.wantsJSON() {
		return c.message(status, text)
	}
	var fields object
	for _, p := range problems {
		if n := len(fields) - 1; n >= 0 && fields[n].name == p.field {
			fields[n].value = append(fields[n].value.([]any), p.message)
			continue
		}
		fields = append(fields, member{p.field, []any{p.message}})
	}
	return c.json(status, object{{"message", text}, {"errors", fields}})
}
