package mask

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKeysAreHiddenHoweverTheyAreSpelled(t *testing.T) {
	m := New("s3cret", "s3cret/2+x=", "")
	for text, want := range map[string]string{
		"":                             "",
		"no key":                       "no key",
		"s3cret, s3cret/2+x=; s3cret/": "***, ***; ***/",
		"a?k=s3cret%2F2%2Bx%3D":        "a?k=***",
		"/s3cret%2F2+x=/":              "/***/",
	} {
		assert.Equal(t, want, m.Text(text))
	}
	assert.Equal(t, map[string][]string{"***": {"a ***"}}, m.Values(map[string][]string{"s3cret": {"a s3cret/2+x="}}))
	assert.NotNil(t, m.Values(nil))
}
