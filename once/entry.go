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
)

// format is the number of the entry's format. Any other is not read, nor overwritten.
const format = 2

// entry is what a ledger keeps of a name. Its times are by the clock of the process that wrote it.
type entry struct {
	Format     int    `json:"format"`
	Collection string `json:"collection"`
	Name       string `json:"name"`

	Call  string       `json:"call,omitempty"`  // that wrote the entry
	Wrote time.Time    `json:"wrote,omitzero"`  // when the call wrote it; of a renewed announcement, the first one
	Until time.Time    `json:"until,omitzero"`  // what was sent is a record that lists and Show have, or never will be
	Made  time.Time    `json:"made,omitzero"`   // when the record was made or found; zero for none
	ID    aicontent.ID `json:"id,omitempty"`    // of the record; empty if nobody knows it
	Named string       `json:"named,omitempty"` // hash of the name that the service gave it
	Form  string       `json:"form,omitempty"`  // hash of the form that was sent
}

// blank reports whether the entry says no more than a missing one.
func (e entry) blank() bool { return e.Until.IsZero() && e.Made.IsZero() }

var errEntry = errors.New("the ledger's entry cannot be read")

// decode reads an entry of the ledger. No version is no entry.
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

// encode cannot fail: the fields of an entry are strings, numbers and times of this century.
func (e entry) encode() []byte {
	data, _ := json.Marshal(e)
	return data
}

// ledgerKey returns the key of a name. A scope stands in place of the base URL, whose host's case and default port make
// no difference.
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
	data, _ := json.Marshal([]string{scope, baseURL, collection, canonical(name)}) // strings alone
	return hash(string(data))
}

// formHash returns a hash of the fields that are not empty. Spaces around them do not count: services trim them.
func formHash(fields map[string]string) string {
	values := url.Values{}
	for key, value := range fields {
		if value = canonical(value); value != "" {
			values.Set(key, value)
		}
	}
	return hash(values.Encode())
}

// canonical returns a text in the form in which texts are compared: services trim them, and browsers and databases
// change their line breaks.
func canonical(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}

// nameHash returns the hash of a name, or nothing for a name that the service did not send.
func nameHash(name string) string {
	if name = canonical(name); name == "" {
		return ""
	}
	return hash(name)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
