package aicontent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// grammar has what a validator can get wrong.
var grammar = []string{
	``, ` `, `{}`, `[]`, ` { } `, "\t[\r\n]", `{"a":1}`, `{ "a" : 1 , "b" : [ ] }`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a" 1}`, `{"a":1 "b":2}`,
	`[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `{`, `]`, `}`, `[}`, `{]`, `[1`, `{"a":1`, `{"a":[1}`, `[]]`, `{}{}`, `1 2`,
	`0`, `-0`, `01`, `-`, `-a`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+5`, `1e-5`, `1e+`, `1.5e3.2`, `+1`, `--1`, `0x10`, `NaN`, `1_000`,
	`null`, `nul`, `nulls`, `true`, `false`, `tru`, `True`, `nullnull`,
	`""`, `"`, `"a`, `"a"b`, `"\u00e9"`, `"\u00E9"`, `"\u00g9"`, `"\u12"`, `"\u"`, `"\n\"\\\/\b\f\r\t"`, `"\x"`, `"\`, `"\"`,
	"\"\x01\"", "\"\n\"", "\"\x7f\"", "\"\xff\xfe\"", "\ufeff{}", "{}\x00", "\v1",
	strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
	strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth), strings.Repeat(`{"a":`, maxDepth+1),
}

// What is called valid is walked over without a doubt, so that a mistake here would be a panic.
func TestValid(t *testing.T) {
	for _, text := range grammar {
		assert.Equal(t, json.Valid([]byte(text)), valid([]byte(text)), "%.60q", text)
	}
	for _, text := range everyAnswer(t) {
		assert.Equal(t, json.Valid(text), valid(text), "%.60q", text)
	}
}

func TestInvalidTextIsExplained(t *testing.T) {
	for text, want := range map[string]error{
		``: errCutOff, `{`: errCutOff, `{"a`: errCutOff, `{"a":`: errCutOff, `[1,`: errCutOff, `{"a":1}}`: errJSON, `{} {}`: errJSON, `{a}`: errJSON,
		strings.Repeat("[", maxDepth+1): errTooDeep, strings.Repeat("[", maxDepth): errCutOff,
		`{"a":"` + strings.Repeat(`[\"`, maxDepth+1) + `"x}`: errJSON,
	} {
		assert.ErrorIs(t, invalid([]byte(text)), want, "%.40s", text)
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range grammar {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if valid(text) != json.Valid(text) {
			t.Fatalf("valid is %v", valid(text))
		}
	})
}
