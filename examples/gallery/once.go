package main

import (
	"errors"
	"sync"
)

// sentForms remembers which forms were sent, so that pressing a button twice creates, and bills, one record. The zero
// value is ready to use.
type sentForms struct {
	mu   sync.Mutex
	sent map[string]bool
}

// maxForms limits how many forms are remembered.
const maxForms = 10_000

var errSentBefore = errors.New("the form was sent before")

// once calls create, unless the form was sent before. A form may be sent again if its create request failed and cannot
// have created a record.
func once[T any](f *sentForms, form string, create func() (T, error)) (T, error) {
	if !f.add(form) {
		var zero T
		return zero, errSentBefore
	}
	record, err := create()
	if err != nil && !mayExist(err) {
		f.remove(form)
	}
	return record, err
}

// add reports whether the form is new. A form without one of the gallery's tokens always is.
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

// isToken reports whether form can be a token that the gallery put into a form.
func isToken(form string) bool { return form != "" && len(form) <= 64 }

func (f *sentForms) remove(form string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sent, form)
}
