package paging

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// after returns the state after page f, which follows s or is the first page. Moved is the number of its records that
// were already on the page before. Least is the page's number if neither the request nor the response has one.
func (s State) after(f Facts, moved, least int) State {
	h := f.hints()
	n := State{Info: h.Info, first: s.first, sizes: s.sizes, cursors: s.cursors, ids: f.IDs}
	asked, _ := pageNumber(f.Query)
	// A service that ignores the requested number must not hold the walk at one page.
	n.number = cmp.Or(max(n.Current, asked), least)
	n.fromZero = h.fromZero && n.number == 0
	n.seen, n.total = s.seen+f.Count-moved, cmp.Or(n.Total, s.total)
	if s.seen == 0 { // because a walk may begin in the middle
		n.seen += max(n.current()-1, 0) * cmp.Or(n.PerPage, f.Count)
	}
	// An empty page ends a list in spite of a total, because services count without the filter.
	counted := f.Count > 0 && (n.Last > n.current() || n.total > n.seen)

	// A link or cursor goes before a number. A null link ends the list.
	n.next = h.next
	n.linked = len(n.next) > 0
	full := n.fullPage(f)
	switch {
	case n.linked, h.ends:
	case h.number > n.current():
		n.next = url.Values{pageParam: {strconv.Itoa(h.number)}}
	case h.more || counted:
		n.next = url.Values{pageParam: {strconv.Itoa(n.current() + 1)}}
	case h.unreadable != nil:
		n.noNext = h.unreadable
	case !h.told && n.total == 0 && f.Count >= full && !s.linked:
		const noWord = "the service sent a full page of %d records and does not say whether more follow"
		n.noNext = fmt.Errorf(noWord, f.Count)
	}
	return n
}

// current returns the number of the page, or 1 if unknown.
func (s State) current() int {
	if s.fromZero {
		return 0
	}
	return max(s.number, 1)
}

// fullPage returns the number of records on a full page, as far as known.
func (s State) fullPage(f Facts) int {
	asked, _ := strconv.Atoi(f.Query.Get("per_page"))
	full := cmp.Or(s.PerPage, max(asked, 0), s.sizes[0])
	// A service may silently replace a page size.
	if s.PerPage == 0 && !slices.Contains(s.sizes, full) && slices.Contains(s.sizes, f.Count) {
		return f.Count
	}
	return full
}
