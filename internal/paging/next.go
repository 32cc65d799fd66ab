package paging

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/internal/lenient"
)

// locate sets a page's numbers and what follows it, by the first of these that says anything: links.next, next_page_url, next, the
// Link header, the numbers. The request asked for the page with the number, if it is not 0.
func (s *State) locate(r Response, number int) {
	meta, links := r.Around.Member("meta"), r.Around.Member("links")
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
	if s.number = max(s.Current, number); s.number == 0 {
		s.number = max(asked, 0)
	}
	size := s.size(r)
	if s.last = s.Last; s.last == 0 && s.Total > 0 {
		s.last = (s.Total-1)/size + 1
	}
	for _, next := range []lenient.Value{links.Member("next"), r.Around.Member("next_page_url"), r.Around.Member("next")} {
		if next.IsObject() {
			next = next.Member("href")
		}
		if next.IsString() || next != nil && next.IsNull() {
			s.follow(next.Text())
			return
		}
	}
	if link, found := nextLink(r.Link); found {
		s.follow(link)
		return
	}
	s.followNumbers(r, size)
}

// size is the number of records on a full page.
func (s *State) size(r Response) int {
	if s.PerPage > 0 {
		return s.PerPage
	}
	if asked, _ := strconv.Atoi(r.Query.Get("per_page")); asked > 0 {
		return asked
	}
	return max(s.sizes[0], r.Count)
}

// follow takes a next link; an empty one says that this is the last page. Only its query counts: an application
// behind a proxy is often wrong about its scheme and host.
func (s *State) follow(link string) {
	if link == "" {
		return
	}
	if u, err := url.Parse(link); err == nil {
		if query, err := url.ParseQuery(u.RawQuery); err == nil && len(query) > 0 {
			s.next = query
			return
		}
	}
	s.noNextReason = "the service sent a next link without a query"
}

// followNumbers goes by the numbers of pages and records.
func (s *State) followNumbers(r Response, size int) {
	if s.last > 0 {
		if current := max(s.number, 1); current < s.last {
			s.next = url.Values{pageParam: {strconv.Itoa(current + 1)}}
		}
		return
	}
	// A service may replace a page size that it does not know without saying so.
	replaced := s.PerPage == 0 && !slices.Contains(s.sizes, size) && slices.Contains(s.sizes, r.Count)
	if r.Count >= size || replaced {
		s.noNextReason = fmt.Sprintf("the service sent a full page of %d records and does not say whether more follow", r.Count)
	}
}

// nextLink returns the target of the first link with rel="next" in Link headers (RFC 8288). It takes it that no title holds
// a semicolon or a link.
func nextLink(headers []string) (string, bool) {
	for _, rest := range headers {
		for found := true; found; {
			var target, params string
			_, rest, _ = strings.Cut(rest, "<")
			target, rest, found = strings.Cut(rest, ">")
			params, _, _ = strings.Cut(rest, "<")
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
	}
	return "", false
}
