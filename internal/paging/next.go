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
	if s.last = s.Last; s.last == 0 {
		s.last = (s.Total + size - 1) / size
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

// nextLink returns the target of the first link with rel="next" in Link headers (RFC 8288).
func nextLink(headers []string) (string, bool) {
	for _, rest := range headers {
		for {
			_, after, _ := strings.Cut(rest, "<")
			target, params, found := strings.Cut(after, ">")
			if !found {
				break
			}
			var rel string
			if rel, rest = relation(params); slices.Contains(strings.Fields(strings.ToLower(rel)), "next") {
				return target, true
			}
		}
	}
	return "", false
}

// relation returns the first rel among the parameters of a link, and what follows the comma after them.
func relation(params string) (rel, rest string) {
	for more := true; more; {
		var param string
		param, params, more = cutParam(params)
		name, value, _ := strings.Cut(param, "=")
		if rel == "" && strings.EqualFold(strings.TrimSpace(name), "rel") {
			rel = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return rel, params
}

// cutParam cuts a link's parameters after the first one, and reports whether it has more. Separators in
// quotes do not count.
func cutParam(params string) (param, rest string, more bool) {
	quoted := false
	for i := 0; i < len(params); i++ {
		switch c := params[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ';' || c == ','):
			return params[:i], params[i+1:], c == ';'
		}
	}
	return params, "", false
}
