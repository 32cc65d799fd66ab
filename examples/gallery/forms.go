package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// forms remembers the forms that were sent. Package once creates one record for each name, and pictures may share a
// title, so the name of a record is its title and the token of its form. The ledger has the name that each form was
// sent with, so that a form whose title was edited is known again, even after a restart.
type forms struct {
	ctx    context.Context // of create requests, which a visitor who leaves does not end
	ledger once.Ledger

	binding sync.Mutex // held while the name of a form is written
	mu      sync.Mutex
	recent  map[string]*sentForm // for visitors who reload; the ledger decides what is sent
	order   []string             // of recent, the oldest first
	size    int                  // of recent, in bytes
	created int
	open    map[string]bool // names of what may have been created, and billed
}

// sentForm is what became of a form that was sent.
type sentForm struct {
	fields  url.Values
	size    int
	working int          // calls under way
	id      aicontent.ID // of the record, if there is one
	found   bool         // whether an earlier call created it
	problem *problem     // of the last call, if there is no record
}

const (
	maxTitle   = 1 << 10   // in bytes; services are known to accept 128 characters
	maxRecent  = 8 << 20   // limit of forms.size
	maxOpen    = 1000      // limit of forms.open
	createTime = time.Hour // for a create request, and the search for what became of it
)

var (
	errSentBefore = errors.New("the form was sent before")
	errNotBegun   = unsent{fmt.Errorf("the visitor left, or the gallery is stopping: %w", context.Canceled)}
	errNoRecord   = unsent{errors.New("nothing came of the form, or it was deleted")}
)

var (
	isToken  = regexp.MustCompile(`^[a-z2-7]{12}$`).MatchString
	tokenEnd = regexp.MustCompile(` #[a-z2-7]{12}$`)
)

func newToken() string { return strings.ToLower(rand.Text()[:12]) }

// title returns a record's name without the token of the form that created it.
func title(name string) string { return tokenEnd.ReplaceAllString(name, "") }

// withToken gives the form a token, if it has none of the gallery's: programs send none.
func withToken(form url.Values) url.Values {
	if !isToken(form.Get("form")) {
		form.Set("form", newToken())
	}
	return form
}

// recordName returns the name of the record that a form creates, or "" if it has no title.
func recordName(form url.Values) string {
	name := strings.TrimSpace(form.Get("name"))
	if name == "" {
		return ""
	}
	return name + " #" + form.Get("form")
}

func newForms(ledger once.Ledger) *forms {
	return &forms{
		ctx: context.Background(), ledger: ledger, recent: make(map[string]*sentForm), open: make(map[string]bool),
	}
}

// creating returns a context for creating a record from the request's form. It goes on after the visitor has left.
func (f *forms) creating(r *http.Request) (context.Context, context.CancelFunc) {
	length := r.ContentLength
	if length < 0 {
		length = maxMaxUpload
	}
	upload := time.Duration(length/minRate) * time.Second // at its slowest
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), createTime+upload)
	forget := context.AfterFunc(f.ctx, cancel)
	return ctx, func() {
		forget()
		cancel()
	}
}

// look returns what became of a form that was sent of late.
func (f *forms) look(form string) (sent sentForm, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.recent[form]; s != nil {
		return *s, true
	}
	return sentForm{}, false
}

// name returns the name that the form was sent with, or "".
func (f *forms) name(ctx context.Context, form string) (string, error) {
	name, _, err := f.ledger.Get(ctx, formKey(form))
	return string(name), err
}

// begin notes that the form is being sent with the name. It returns errSentBefore if it was sent with another one.
func (f *forms) begin(ctx context.Context, form, name string, fields url.Values) error {
	f.binding.Lock()
	defer f.binding.Unlock()
	bound, version, err := f.ledger.Get(ctx, formKey(form))
	if err == nil && len(bound) == 0 {
		bound = []byte(name)
		if _, err = f.ledger.Put(ctx, formKey(form), bound, version); errors.Is(err, once.ErrChanged) {
			bound, _, err = f.ledger.Get(ctx, formKey(form))
		}
	}
	switch {
	case err != nil:
		return unsent{err}
	case string(bound) != name:
		return errSentBefore
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.recent[form]
	if sent == nil {
		sent = &sentForm{}
		f.recent[form], f.order = sent, append(f.order, form)
	}
	size := 1<<10 + len(fields.Encode())
	f.size += size - sent.size
	sent.fields, sent.size = fields, size
	sent.working++
	f.forget()
	return nil
}

// forget drops the oldest forms that nobody works on until the rest is small enough.
func (f *forms) forget() {
	f.order = slices.DeleteFunc(f.order, func(form string) bool {
		sent := f.recent[form]
		if f.size <= maxRecent || sent.working > 0 {
			return false
		}
		f.size -= sent.size
		delete(f.recent, form)
		return true
	})
}

// end notes what became of a form that began. If nothing did, its title may be edited.
func (f *forms) end(form, name string, result sentForm, outcome aicontent.Outcome) {
	f.binding.Lock()
	defer f.binding.Unlock()
	f.mu.Lock()
	sent := f.recent[form]
	sent.working--
	if result.id != "" || sent.id == "" {
		sent.id, sent.found, sent.problem = result.id, result.found, result.problem
	}
	if result.id != "" && !result.found {
		f.created++
	}
	nothing := outcome == aicontent.OutcomeNotSent || outcome == aicontent.OutcomeRejected
	if delete(f.open, name); sent.id == "" && !nothing && len(f.open) < maxOpen {
		f.open[name] = true
	}
	free := sent.working == 0 && nothing
	f.mu.Unlock()
	if !free {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), lastWords)
	defer cancel()
	if _, version, err := f.ledger.Get(ctx, formKey(form)); err == nil {
		f.ledger.Put(ctx, formKey(form), nil, version) // If that fails, an edited title asks first.
	}
}

// sum returns how many records were created, and the names of those that may have been.
func (f *forms) sum() (created int, open []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sent := range f.recent {
		if sent.working > 0 {
			f.open[recordName(sent.fields)] = true
		}
	}
	return f.created, slices.Sorted(maps.Keys(f.open))
}

// formKey is the ledger's key of a form.
func formKey(form string) string {
	sum := sha256.Sum256([]byte("form of the gallery: " + form))
	return hex.EncodeToString(sum[:])
}
