package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
)

// edit is a form that changes a text of a record: its name or its result. It has the fingerprint of the text that it
// was opened with, so that nobody undoes what another tab has saved.
type edit struct {
	Field  string // empty if the form has no text
	Typed  string
	Opened string // empty in forms of programs, which change what they like
	Now    string // the text that the record has, if somebody else has changed it too
	form   url.Values
}

var errChanged = errors.New("the record has been changed since the form was opened")

func newEdit(form url.Values) edit {
	e := edit{Opened: form.Get("opened"), form: form}
	for _, field := range []string{"name", "result"} {
		if form.Has(field) {
			form.Set(field, asTyped(field, form.Get(field)))
			e.Field, e.Typed = field, form.Get(field)
		}
	}
	return e
}

// compare reports whether an update is needed, given the text that the record has now. If somebody else has changed
// that too, it returns errChanged.
func (e *edit) compare(now string) (needed bool, err error) {
	typed := fingerprint(e.Field, e.Typed)
	current := fingerprint(e.Field, now)
	switch {
	case typed == current || typed == e.Opened:
		return false, nil
	case current == e.Opened:
		return true, nil
	}
	e.Now, e.Opened = now, current
	return false, errChanged
}

// asTyped returns a text as a form would have it back if nobody changed it.
func asTyped(field, text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(text)
	if field == "name" {
		return strings.ReplaceAll(text, "\n", "") // as it is a single line
	}
	return text
}

func fingerprint(field, text string) string {
	sum := sha256.Sum256([]byte(asTyped(field, text)))
	return hex.EncodeToString(sum[:])
}
