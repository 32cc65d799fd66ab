package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// sentForms remembers which forms were sent, so that pressing a button twice creates, and bills, one record.
type sentForms struct {
	ctx    context.Context // of the create requests, which a visitor who leaves does not end
	key    signingKey
	opened time.Time

	mu    sync.Mutex
	since time.Duration // from opened; forms made before it are not remembered
	sent  map[string]creation
}

// creation is what became of a form that was sent.
type creation struct {
	fields  url.Values // nil if the form is not known to have been sent
	working bool
	id      aicontent.ID
	err     error
}

// maxForms limits how many forms are remembered.
const maxForms = 10_000

var (
	errSentBefore = errors.New("the form was sent before")
	errOldForm    = errors.New("the form is older than what the gallery remembers")
	errNotBegun   = unsent{fmt.Errorf("the visitor left, or the gallery is stopping: %w", context.Canceled)}
)

// token returns the token of a new form: when it was made, something unique, and a signature.
func (f *sentForms) token() string {
	made := strconv.FormatInt(int64(time.Since(f.opened)), 36) + "." + rand.Text()
	return made + "." + f.key.sign("form", made)
}

// remembers reports whether the form is known to be new if it is not in f.sent. Forms of earlier runs of the gallery
// were signed with another key. Programs send forms without a token.
func (f *sentForms) remembers(form string) bool {
	made, nonce, _ := strings.Cut(form, ".")
	nonce, signature, _ := strings.Cut(nonce, ".")
	age, _ := strconv.ParseInt(made, 36, 64)
	return form == "" || f.key.signed("form", made+"."+nonce, signature) && time.Duration(age) >= f.since
}

// find returns what became of the form. The error says why sending it may create a second record: a form may be sent
// again if its create request failed and cannot have created one.
func (f *sentForms) find(form string) (creation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.look(form)
}

func (f *sentForms) look(form string) (creation, error) {
	c, known := f.sent[form]
	switch {
	case !known && !f.remembers(form):
		return c, errOldForm
	case known && (c.working || c.err == nil || mayExist(c.err)):
		return c, errSentBefore
	}
	return c, nil
}

// once creates the draft's record, unless its form may have been sent before. It sends nothing if ctx has ended.
func (f *sentForms) once(ctx context.Context, d draft) (aicontent.ID, error) {
	form := cmp.Or(d.fields.Get("form"), f.token())
	c := creation{fields: d.fields, err: errNotBegun}
	if err := f.begin(form, d.fields); err != nil {
		return "", err
	}
	if ctx.Err() == nil {
		c.id, c.err = d.store(f.ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[form] = c
	return c.id, c.err
}

func (f *sentForms) begin(form string, fields url.Values) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.look(form); err != nil {
		return err
	}
	if len(f.sent) >= maxForms {
		f.since = time.Since(f.opened) + 1
		maps.DeleteFunc(f.sent, func(_ string, old creation) bool { return !old.working })
	}
	f.sent[form] = creation{fields: fields, working: true}
	return nil
}

// signingKey proves that the gallery has made an address or a form, in this run.
type signingKey string

// sign returns the signature of a text, which counts for one purpose only.
func (k signingKey) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, []byte(k))
	mac.Write([]byte(purpose + " " + text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (k signingKey) signed(purpose, text, signature string) bool {
	return hmac.Equal([]byte(k.sign(purpose, text)), []byte(signature))
}
