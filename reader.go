package aicontent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// wrapped is how many objects deep a record or a list may be wrapped in the answer.
const wrapped = 2

// longText is from which length on, in bytes, a text has memory of its own. The shorter ones of a record share theirs, so that
// keeping one of them keeps little.
const longText = 256

// reader reads records from valid text, one after the other.
type reader struct {
	singular string             // the member that may wrap a record, beside data; empty where none does
	fields   []field            // of the record to be read
	follow   [maxFields + 1]int // which field is expected first, and behind each one
	open     [wrapped + 1]sighting
	text     value
	best     sighting // the record that was found
}

// sighting is an object that may be a record.
type sighting struct {
	depth   int
	whole   span
	members [maxFields]span // in the order of the fields
	known   bool            // it has a value that a record has
	named   bool            // it has an id
}

// span is where a value stands in the text; zero is nowhere. It holds no pointer, which the collector would have to follow.
type span struct{ from, to int }

func newReader(singular string, fields []field) *reader {
	rd := &reader{singular: singular, fields: fields}
	for i := range rd.follow {
		rd.follow[i] = i % len(fields)
	}
	return rd
}

// find takes a value and reports whether there is a record in it. Of objects within one another it is the innermost
// that has an id, or, where none has one, the innermost that has anything of a record.
func (rd *reader) find(c *cursor) bool {
	rd.best.known = false
	if c.kind() != '{' {
		c.skip()
		return false
	}
	rd.text = c.text
	rd.object(c, 0)
	return rd.best.known
}

func (rd *reader) object(c *cursor, depth int) {
	s := &rd.open[depth]
	*s = sighting{depth: depth}
	start, last := c.at, 0
	for c.enter(); c.more(); {
		// Deployments send members in the same order from record to record.
		i := rd.follow[last]
		if !c.keyed(rd.fields[i].name) {
			key := c.key()
			if i = rd.field(key); i < 0 {
				if depth < wrapped && c.kind() == '{' && rd.wraps(key) {
					rd.object(c, depth+1)
				} else {
					c.skip()
				}
				continue
			}
			rd.follow[last] = i
		}
		from := c.at
		c.skip()
		last = i + 1
		// Null and what no field holds count as missing.
		if c.text[from:c.at].isPlain() {
			s.members[i], s.known = span{from, c.at}, true
			// The id is the first of the fields.
			s.named = s.named || i == 0
		}
	}
	s.whole = span{start, c.at}
	if s.known && (!rd.best.known || s.named && !rd.best.named || s.named == rd.best.named && depth >= rd.best.depth) {
		rd.best = *s
	}
}

func (rd *reader) wraps(key value) bool {
	return rd.singular != "" && (key.is("data") || key.is(rd.singular))
}

// field is the number of the field with the name, -1 where there is none.
func (rd *reader) field(key value) int {
	name := []byte(key[1 : len(key)-1])
	i := slices.IndexFunc(rd.fields, func(f field) bool { return f.name == string(name) })
	if i < 0 && bytes.IndexByte(name, '\\') >= 0 {
		var room [64]byte
		name = key.appendText(room[:0], false)
		i = slices.IndexFunc(rd.fields, func(f field) bool { return f.name == string(name) })
	}
	return i
}

func (rd *reader) value(at span) value { return rd.text[at.from:at.to:at.to] }

// fill reads the members of the record that was found into the fields, and returns its text. Null and what cannot be
// read as its field's type leave the zero value, so that a member of an unexpected type costs that member alone.
func (rd *reader) fill() json.RawMessage {
	var room [2 * longText]byte
	texts := room[:0]
	whole := rd.value(rd.best.whole)
	clean := utf8.Valid(whole)
	var ends [maxFields]int
	for i, f := range rd.fields {
		if at := rd.best.members[i]; at.to > 0 {
			v := rd.value(at)
			switch at := f.at.(type) {
			case *string:
				if len(v) < longText {
					texts = v.appendText(texts, clean)
				} else {
					*at = v.text()
				}
			case *bool:
				*at = v.truth()
			case *int:
				*at = v.number()
			case *time.Time:
				*at = v.time()
			}
		}
		ends[i] = len(texts)
	}
	shared, start := string(texts), 0
	for i, end := range ends[:len(rd.fields)] {
		if end > start {
			*rd.fields[i].at.(*string) = shared[start:end]
		}
		start = end
	}
	return json.RawMessage(whole)
}

// truth reads booleans, numbers and their texts: favorite comes as any of them.
func (v value) truth() bool {
	if v[0] == 't' || v[0] == 'f' {
		return v[0] == 't'
	}
	var room [32]byte
	text := v.appendText(room[:0], false)
	for _, word := range [...]string{"true", "yes", "on"} {
		if strings.EqualFold(word, string(text)) {
			return true
		}
	}
	n, err := strconv.ParseFloat(string(text), 64)
	return err == nil && n != 0
}

// number reads whole numbers, also as text and with a fraction of zero.
func (v value) number() int {
	text := v.text()
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int(f)) {
		return int(f)
	}
	return 0
}

// timeLayouts are those of deployments that are not RFC 3339 but for a T or the zone.
var timeLayouts = []string{"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05 -0700", "2006-01-02", time.RFC1123, time.RFC1123Z}

// time reads RFC 3339, with less of it than it demands, the layouts above, and unix seconds, as number or text. Without a zone
// it is UTC.
func (v value) time() time.Time {
	var room [64]byte
	text := bytes.TrimSpace(v.appendText(room[:0], false))
	if len(bytes.Trim(text, "0123456789.eE+")) == 0 {
		seconds, _ := strconv.ParseFloat(string(text), 64)
		const year10000 = 253402300800
		if !(seconds > 0 && seconds < year10000) {
			return time.Time{}
		}
		whole := int64(seconds)
		return time.Unix(whole, int64((seconds-float64(whole))*1e9)).UTC()
	}
	const day = len("2006-01-02")
	if len(text) > day && text[day] == ' ' && text[0] <= '9' {
		text[day] = 'T'
	}
	if len(text) > day && text[day] == 'T' && len(bytes.Trim(text[day+1:], "0123456789:.")) == 0 {
		text = append(text, 'Z')
	}
	var t time.Time
	if t.UnmarshalText(text) == nil {
		return t
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t
		}
	}
	return time.Time{}
}
