package paging

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

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
	last := n.lastPage(came)

	// The first of these that says anything counts: a next link, the numbers, and last the absence of a link where the
	// page before had one.
	link, found := nextLink(f.Around)
	n.linked = link != ""
	switch {
	case n.linked:
		n.next = query(link)
		if len(n.next) == 0 {
			n.noNext = errors.New("the service sent a next link without a query")
		}
	case found: // a link that is null or empty says that this is the last page
	case n.current() < last:
		n.next = url.Values{pageParam: {strconv.Itoa(n.current() + 1)}}
	case last == 0 && f.Count >= full && !s.linked:
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
func (s State) lastPage(came int) int {
	if s.Last == 0 && s.total > 0 {
		left := max(s.total-s.seen, 0)
		return s.current() + (left+came-1)/came
	}
	return s.Last
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

// nextLink returns the next link in the JSON around the records. It is empty for null.
func nextLink(around lenient.Members) (link string, found bool) {
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
