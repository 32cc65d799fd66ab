package lenient

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	secondsPerDay = 24 * 60 * 60
	lastSecond    = 253402300799 // of the year 9999, the last that RFC 3339 can write
)

// Time reads the times that the usual languages and databases write: see docs/responses.md for the list. Without a zone
// a time is UTC. Anything else is the zero time.
func (v Value) Time() time.Time {
	switch {
	case v.IsObject():
		return dateTime(v)
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
	text, zone := cutZone(text)
	return local(text, zone)
}

// rfc3339 reads the most frequent forms: RFC 3339, also with a space for the T, without a zone, or without a time of
// day.
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

// writable returns a time as MarshalText can write it: as the zero time with an offset of a day or more, and in UTC with
// an offset of odd seconds.
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

// number reads seconds since 1970, which may have a fraction. A number too large for a time is of milliseconds,
// microseconds or nanoseconds; one of 8 or 14 digits may be the digits of a date. A text of fewer than 9 digits is no
// number of seconds: it may be anything.
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

// timeLayouts are of times without a zone and a weekday. All seconds may have a fraction.
var timeLayouts = []string{
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "20060102T150405",
	"2 Jan 2006 15:04:05", "2 Jan 06 15:04:05", "2-Jan-2006 15:04:05", "2-Jan-06 15:04:05",
	"Jan 2 15:04:05 2006", "Jan 2 2006 15:04:05",
}

var (
	weekday = regexp.MustCompile(`(?i)^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? `)
	comment = regexp.MustCompile(` \([^()]*\)$`) // the name that JavaScript adds to a zone
	name    = regexp.MustCompile(`(?i)([0-9]|[0-9] )[a-z]{1,3}$`)
	offset  = regexp.MustCompile(`([+-])([0-9]{2}):?([0-9]{2})?:?([0-9]{2})?$`)
	clock   = regexp.MustCompile(`:|[0-9]T[0-9]`) // of a time of day
)

// local reads a time without a zone. A zone of nil is one that cannot be read.
func local(text string, zone *time.Location) time.Time {
	if zone == nil {
		return time.Time{}
	}
	text = strings.Join(strings.Fields(text), " ")
	text = strings.TrimPrefix(text[len(weekday.FindString(text)):], "+") // PHP's expanded years have a sign
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return writable(t)
		}
	}
	return time.Time{}
}

// zones are the hours of the names that mean one zone everywhere: those of RFC 822, and Z.
var zones = map[string]int{
	"Z": 0, "UTC": 0, "GMT": 0, "UT": 0,
	"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}

// cutZone cuts the zone from the end of a time: a name, an offset, or both in either order, as JavaScript's GMT+0200
// and Go's +0200 UTC. The zone is nil if it cannot be read, and UTC if there is none.
func cutZone(text string) (string, *time.Location) {
	text = text[:len(text)-len(comment.FindString(text))]
	text, before, named := cutName(text)
	found := offset.FindStringSubmatch(text)
	if found == nil || !clock.MatchString(text[:len(text)-len(found[0])]) {
		if !named {
			return text, nil
		}
		return text, fixed(before * 60 * 60)
	}
	text, after, known := cutName(strings.TrimSuffix(text, found[0]))
	if !named || !known || before != 0 || after != 0 {
		return text, nil
	}
	part := func(i int) int {
		n, _ := strconv.Atoi(found[i])
		return n
	}
	seconds := part(2)*60*60 + part(3)*60 + part(4)
	switch {
	case part(2) > 23, part(3) > 59, part(4) > 59:
		return text, nil
	case found[1] == "-":
		seconds = -seconds
	}
	return text, fixed(seconds)
}

// cutName cuts the name of a zone from the end of a time and returns its hours. No name is that of UTC.
func cutName(text string) (rest string, hours int, ok bool) {
	text = strings.TrimSpace(text)
	found := name.FindString(text)
	if found == "" {
		return text, 0, true
	}
	zone := strings.TrimLeft(found, "0123456789 ")
	hours, ok = zones[strings.ToUpper(zone)]
	return strings.TrimSpace(strings.TrimSuffix(text, zone)), hours, ok
}

func fixed(seconds int) *time.Location {
	if seconds == 0 {
		return time.UTC
	}
	return time.FixedZone("", seconds)
}

// dateTime reads a DateTime of PHP: a date, and the name or offset of a zone.
func dateTime(v Value) time.Time {
	date, zone := v.Member("date").Text(), v.Member("timezone").Text()
	const midnight = "00:00"
	if rest, found := cutZone(strings.TrimSpace(midnight + " " + zone)); rest == midnight && found != nil {
		return local(date, found)
	}
	return local(date, location(zone))
}

var locations sync.Map // from the name of a zone to its *time.Location

// location returns the zone with a name such as Europe/Berlin, and nil if the machine does not know it.
func location(name string) *time.Location {
	if known, ok := locations.Load(name); ok {
		return known.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		return nil
	}
	locations.Store(name, zone)
	return zone
}
