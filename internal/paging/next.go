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

// locate sets a page's numbers and what follows it, by the first of these that says anything: a next link in the
// body, one in the Link header, the numbers, and last the absence of a link where one would be. ledHere says that a
// link led to the page.
func (s *State) locate(r Response, ledHere bool) {
	s.Info = info(r.Around)
	s.ids = r.IDs
	asked, _ := pageNumber(r.Query)
	// A service that ignores the number and sends another one must not keep a walk where it is.
	s.number = max(s.Current, asked)
	size := s.size(r)
	header := headerLinks(r.Link)
	s.last = lastPage(s.Info, size, header)
	link, found := bodyLink(r.Around)
	if !found {
		link, found = header["next"]
	}
	s.linked = link != ""
	switch current := max(s.number, 1); {
	case s.linked:
		s.next = query(link)
		if len(s.next) == 0 {
			s.noNext = errors.New("the service sent a next link without a query")
		}
	case found: // an empty link says that this is the last page
	case current < s.last:
		s.next = url.Values{pageParam: {strconv.Itoa(current + 1)}}
	case s.last == 0 && r.Count >= size && !endsLinks(header, r.Query, ledHere):
		const noWord = "the service sent a full page of %d records and does not say whether more follow"
		s.noNext = fmt.Errorf(noWord, r.Count)
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

// size returns how many records a full page has. A service may replace a page size that it does not know without
// saying so.
func (s *State) size(r Response) int {
	asked, _ := strconv.Atoi(r.Query.Get("per_page"))
	size := cmp.Or(s.PerPage, max(asked, 0), max(s.sizes[0], r.Count))
	if s.PerPage == 0 && !slices.Contains(s.sizes, size) && slices.Contains(s.sizes, r.Count) {
		return r.Count
	}
	return size
}

// lastPage returns the number of the last page, 0 if it is unknown.
func lastPage(i Info, size int, header map[string]string) int {
	switch {
	case i.Last > 0:
		return i.Last
	case i.Total > 0:
		return (i.Total-1)/size + 1
	}
	number, _ := pageNumber(query(header["last"]))
	return max(number, 0)
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
				if _, known := targets[relation]; !known {
					targets[relation] = target
				}
			}
			break // the first rel counts
		}
	}
	return targets
}
