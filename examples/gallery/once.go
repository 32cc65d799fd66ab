package main

import (
	"context"
	"errors"
	"sync"

	"github.com/aicontent/aicontent-go"
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

// once creates the draft's record, unless its form was sent before. A form may be sent again if its create request
// failed and cannot have created a record.
func (f *sentForms) once(ctx context.Context, d draft) (aicontent.ID, error) {
	form := d.fields.Get("form")
	if !f.add(form) {
		return "", errSentBefore
	}
	id, err := d.store(ctx)
	if err != nil && !mayExist(err) {
		f.remove(form)
	}
	return id, err
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
