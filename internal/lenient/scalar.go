package lenient

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	secondsPerDay = 24 * 60 * 60
	lastSecond    = 253402300799              // of the year 9999, the last that RFC 3339 can write
	maxInt        = min(1<<53-1, math.MaxInt) // a larger float may have been rounded
)

// Bool reads booleans, numbers other than 0, and the texts of either. Anything else is false.
func (v Value) Bool() bool {
	if v.isBool() {
		return v[0] == 't'
	}
	text := v.Text()
	n, err := strconv.ParseFloat(text, 64)
	return strings.EqualFold(text, "true") || err == nil && n != 0
}

// Int reads whole numbers, also as text and with a fraction of zero. Anything else is 0.
func (v Value) Int() int {
	f, err := strconv.ParseFloat(v.Text(), 64)
	if err != nil || math.Abs(f) > maxInt || f != math.Trunc(f) {
		return 0
	}
	return int(f)
}

// Time reads RFC 3339, also with a space for the T, without a zone, which is UTC, or without a time of day, and whole
// numbers as seconds since 1970. Anything else is the zero time.
func (v Value) Time() time.Time {
	if !v.IsString() {
		seconds, _ := strconv.ParseInt(string(v), 10, 64)
		if seconds <= 0 || seconds > lastSecond {
			return time.Time{}
		}
		return time.Unix(seconds, 0).UTC()
	}
	text := append(make([]byte, 0, 64), v.Text()...)
	if space := bytes.IndexByte(text, ' '); space >= 0 {
		text[space] = 'T'
	}
	for _, missing := range []string{"", "Z", "T00:00:00Z"} {
		var t time.Time
		if t.UnmarshalText(append(text, missing...)) != nil {
			continue
		}
		// It reads zones of a day and more, but MarshalText does not write them.
		if _, offset := t.Zone(); max(offset, -offset) < secondsPerDay {
			return t
		}
	}
	return time.Time{}
}
