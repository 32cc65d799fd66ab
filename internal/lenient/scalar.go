package lenient

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
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
	text := v.Text()
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < 1<<53 && f == math.Trunc(f) {
		return int(f)
	}
	return 0
}

// Time reads RFC 3339, also with a space for the T, without a zone, which is UTC, or without a time of day; and Unix
// times from 1973 on, in seconds or milliseconds, as numbers or as text. Anything else is the zero time.
func (v Value) Time() time.Time {
	const day = len(time.DateOnly)
	var t time.Time
	// What almost all services send.
	if len(v) > day+1 && v[day+1] == 'T' && t.UnmarshalText(v[1:len(v)-1]) == nil {
		return t
	}
	var room [64]byte
	text := bytes.TrimSpace(append(room[:0], v.text(nil)...)) // a copy, to which what is missing is added
	if len(text) < day || text[len("2006")] != '-' {
		seconds, _ := strconv.ParseFloat(string(text), 64)
		return unixTime(seconds)
	}
	if len(text) == day {
		text = append(text, "T00:00:00"...)
	}
	if text[day] == ' ' {
		text[day] = 'T'
	}
	if len(bytes.TrimRight(text[day+1:], "0123456789:.")) == 0 {
		text = append(text, 'Z')
	}
	_ = t.UnmarshalText(text)
	return t
}

// unixTime reads a number of seconds or milliseconds after 1970.
func unixTime(seconds float64) time.Time {
	const (
		earliest     = 1e8  // March 1973; a smaller number may be a year, or a day without dashes
		fewestMillis = 1e11 // the same in milliseconds; the year 5138 in seconds
		year10000    = 253402300800
	)
	if seconds >= fewestMillis {
		seconds /= 1e3
	}
	if !(seconds >= earliest && seconds < year10000) {
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
