package lenient

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bool reads booleans, numbers other than 0, and the texts of either; also yes and on. Anything else is false.
func (v Value) Bool() bool {
	if v.isBool() {
		return v[0] == 't'
	}
	text := strings.ToLower(v.Text())
	n, err := strconv.ParseFloat(text, 64)
	return text == "true" || text == "yes" || text == "on" || err == nil && n != 0
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

// Time reads RFC 3339, also with a space for the T or without a zone, which is UTC; a day; RFC 1123; and unix times in
// seconds or milliseconds, as numbers or as text of at least nine digits. Anything else is the zero time.
func (v Value) Time() time.Time {
	const day = len(time.DateOnly)
	var t time.Time
	// What almost all services send.
	if len(v) > day+1 && v[day+1] == 'T' && t.UnmarshalText(v[1:len(v)-1]) == nil {
		return t
	}
	var room [64]byte
	text := bytes.TrimSpace(append(room[:0], v.text(nil)...)) // a copy, to which a missing T and zone are added
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	if v.IsNumber() || len(whole) >= 9 && only("0123456789", whole) && only("0123456789", fraction) {
		return unixTime(string(text))
	}
	if len(text) > day && text[day] == ' ' {
		text[day] = 'T'
	}
	if len(text) > day && text[day] == 'T' && only("0123456789:.", text[day+1:]) {
		text = append(text, 'Z')
	}
	if t.UnmarshalText(text) == nil {
		return t
	}
	for _, layout := range []string{"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05 -0700", time.DateOnly, time.RFC1123, time.RFC1123Z} {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t
		}
	}
	return time.Time{}
}

// only reports whether the text has no other characters than the given ones.
func only(chars string, text []byte) bool { return len(bytes.TrimRight(text, chars)) == 0 }

// unixTime reads a number of seconds or milliseconds after 1970.
func unixTime(text string) time.Time {
	const (
		fewestMillis = 1e11 // March 1973 in milliseconds; the year 5138 in seconds
		year10000    = 253402300800
	)
	seconds, _ := strconv.ParseFloat(text, 64)
	if seconds >= fewestMillis {
		seconds /= 1e3
	}
	if !(seconds > 0 && seconds < year10000) {
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
