package once

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/names"
)

// format is the number of the entry's format. This package neither reads nor overwrites another format.
const format = 2

// entry is the state of a name in a ledger. The clock of the writing process sets its times.
type entry struct {
	Format     int    `json:"format"`
	Collection string `json:"collection"`
	Name       string `json:"name"`

	Call  string       `json:"call,omitempty"`  // random token of the writing call
	Wrote time.Time    `json:"wrote,omitzero"`  // time of the write
	Until time.Time    `json:"until,omitzero"`  // a request may become a listed record until then; zero for no request
	Made  time.Time    `json:"made,omitzero"`   // when the record was created or found; zero for no record
	ID    aicontent.ID `json:"id,omitempty"`    // of the record; empty if unknown
	Named string       `json:"named,omitempty"` // hash of the record's name on the service
	Form  string       `json:"form,omitempty"`  // hash of the form of the request; empty if unknown
}

// blank reports whether the entry is equivalent to a missing one.
func (e entry) blank() bool { return e.Until.IsZero() && e.Made.IsZero() }

// until returns Until on the monotonic clock of a reader that first saw the entry at the given time (rule 8). It is at
// most the limit after that time.
func (e entry) until(seen time.Time, limit time.Duration) time.Time {
	if e.Until.IsZero() {
		return e.Until
	}
	return seen.Add(min(e.Until.Sub(seen), limit))
}

// made returns Made, but at most the time at which the reader first saw the entry.
func (e entry) made(seen time.Time) time.Time { return seen.Add(min(e.Made.Sub(seen), 0)) }

// age returns the time since the entry was written, for a reader that first saw it at the given time.
func (e entry) age(seen, now time.Time) time.Duration {
	age := now.Sub(seen)
	if !e.Wrote.IsZero() {
		age += max(seen.Sub(e.Wrote), 0)
	}
	return age
}

var errEntry = errors.New("the ledger's entry cannot be read")

// decode decodes an entry of the ledger. An empty version means that there is none.
func decode(data []byte, version string) (e entry, err error) {
	if version == "" {
		return e, nil
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%w: %w", errEntry, err)
	}
	if e.Format != format {
		return e, fmt.Errorf("%w: its format is %d, and this package reads %d", errEntry, e.Format, format)
	}
	return e, nil
}

// encode encodes an entry. It cannot fail, because the fields are strings, numbers and times of this century.
func (e entry) encode() []byte {
	e.Wrote, e.Until, e.Made = e.Wrote.UTC(), e.Until.UTC(), e.Made.UTC()
	data, _ := json.Marshal(e)
	return data
}

// ledgerKey returns the key of a name. A scope replaces the base URL. The case of the URL's host and a default port do
// not matter.
func ledgerKey(scope, baseURL, collection, name string) string {
	if scope != "" {
		baseURL = ""
	} else if u, err := url.Parse(baseURL); err == nil {
		u.Host = strings.ToLower(u.Host)
		if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; port != "" {
			u.Host = strings.TrimSuffix(u.Host, port)
		}
		baseURL = u.String()
	}
	data, _ := json.Marshal([]string{scope, baseURL, collection, names.Canonical(name)})
	return hash(string(data))
}

// formHash returns a hash of the canonical forms of the nonempty fields.
func formHash(fields map[string]string) string {
	values := url.Values{}
	for key, value := range fields {
		if value = names.Canonical(value); value != "" {
			values.Set(key, value)
		}
	}
	return hash(values.Encode())
}

// nameHash returns the hash of a name's canonical form, or "" for a missing name.
func nameHash(name string) string {
	if name = names.Canonical(name); name == "" {
		return ""
	}
	return hash(name)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
