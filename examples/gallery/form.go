package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// Package once creates one record for each name, and pictures may share a title. So the name of a record is its title
// and the token of its form. The token is in the form's address: it survives a reload, the way back, and a request
// whose body cannot be read.
var (
	isToken  = regexp.MustCompile(`^[a-z2-7]{12}$`).MatchString
	tokenEnd = regexp.MustCompile(` #[a-z2-7]{12}$`)
)

func newToken() string { return strings.ToLower(rand.Text()[:12]) }

// title returns a record's name without the token of the form that created it.
func title(name string) string { return tokenEnd.ReplaceAllString(name, "") }

// maxTitle limits the length of a title, in characters. Known services accept names of 128, of which the token takes
// 14.
const maxTitle = 128 - 14

// recordName returns the name of the record that a form creates. It is empty if the title has no visible character.
func recordName(title, token string) (string, error) {
	title = strings.TrimFunc(title, isInvisible)
	switch length := utf8.RuneCountInString(title); {
	case length == 0:
		return "", nil
	case length > maxTitle:
		reason := fmt.Sprintf("must have at most %d characters, not %d", maxTitle, length)
		return "", &aicontent.ValidationError{Problems: []aicontent.FieldProblem{{Field: "name", Reason: reason}}}
	}
	return title + " #" + token, nil
}

// isInvisible reports whether services trim the character from names.
func isInvisible(r rune) bool {
	const blanks = "\u2800\U0001D159" // braille and musical symbols that show nothing
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || strings.ContainsRune(blanks, r)
}

// formLedger is the ledger of one form. The requests of all its titles share an entry, so that package once sends one
// of them at a time, even if they come from several galleries.
type formLedger struct {
	once.Ledger
	key string
}

func (l formLedger) Get(ctx context.Context, _ string) ([]byte, string, error) {
	return l.Ledger.Get(ctx, l.key)
}

func (l formLedger) Put(ctx context.Context, _ string, entry []byte, version string) (string, error) {
	return l.Ledger.Put(ctx, l.key, entry, version)
}

// maxForm limits a form without its file, in bytes. A day of speech is about 1.3 million characters, which a form
// encodes in up to nine bytes each.
const maxForm = 16 << 20

// maxMemory is how much of an upload is held in memory, in bytes. The rest is in a temporary file, which the server
// removes when the request ends.
const maxMemory = 1 << 20

// parse parses a form of at most limit bytes into r.PostForm and r.MultipartForm.
func parse(w http.ResponseWriter, r *http.Request, limit int64) error {
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, limit)
	switch err := cmp.Or(r.ParseForm(), r.ParseMultipartForm(maxMemory)); {
	case err == nil, errors.Is(err, http.ErrNotMultipart): // ParseForm has parsed all of it
		return nil
	case errors.As(err, new(*http.MaxBytesError)):
		io.CopyN(io.Discard, body, limit) // browsers read the response only when everything is sent
		err = fmt.Errorf("the form is too large: the gallery accepts at most %d MiB", limit>>20)
		return unsent{err, http.StatusRequestEntityTooLarge}
	default:
		return unsent{fmt.Errorf("the form could not be read: %w", err), http.StatusBadRequest}
	}
}

// posted returns a pointer to a text of the form, with the line breaks that services have, or nil if the form does not
// have it.
func posted(form url.Values, field string) *string {
	if !form.Has(field) {
		return nil
	}
	return new(strings.ReplaceAll(form.Get(field), "\r\n", "\n"))
}
