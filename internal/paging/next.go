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

// locate sets a page's numbers and what follows it, by the first of these that says anything: links.next, next_page_url, next, the
// Link header, the numbers. The link that led to the page had the number, if it is not 0.
func (s *State) locate(r Response, number int) {
	meta := r.Around.Member("meta")
	count := func(name string) int {
		if n := meta.Member(name).Int(); n > 0 {
			return n
		}
		return max(r.Around.Member(name).Int(), 0)
	}
	s.Info = Info{count("current_page"), count("last_page"), count("per_page"), count("total")}
	s.ids = r.IDs
	asked, _ := pageNumber(r.Query)
	// A service that ignores the number and sends another one must not keep a walk where it is.
	s.number = cmp.Or(max(s.Current, number), max(asked, 0))
	wanted, _ := strconv.Atoi(r.Query.Get("per_page"))
	size := cmp.Or(s.PerPage, max(wanted, 0), max(s.sizes[0], r.Count))
	if s.last = s.Last; s.last == 0 && s.Total > 0 {
		s.last = (s.Total-1)/size + 1
	}
	// A service may replace a page size that it does not know without saying so.
	replaced := s.PerPage == 0 && !slices.Contains(s.sizes, size) && slices.Contains(s.sizes, r.Count)
	link, found := nextLink(r)
	switch current := max(s.number, 1); {
	case found:
		// Only the query counts: an application behind a proxy is often wrong about its scheme and host.
		u, err := url.Parse(link)
		if err == nil {
			s.next, err = url.ParseQuery(u.RawQuery)
		}
		if link != "" && (err != nil || len(s.next) == 0) {
			s.noNext = errors.New("the service sent a next link without a query")
		}
	case current < s.last:
		s.next = url.Values{pageParam: {strconv.Itoa(current + 1)}}
	case s.last == 0 && (r.Count >= size || replaced):
		s.noNext = fmt.Errorf("the service sent a full page of %d records and does not say whether more follow", r.Count)
	}
}

// nextLink returns the next link of the body or else of the Link headers (RFC 8288). An empty one says that this is the last page. Titles
// in a header are expected to hold no semicolon and no link.
func nextLink(r Response) (link string, found bool) {
	for _, next := range []lenient.Value{r.Around.Member("links").Member("next"), r.Around.Member("next_page_url"), r.Around.Member("next")} {
		if next.IsObject() {
			next = next.Member("href")
		}
		if next.IsString() || next != nil && next.IsNull() {
			return next.Text(), true
		}
	}
	_, links, _ := strings.Cut(strings.Join(r.Link, ","), "<")
	for header := range strings.SplitSeq(links, "<") {
		target, params, _ := strings.Cut(header, ">")
		for param := range strings.SplitSeq(params, ";") {
			name, value, _ := strings.Cut(param, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "rel") {
				continue
			}
			if slices.Contains(strings.Fields(strings.ToLower(strings.Trim(value, "\", \t"))), "next") {
				return target, true
			}
			break // the first rel counts
		}
	}
	return "", false
}
