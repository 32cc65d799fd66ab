// Package mask hides API keys in logs and records of requests.
package mask

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// Stars stand for an API key.
const Stars = "***"

// A Mask replaces API keys, as they are and as URLs spell them.
type Mask struct{ replacer *strings.Replacer }

// New returns a mask for the keys.
func New(keys ...string) Mask {
	var spellings []string
	for _, key := range keys {
		if key != "" {
			spellings = append(spellings, key, url.QueryEscape(key), url.PathEscape(key))
		}
	}
	// One key may begin with another.
	slices.SortFunc(spellings, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, spelling := range spellings {
		pairs = append(pairs, spelling, Stars)
	}
	return Mask{strings.NewReplacer(pairs...)}
}

// Text returns s without keys.
func (m Mask) Text(s string) string { return m.replacer.Replace(s) }

// Values returns a copy without keys, which is not nil.
func (m Mask) Values(values map[string][]string) map[string][]string {
	hidden := make(map[string][]string, len(values))
	for name, list := range values {
		name = m.Text(name)
		for _, value := range list {
			hidden[name] = append(hidden[name], m.Text(value))
		}
	}
	return hidden
}
