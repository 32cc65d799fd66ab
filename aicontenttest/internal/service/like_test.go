package service

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSearchesMatchAsLikeDoes(t *testing.T) {
	for _, c := range []struct {
		search, text string
		want         bool
	}{
		{"", "", true},
		{"a", "", false},
		{"b", "abc", true},
		{"ac", "abc", false},
		{"a%c", "xabbcx", true},
		{"a%c", "xcbax", false},
		{"a_c", "abc", true},
		{"a_c", "ac", false},
		{"a_c", "aüc", true},
		{"ABC", "xabcx", true},
		{"aab", "aaab", true},
		{`100\%`, "100% sure", true},
		{`100\%`, "1000 sure", false},
		{`\_`, "a_b", true},
		{`\_`, "ab", false},
		{`\\`, `a\b`, true},
		{`a\`, "xa%", true}, // the backslash escapes the % that follows a search
		{`a\`, "xab", false},
		{"%%%_", "", false},
		{"%%%x%b%%%", "axb", true},
		{`k\\s`, `back\slash`, true},
		{`100\`, "100% wool", false},
		{"_______", "Ärger b", true},
		{"_______", "sixlet", false},
	} {
		assert.Equal(t, c.want, like(c.search).MatchString(fold(c.text)), "%q in %q", c.search, c.text)
	}
	// Backtracking over % is linear for each of them.
	assert.False(t, like(strings.Repeat("a%", 50)+"b").MatchString(strings.Repeat("a", 5000)))
}

func FuzzTextsContainTheirParts(f *testing.F) {
	f.Add("one", "two", "three")
	f.Add("Ä", `\%_`, "x")
	f.Fuzz(func(t *testing.T, before, part, after string) {
		before, after = strings.ToValidUTF8(before, ""), strings.ToValidUTF8(after, "")
		part = strings.ToValidUTF8(part, "")
		escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part)
		assert.True(t, like(escaped).MatchString(fold(before+part+after)))
	})
}
