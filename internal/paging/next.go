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

// after returns the state after r: the page that follows s, or the first one, with the number of its records that were
// on the page before. What follows r is told by the first of these that says anything: a next link in the body, one in
// the Link header, the numbers, and last the absence of a link where one would be.
func (s State) after(r Facts, moved int) State {
	n := State{Info: info(r.Around), first: s.first, sizes: s.sizes, cursors: s.cursors, ids: r.IDs}
	size, header := n.pageSize(r), headerLinks(r.Link)
	n.locate(s, r, cmp.Or(r.Count, size), moved)
	if n.last == 0 {
		number, _ := pageNumber(query(header["last"]))
		n.last = max(number, 0)
	}
	link, found := bodyLink(r.Around)
	if !found {
		link, found = header["next"]
	}
	n.linked = link != ""
	switch current := max(n.number, 1); {
	case n.linked:
		n.next = query(link)
		if len(n.next) == 0 {
			n.noNext = errors.New("the service sent a next link without a query")
		}
	case found: // an empty link says that this is the last page
	case current < n.last:
		n.next = url.Values{pageParam: {strconv.Itoa(current + 1)}}
	case n.last == 0 && r.Count >= size && !endsLinks(header, r.Query, s.linked):
		const noWord = "the service sent a full page of %d records and does not say whether more follow"
		n.noNext = fmt.Errorf(noWord, r.Count)
	}
	return n
}

// pageSize returns how many records a full page has, as far as can be told.
func (s State) pageSize(r Facts) int {
	asked, _ := strconv.Atoi(r.Query.Get("per_page"))
	size := cmp.Or(s.PerPage, max(asked, 0), s.sizes[0])
	// A service may replace a page size that it does not know without saying so.
	if s.PerPage == 0 && !slices.Contains(s.sizes, size) && slices.Contains(s.sizes, r.Count) {
		return r.Count
	}
	return size
}

// locate sets the numbers of the page r, which follows s. Came is how many records it holds, or would hold if it were
// not empty, so that a wrong total does not keep a walk going; moved of them had come before.
func (n *State) locate(s State, r Facts, came, moved int) {
	asked, _ := pageNumber(r.Query)
	// A service that ignores the number and sends another one must not keep a walk where it is.
	n.number = max(n.Current, asked)
	current := max(n.number, 1)
	n.seen = s.seen + came - moved
	if s.seen == 0 { // a walk may begin in the middle
		n.seen += (current - 1) * cmp.Or(n.PerPage, came)
	}
	n.last, n.total = n.Last, cmp.Or(n.Total, s.total)
	if n.last == 0 && n.total > 0 {
		// Not by the size that was asked for: the service may send smaller pages.
		left := max(n.total-n.seen, 0)
		n.last = current + (left+came-1)/came
	}
}

// info returns the numbers in the JSON around the records. Those in meta go first.
func info(around lenient.Value) Info {
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

// endsLinks reports whether the absence of a next link says that a page is the last one: it has a link to the page
// before, or a link led to it, and there is no link to another page as the last.
func endsLinks(header map[string]string, asked url.Values, ledHere bool) bool {
	if last, found := header["last"]; found {
		target := query(last)
		if len(target) == 0 || !asksNothingNew(target, asked) {
			return false
		}
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
func bodyLink(around lenient.Value) (link string, found bool) {
	places := []lenient.Value{
		around.Member("links").Member("next"),
		around.Member("next_page_url"),
		around.Member("next"),
	}
	for _, next := range places {
		if next.IsObject() {
			next = next.Member("href")
		}
		if next.IsString() || next != nil && next.IsNull() {
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
