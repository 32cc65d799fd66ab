package main

import (
	"errors"
	"sync"
)

// sentForms remembers the forms that were sent, so that a button pressed twice makes, and bills, one record. The zero
// value is ready to use.
type sentForms struct {
	mu   sync.Mutex
	sent map[string]bool
}

// maxForms bounds how many forms are remembered.
const maxForms = 10_000

var errSentBefore = errors.New("the form was sent before")

// once calls create unless the form was sent before. A form whose create request cannot have made anything may be
// sent again.
func once[T any](f *sentForms, form string, create func() (T, error)) (T, error) {
	if !f.add(form) {
		var zero T
		return zero, errSentBefore
	}
	record, err := create()
	if err != nil && !mayBeMade(err) {
		f.remove(form)
	}
	return record, err
}

// add reports whether the form is new. One without a token of the gallery's always is.
func (f *sentForms) add(form string) bool {
	if !isToken(form) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent[form] {
		return false
	}
	if f.sent == nil || len(f.sent) >= maxForms {
		f.sent = make(map[string]bool)
	}
	f.sent[form] = true
	return true
}

// isToken reports whether form may be the token that newForm puts into each form.
func isToken(form string) bool { return form != "" && len(form) <= 64 }

func (f *sentForms) remove(form string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sent, form)
}
