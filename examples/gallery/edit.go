package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go"
)

// edit is a form that changes a record.
type edit struct {
	ID     aicontent.ID
	Fields url.Values
	Now    url.Values // texts that the record has, if somebody else has changed one that the visitor changed too
}

func (e edit) Name() string   { return e.Fields.Get("name") }
func (e edit) Result() string { return e.Fields.Get("result") }

// Opened returns the fingerprint of the text that the field was shown with.
func (e edit) Opened(field string) string {
	if e.Now != nil {
		return fingerprint(field, e.Now.Get(field))
	}
	return e.Fields.Get("opened-" + field)
}

var errChanged = errors.New("the record has been changed since the form was opened")

// texts are the fields whose forms have a fingerprint of the text that they were opened with, so that saving one
// neither undoes what another tab has saved nor sends what nobody changed. Programs may leave it out.
var texts = []string{"name", "result"}

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

// changes returns the form with only the texts that the visitor changed. If somebody else has changed one of them, it
// returns errChanged, and e is what to ask the visitor.
func (e *edit) changes(now url.Values) (url.Values, error) {
	changed, err := maps.Clone(e.Fields), error(nil)
	for _, field := range texts {
		opened, typed := e.Fields.Get("opened-"+field), asTyped(field, e.Fields.Get(field))
		switch {
		case opened == fingerprint(field, typed):
			changed.Del(field)
			e.Fields.Set(field, now.Get(field))
		case typed == asTyped(field, now.Get(field)):
			changed.Del(field)
		case opened != fingerprint(field, now.Get(field)):
			err = errChanged
		}
	}
	if err != nil {
		e.Now = now
	}
	return changed, err
}
