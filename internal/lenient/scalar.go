package lenient

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
)

const (
	maxInt    = min(1<<53-1, math.MaxInt) // a larger float may have been rounded
	maxDigits = 40                        // limit of the length and exponent of an ID in float notation
)

// Bool reports whether v is true or a number other than 0, also as a string.
func (v Value) Bool() bool {
	if v.isBool() {
		return v[0] == 't'
	}
	text := v.Text()
	n, err := strconv.ParseFloat(text, 64)
	return strings.EqualFold(text, "true") || err == nil && n != 0
}

// Int returns a whole number, also from a string and with a fraction of zero. Anything else is 0.
func (v Value) Int() int {
	text := v.Text()
	if text == "" || text[0] > '9' { // without the allocations of an error
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(f) > maxInt || f != math.Trunc(f) {
		return 0
	}
	return int(f)
}

// ID returns the text of an ID. It is the result of [Value.Text], except for a whole number with a fraction or
// exponent, as some services send it: then it is the number's digits.
func (v Value) ID() string {
	text := v.Text()
	if !v.IsNumber() || !strings.ContainsAny(text, ".eE") {
		return text
	}
	_, power, _ := strings.Cut(strings.ToLower(text), "e")
	shift, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil || max(shift, -shift, len(text)) > maxDigits { // because a short text may have a huge exponent
		return text
	}
	number, ok := new(big.Rat).SetString(text)
	if !ok || !number.IsInt() {
		return text
	}
	return number.Num().String()
}
