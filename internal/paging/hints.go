package paging

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

// The names of the members with hints of further pages. Case and underscores do not count.
var (
	flagNames  = []string{"hasmore", "hasnext", "hasnextpage"}
	linkNames  = []string{"nextpageurl", "next", "nexturl", "nextlink"}
	lastNames  = []string{"lastpage", "pages", "totalpages", "pagecount"}
	totalNames = []string{"total", "totalcount", "counttotal"}

	// cursors are the members with a cursor, and the query parameter for each.
	cursors = []struct{ name, param string }{
		{"nextcursor", "cursor"}, {"nextpagetoken", "page_token"}, {"nexttoken", "next_token"},
	}
	// totalHeaders hold the number of records on all pages.
	totalHeaders = []string{"X-Total", "X-Total-Count"}
)

// hints are the hints of further pages in a response.
type hints struct {
	Info
	next       url.Values // query of a next link or cursor; empty for none
	unreadable error      // why the query of a next link cannot be used; nil for none
	ends       bool       // a next link is null
	number     int        // of the next page; 0 if missing
	fromZero   bool       // the response has 0 as the number of this page
	more       bool       // a flag reports further pages
	told       bool       // the response tells whether further pages follow
}

// hints reads the JSON around the records and the header. A link goes before a cursor, and both go before a Link
// header. Among several numbers of the last page, or of all records, the largest one counts, so that no page is missed.
func (f Facts) hints() (h hints) {
	places := f.places()
	for _, place := range places {
		for _, links := range slices.Backward(place.Objects("links")) {
			h.link(links.Find("next"), true)
		}
		for _, name := range linkNames {
			h.link(place.Find(name), true)
		}
		h.link(place.Find("nextpage"), false)
	}
	for _, place := range places {
		for _, c := range cursors {
			h.cursor(c.param, place.Find(c.name))
		}
		for _, name := range flagNames {
			flag := place.Find(name)
			h.more, h.told = h.more || flag.Bool(), h.told || flag.Bool() || saysNo(flag)
		}
		h.Current = largest(h.Current, place, "currentpage")
		h.fromZero = h.fromZero || place.Find("currentpage").Text() == "0"
		h.PerPage = largest(h.PerPage, place, "perpage")
		h.Last = largest(h.Last, place, lastNames...)
		h.Total = largest(h.Total, place, totalNames...)
	}
	for _, name := range totalHeaders {
		total, _ := strconv.Atoi(f.Header.Get(name))
		h.Total = max(h.Total, total)
	}
	if link := linkHeader(f.Header); link != "" {
		h.follow(link)
	}
	h.told = h.told || h.Last > 0
	return h
}

// places returns the members around the records, those in meta, and those in pagination inside either.
func (f Facts) places() []lenient.Members {
	list := append(make([]lenient.Members, 0, 4), f.Around)
	list = append(list, f.Around.Objects("meta")...)
	for _, outer := range list {
		list = append(list, outer.Objects("pagination")...)
	}
	return list
}

// NoRecords reports whether the response has a total, and every total is 0.
func (f Facts) NoRecords() bool {
	var told []string
	for _, place := range f.places() {
		for _, name := range totalNames {
			told = append(told, place.Find(name).Text())
		}
	}
	for _, name := range totalHeaders {
		told = append(told, f.Header.Get(name))
	}
	told = slices.DeleteFunc(told, func(total string) bool { return total == "" })
	return len(told) > 0 && !slices.ContainsFunc(told, func(total string) bool { return total != "0" })
}

// link reads a next link: a text, an object with the text as href, or the number of a page. If the member may hold
// links alone, null ends the list.
func (h *hints) link(v lenient.Value, alone bool) {
	if v.IsObject() {
		v = v.Member("href")
	}
	text := v.Text()
	switch number := v.Int(); {
	case v == "":
	case number > 0:
		h.number, h.told = max(h.number, number), true
	case v.IsNull(), v == `""`:
		h.told = true
		h.ends = h.ends || alone
	case number < 0, saysNo(v):
		h.told = true
	case v.IsString():
		h.follow(text)
	case text == "true":
		h.more = true
	}
}

// saysNo reports whether a value stands for no. A value that is neither yes nor no tells nothing.
func saysNo(v lenient.Value) bool {
	return v == `""` || slices.Contains([]string{"0", "false"}, strings.ToLower(v.Text()))
}

// cursor reads the cursor of the next page.
func (h *hints) cursor(param string, v lenient.Value) {
	text := v.Text()
	switch {
	case v == "", v.IsObject(), v.IsArray():
	case v.IsNull(), saysNo(v):
		h.told = true
	case len(h.next) == 0:
		h.next = url.Values{param: {strings.Clone(text)}}
	}
}

// follow sets next to the query of a link, unless it is set already.
func (h *hints) follow(link string) {
	query, err := queryOf(strings.Clone(link))
	h.unreadable = cmp.Or(h.unreadable, err)
	if len(h.next) == 0 {
		h.next = query
	}
}

// largest returns the largest of a number and the numbers in the named members.
func largest(number int, place lenient.Members, names ...string) int {
	for _, name := range names {
		number = max(number, place.Find(name).Int())
	}
	return number
}

// queryOf returns the query of a link, or nil if it is malformed. It ignores the rest of the link, because an
// application behind a proxy may not know its own scheme and host.
func queryOf(link string) (url.Values, error) {
	u, err := url.Parse(link)
	if err != nil {
		err = errors.Unwrap(err) // without the link in its text
		return nil, fmt.Errorf("the service sent a next link that is no URL: %w", err)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the service sent a next link with an invalid query: %w", err)
	}
	if len(values) == 0 {
		return nil, errors.New("the service sent a next link without a query")
	}
	return values, nil
}

// nextLink matches a link of a Link header if next is one of its relations. The first group is its target.
var nextLink = regexp.MustCompile(`(?i)<([^<>]*)>([^<]*[;,])?\s*rel\s*=\s*"?([^";,<]*\s)?next([\s";,]|$)`)

// linkHeader returns the target of the first next link in a Link header, or "".
func linkHeader(header http.Header) string {
	for _, links := range header.Values("Link") {
		if next := nextLink.FindStringSubmatch(links); next != nil {
			return next[1]
		}
	}
	return ""
}
