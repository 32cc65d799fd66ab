package service

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFormsAreParsedAsPHPDoes(t *testing.T) {
	for form, want := range map[string]url.Values{
		"":                {},
		"a=1&b=2&a=3":     {"a": {"1", "3"}, "b": {"2"}},
		"a&b=":            {"a": {""}, "b": {""}},
		"=x&&a=b=c":       {"a": {"b=c"}},
		"a=x;y&b=%":       {"a": {"x;y"}, "b": {"%"}},
		"a=%4&b=%zz%41":   {"a": {"%4"}, "b": {"%zzA"}},
		"a=+%2B%c3%BC+&+": {"a": {" +ü "}, " ": {""}},
	} {
		assert.Equal(t, want, ParseURLEncoded(form), form)
	}
	for query, want := range map[string]bool{
		"": true, "a=%2B;": true, "a=%": false, "a=%4": false, "%zz": false, "%aF": true,
	} {
		assert.Equal(t, want, wellFormed(query), query)
	}
}

func FuzzEncodedFormsAreReadBack(f *testing.F) {
	f.Add("name", "value &=+%;")
	f.Fuzz(func(t *testing.T, name, value string) {
		name = "n" + name // a field without a name is none
		assert.Equal(t, url.Values{name: {value}}, ParseURLEncoded(url.Values{name: {value}}.Encode()))
	})
}
