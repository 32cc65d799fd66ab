package paging

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

// after returns the state after the page f, which follows s or is the first one; moved of its records had come before.
func (s State) after(f Facts, moved int) State {
	n := State{Info: info(f.Around), first: s.first, sizes: s.sizes, cursors: s.cursors, ids: f.IDs}
	asked, _ := pageNumber(f.Query)
	// A service that ignores the number and sends another one must not keep a walk where it is.
	n.number = max(n.Current, asked)
	full := n.fullPage(f)
	// An empty page counts as a full one, so that a wrong total does not keep a walk going.
	came := cmp.Or(f.Count, full)
	n.seen, n.total = s.seen+came-moved, cmp.Or(n.Total, s.total)
	if s.seen == 0 { // a walk may begin in the middle
		n.seen += (n.current() - 1) * cmp.Or(n.PerPage, came)
	}
	header := headerLinks(f.Link)
	n.last = n.lastPage(came, header)

	// The first of these that says anything counts: a next link in the body, one in the header, the numbers, and last
	// the absence of a link where one would be.
	link, found := bodyLink(f.Around)
	if !found {
		link, found = header["next"]
	}
	n.linked = link != ""
	switch {
	case n.linked:
		n.next = query(link)
		if len(n.next) == 0 {
			n.noNext = errors.New("the service sent a next link without a query")
		}
	case found: // a link that is null or empty says that this is the last page
	case n.current() < n.last:
		n.next = url.Values{pageParam: {strconv.Itoa(n.current() + 1)}}
	case n.last == 0 && f.Count >= full && !endsLinks(f.Query, header, s.linked):
		const noWord = "the service sent a full page of %d records and does not say whether more follow"
		n.noNext = fmt.Errorf(noWord, f.Count)
	}
	return n
}

// current is the number of the page, which is the first one if nothing else is known.
func (s State) current() int { return max(s.number, 1) }

// fullPage returns how many records a full page has, as far as can be told.
func (s State) fullPage(f Facts) int {
	asked, _ := strconv.Atoi(f.Query.Get("per_page"))
	full := cmp.Or(s.PerPage, max(asked, 0), s.sizes[0])
	// A service may replace a page size that it does not know without saying so.
	if s.PerPage == 0 && !slices.Contains(s.sizes, full) && slices.Contains(s.sizes, f.Count) {
		return f.Count
	}
	return full
}

// lastPage returns the number of the last page, and 0 if it is not known. A total is held against the records that
// came, not against the size that was asked for: the service may send smaller pages.
func (s State) lastPage(came int, header map[string]string) int {
	if s.Last == 0 && s.total > 0 {
		left := max(s.total-s.seen, 0)
		return s.current() + (left+came-1)/came
	}
	linked, _ := pageNumber(query(header["last"]))
	return cmp.Or(s.Last, max(linked, 0))
}

// info returns the numbers in the JSON around the records. Those in meta go first.
func info(around lenient.Members) Info {
	meta := around.Member("meta")
	count := func(name string) int {
		return cmp.Or(max(meta.Member(name).Int(), 0), max(around.Member(name).Int(), 0))
	}
	return Info{
		Current: count("current_page"),
		Last:    count("last_page"),
		PerPage: count("per_page"),
		Total:   count("total"),
	}
}

// endsLinks reports whether the absence of a next link says that the page that was asked for is the last one: a link
// led to it, or there is one to the page before, and none to another page as the last.
func endsLinks(asked url.Values, header map[string]string, ledHere bool) bool {
	if last, found := header["last"]; found && !asksNothingNew(query(last), asked) {
		return false
	}
	_, found := header["prev"]
	return found || ledHere
}

// query returns the query of a link, empty if it cannot be read. Nothing else of the link counts: an application behind
// a proxy is often wrong about its scheme and host.
func query(link string) url.Values {
	u, err := url.Parse(link)
	if err != nil {
		return nil
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil
	}
	return values
}

// bodyLink returns the next link in the JSON around the records. It is empty for null.
func bodyLink(around lenient.Members) (link string, found bool) {
	places := []lenient.Value{
		around.Member("links").Member("next"),
		around.Member("next_page_url"),
		around.Member("next"),
	}
	for _, next := range places {
		if next.IsObject() {
			next = next.Member("href")
		}
		if next.IsString() || next != "" && next.IsNull() {
			return next.Text(), true
		}
	}
	return "", false
}

// headerLinks returns the targets in Link headers (RFC 8288) by their relations in lower case. Of targets with the same
// relation the first counts. Titles are expected to hold no semicolon and no link.
func headerLinks(header []string) map[string]string {
	targets := map[string]string{}
	_, links, _ := strings.Cut(strings.Join(header, ","), "<")
	for link := range strings.SplitSeq(links, "<") {
		target, params, _ := strings.Cut(link, ">")
		for param := range strings.SplitSeq(params, ";") {
			name, value, _ := strings.Cut(param, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "rel") {
				continue
			}
			for relation := range strings.FieldsSeq(strings.ToLower(strings.Trim(value, "\", \t"))) {
				targets[relation] = cmp.Or(targets[relation], target)
			}
			break // the first rel counts
		}
	}
	return targets
}
