package once

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// format is the number of the entry's format. A newer one is not read, nor overwritten.
const format = 1

// entry is what a ledger keeps of a name. Its times are by the clock of the process that wrote it.
type entry struct {
	Format     int    `json:"format"`
	Collection string `json:"collection"`
	Name       string `json:"name"`

	Holder string    `json:"holder,omitempty"` // process and call that have the name; empty for none
	Beat   time.Time `json:"beat,omitzero"`    // their last heartbeat

	Sending bool      `json:"sending,omitempty"` // a create request is under way
	Sender  string    `json:"sender,omitempty"`  // process whose clock Sent and Made are of
	Sent    time.Time `json:"sent,omitzero"`     // when the last request that may still become a record ended
	Until   time.Time `json:"until,omitzero"`    // when it no longer may, for people and for InMemory

	Made  time.Time    `json:"made,omitzero"`   // when the record was made or found; zero for none
	ID    aicontent.ID `json:"id,omitempty"`    // of the record; empty if nobody knows it
	Named string       `json:"named,omitempty"` // hash of the name that the service gave it
	Form  string       `json:"form,omitempty"`  // hash of the form that was sent
}

// empty reports whether the entry says no more than a missing one.
func (e entry) empty() bool {
	return e.Holder == "" && !e.Sending && e.Sent.IsZero() && e.Made.IsZero()
}

// outcome is what the entry says of the record.
func (e entry) outcome() aicontent.Outcome {
	switch {
	case !e.Made.IsZero():
		return aicontent.OutcomeDone
	case e.Sending || !e.Sent.IsZero():
		return aicontent.OutcomeUnknown
	}
	return aicontent.OutcomeNotSent
}

// forget clears what the entry says of a record: there is none left, or there never was one.
func (e *entry) forget() {
	*e = entry{Format: format, Collection: e.Collection, Name: e.Name, Holder: e.Holder, Beat: e.Beat}
}

// decode reads an entry of the ledger, and returns a new one for none.
func decode(data []byte, version, collection, name string) (e entry, err error) {
	e = entry{Format: format, Collection: collection, Name: name}
	if version == "" {
		return e, nil
	}
	e.Format = 0
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

// ledgerKey returns the key of a name. Neither the case of the base URL's host nor a default port makes a difference.
func ledgerKey(scope, baseURL, collection, name string) string {
	if u, err := url.Parse(baseURL); err == nil {
		u.Host = strings.ToLower(u.Host)
		if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; port != "" {
			u.Host = strings.TrimSuffix(u.Host, port)
		}
		baseURL = u.String()
	}
	data, _ := json.Marshal([]string{scope, baseURL, collection, normal(name)}) // strings alone
	return hash(string(data))
}

// formHash returns a hash of the fields that are not empty. Spaces around them do not count: services trim them.
func formHash(fields map[string]string) string {
	values := url.Values{}
	for key, value := range fields {
		if value = normal(value); value != "" {
			values.Set(key, value)
		}
	}
	return hash(values.Encode())
}

// normal returns a text in the form in which texts are compared: services trim them, and browsers and databases change
// their line breaks.
func normal(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}

// nameHash returns the hash of a name, or nothing for a name that the service did not send.
func nameHash(name string) string {
	if name = normal(name); name == "" {
		return ""
	}
	return hash(name)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
