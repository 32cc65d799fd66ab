package lenient

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	secondsPerDay = 24 * 60 * 60
	lastSecond    = 253402300799 // of the year 9999, the last year in RFC 3339
)

// Time returns a time in one of the formats of the usual languages and databases, which docs/responses.md lists. A time
// without a zone is UTC. Anything else is the zero time.
func (v Value) Time() time.Time {
	switch {
	case v.IsObject():
		return dateTime(v.Member("date").Text(), v.Member("timezone").Text())
	case v.IsNumber():
		return number(v.Text(), true)
	case !v.IsString():
		return time.Time{}
	}
	if t, ok := rfc3339(v.Text()); ok {
		return t
	}
	text := strings.TrimSpace(v.Text())
	if t := number(text, false); !t.IsZero() {
		return t
	}
	return written(text)
}

// rfc3339 reads the most frequent formats: RFC 3339, also with a space in place of the T, without a zone, or without
// the time of day.
func rfc3339(s string) (time.Time, bool) {
	text := append(make([]byte, 0, 64), s...)
	if space := bytes.IndexByte(text, ' '); space >= 0 {
		text[space] = 'T'
	}
	for _, missing := range []string{"", "Z", "T00:00:00Z"} {
		var t time.Time
		if t.UnmarshalText(append(text, missing...)) == nil {
			return writable(t), true
		}
	}
	return time.Time{}, false
}

// writable returns a time for which MarshalText succeeds: the zero time for an offset of a day or more, and a time in
// UTC for an offset with seconds.
func writable(t time.Time) time.Time {
	_, offset := t.Zone()
	switch {
	case offset <= -secondsPerDay, offset >= secondsPerDay:
		return time.Time{}
	case offset%60 != 0:
		return t.UTC()
	}
	return t
}

// number reads seconds since 1970, with or without a fraction. Larger numbers are milliseconds, microseconds or
// nanoseconds. Numbers of 8 or 14 digits may be dates. It ignores texts of fewer than 9 digits, because they may be
// anything.
func number(text string, isNumber bool) time.Time {
	if n, err := strconv.ParseFloat(text, 64); isNumber && err == nil && n < 1e19 && strings.ContainsAny(text, "eE") {
		text = strconv.FormatFloat(n, 'f', -1, 64)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return time.Time{}
	}
	if len(whole) == 8 || len(whole) == 14 {
		t, err := time.Parse("20060102150405"[:len(whole)], whole)
		if err == nil && fraction == "" && t.Year() >= 1970 && t.Year() < 2100 {
			return t
		}
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	unit := time.Second
	switch {
	case err != nil, n == 0, !isNumber && len(whole) < 9:
		return time.Time{}
	case n <= lastSecond:
	case n < 1e13:
		unit = time.Millisecond
	case n >= 1e15 && n < 1e16:
		unit = time.Microsecond
	case n >= 1e18:
		unit = time.Nanosecond
	default:
		return time.Time{}
	}
	perSecond := int64(time.Second / unit)
	return time.Unix(n/perSecond, n%perSecond*int64(unit)+nanos/perSecond).UTC()
}

// timeLayouts have neither a weekday nor a zone. Seconds may have a fraction.
var timeLayouts = []string{
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "20060102T150405",
	"2 Jan 2006 15:04:05", "2 Jan 06 15:04:05", "2-Jan-2006 15:04:05", "2-Jan-06 15:04:05",
	"Jan 2 15:04:05 2006", "Jan 2 2006 15:04:05",
}

// zones are the offsets of the zone names in RFC 822. Other names are ambiguous.
var zones = map[string]string{
	"": "", "Z": "+0000", "UTC": "+0000", "GMT": "+0000", "UT": "+0000", "EST": "-0500", "EDT": "-0400",
	"CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

var (
	weekday = regexp.MustCompile(`(?i)^((mon|tue|wed|thu|fri|sat|sun)[a-z]*,? |\+)`) // or the plus of PHP's years
	comment = regexp.MustCompile(` \([^()]*\)$`)                                     // JavaScript's name of the zone
	// The formats are EST, +02:00, GMT+0200 (JavaScript) and +0000 UTC (Go).
	zone = regexp.MustCompile(`(?i) ?([a-z]{0,3})(([+-][0-9]{2})(?::?([0-5][0-9]))?(?::?([0-5][0-9]))?( UTC)?)?$`)
)

// written reads a time in one of timeLayouts, with or without a weekday and a zone.
func written(text string) time.Time {
	text = comment.ReplaceAllString(weekday.ReplaceAllString(strings.Join(strings.Fields(text), " "), ""), "")
	at := zone.FindStringSubmatchIndex(text)
	found := zone.FindStringSubmatch(text)
	offset, known := zones[strings.ToUpper(found[1])]
	switch {
	case !known, found[2] != "" && offset != "" && offset != "+0000":
		return time.Time{}
	case found[2] != "":
		offset = (found[3] + found[4] + "00")[:5] + found[5]
	}
	for _, layout := range timeLayouts {
		t, err := time.ParseInLocation(layout+"-070000"[:len(offset)], text[:at[0]]+offset, time.UTC)
		if err == nil {
			return writable(t)
		}
	}
	return time.Time{}
}

// dateTime reads PHP's DateTime: a date, and the name or offset of a zone.
func dateTime(date, zone string) time.Time {
	if t := written(date + " " + zone); !t.IsZero() {
		return t
	}
	location, err := time.LoadLocation(zone)
	if err != nil || location == time.Local {
		return time.Time{}
	}
	t, _ := time.ParseInLocation("2006-01-02 15:04:05", date, location)
	return t
}
