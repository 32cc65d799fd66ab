package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	sent  map[string]*creation
}

// creation is what became of a form that was sent.
type creation struct {
	fields url.Values
	done   chan struct{} // closed when id and err are set
	id     aicontent.ID
	err    error
}

func (c *creation) working() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// maxForms limits how many forms are remembered.
const maxForms = 10_000

var (
	errSentBefore = errors.New("the form was sent before")
	errOldForm    = errors.New("the form is older than what the gallery remembers")
	errNotBegun   = errors.New("the visitor left, or the gallery is stopping")
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

// find returns what became of the form, or nil if it is not known to have been sent. The error says why sending it may
// create a second record: a form may be sent again if its create request failed and cannot have created one.
func (f *sentForms) find(form string) (*creation, error) { return f.swap(form, nil) }

// swap is like find. If the form may be sent, it also puts next in the place of what it returns.
func (f *sentForms) swap(form string, next *creation) (*creation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.sent[form]
	switch {
	case c == nil && !f.remembers(form):
		return nil, errOldForm
	case c != nil && (c.working() || c.err == nil || mayExist(c.err)):
		return c, errSentBefore
	case next == nil || form == "":
		return c, nil
	}
	if len(f.sent) >= maxForms {
		f.since = time.Since(f.opened) + 1
		maps.DeleteFunc(f.sent, func(_ string, old *creation) bool { return !old.working() })
	}
	f.sent[form] = next
	return c, nil
}

// once creates the draft's record, unless its form may have been sent before. It sends nothing if ctx has ended.
func (f *sentForms) once(ctx context.Context, d draft) (aicontent.ID, error) {
	c := &creation{fields: d.fields, done: make(chan struct{}), err: errNotBegun}
	if _, err := f.swap(d.fields.Get("form"), c); err != nil {
		return "", err
	}
	defer close(c.done)
	if ctx.Err() == nil {
		c.id, c.err = d.store(f.ctx)
	}
	return c.id, c.err
}

// signingKey proves that the gallery has made an address or a form, in this run.
type signingKey []byte

func newSigningKey() signingKey {
	key := make(signingKey, 32)
	rand.Read(key)
	return key
}

// sign returns the signature of a text, which counts for one purpose only.
func (k signingKey) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(purpose + " " + text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (k signingKey) signed(purpose, text, signature string) bool {
	return hmac.Equal([]byte(k.sign(purpose, text)), []byte(signature))
}
