package once

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/names"
)

// format is the number of the entry's format. This package neither reads nor overwrites another format.
const format = 2

// entry is the state of a name in a ledger.
type entry struct {
	Format int `json:"format"`
	State

	Call  string    `json:"call,omitempty"`  // random token of the writing call
	Wrote time.Time `json:"wrote,omitzero"`  // when it was written, but a renewal keeps that of its announcement
	Named string    `json:"named,omitempty"` // hash of the record's name on the service, which may be the API key
	Form  string    `json:"form,omitempty"`  // hash of the form of the request; empty if unknown
}

// State is the part of an entry for people and other programs. The clock of the writing process sets its times.
type State struct {
	Collection string `json:"collection"` // images or transcriptions
	Name       string `json:"name"`       // as given
	// Until is the time after which the last create request has either produced a listed record or never will. Before
	// it, the name is open. Zero means that no request is open.
	Until time.Time `json:"until,omitzero"`
	// Made is the time at which a call stored or found the record. Zero means that no record is known.
	Made time.Time    `json:"made,omitzero"`
	ID   aicontent.ID `json:"id,omitempty"` // of the record; empty if unknown
}

// Free reports whether the entry is equivalent to a missing one, because Delete freed the name or its request created
// no record.
func (s State) Free() bool { return s.Until.IsZero() && s.Made.IsZero() }

// ParseState reads an entry, so that ledgers outside of this package can implement [Lister]. It fails if the entry is
// damaged or has another format.
func ParseState(entry []byte) (State, error) {
	e, err := decode(entry, "any")
	return e.State, err
}

var errEntry = errors.New("the ledger's entry cannot be read")

// decode decodes an entry of the ledger. An empty version means that there is none.
func decode(data []byte, version string) (e entry, err error) {
	if version == "" {
		return e, nil
	}
	err = json.Unmarshal(data, &e)
	if err == nil && e.Format != format {
		err = fmt.Errorf("it has format %d, of another version of this package", e.Format)
	}
	if err != nil {
		return entry{}, fmt.Errorf("%w: %w", errEntry, err)
	}
	return e, nil
}

// key returns the key of a name. A scope replaces the base URL. The case of the URL's host and a default port do not
// matter.
func (c *config) key(collection, name string) string {
	u, _ := url.Parse(c.base)
	port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), port)
	base := u.String()
	if c.scope != "" {
		base = ""
	}
	data, _ := json.Marshal([]string{c.scope, base, collection, names.Canonical(name)})
	return hash(string(data))
}

// formHash returns a hash of the texts of Store's parameters, without empty ones.
func formHash(params any) string {
	form := url.Values{}
	for field, value := range reflect.ValueOf(params).Fields() {
		if value.Kind() == reflect.String && value.Len() > 0 {
			form.Set(field.Name, value.String())
		}
	}
	return hash(form.Encode())
}

func nameHash(name string) string { return hash(names.Canonical(name)) }

func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
