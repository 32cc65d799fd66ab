package aicontent

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The members of an envelope that tell of pages.
const (
	links = iota
	nextPageURL
	nextURL
	meta
	currentPage
	lastPage
	perPage
	total
	told
)

var envelopeNames = [told]string{"links", "next_page_url", "next", "meta", "current_page", "last_page", "per_page", "total"}

// envelope is what the objects around a list's array tell of pages; nil for what they do not.
type envelope [told]value

// findList has the array of a list read, and returns what stands around it: the array may be bare, or under data, the
// collection's name, items or results, and so may an object that has it. An array in the outer object goes before one
// further inside, and the names go in that order.
func findList(c *cursor, collection string, depth int, read func(*cursor)) (envelope, bool) {
	var own, inner envelope
	if c.kind() == '[' {
		read(c)
		return own, true
	}
	if c.kind() != '{' || depth >= wrapped {
		c.skip()
		return own, false
	}
	names := [...]string{"data", collection, "items", "results"}
	best := 2 * len(names)
	for c.enter(); c.more(); {
		key := c.key()
		rank := slices.IndexFunc(names[:], key.is)
		if rank >= 0 && c.kind() != '[' {
			rank += len(names)
		}
		if rank >= 0 && rank <= best {
			if around, found := findList(c, collection, depth+1, read); found {
				best, inner = rank, around
			}
			continue
		}
		member := c.value()
		if i := slices.IndexFunc(envelopeNames[:], key.is); i >= 0 {
			own[i] = member
		}
	}
	// The nearest object has the first say.
	for i, member := range inner {
		if member != nil {
			own[i] = member
		}
	}
	return own, best < 2*len(names)
}

// locate reads the page's numbers and decides what follows: by links.next, next_page_url (or next beside the list), the Link
// header, or the numbers, in that order. The first one that says anything counts.
func (p *Page[T]) locate(around envelope, a *answer) {
	number := func(name int) int {
		if n := around[meta].member(envelopeNames[name]).number(); n > 0 {
			return n
		}
		return max(around[name].number(), 0)
	}
	p.PageInfo = PageInfo{number(currentPage), number(lastPage), number(perPage), number(total)}
	if p.number = p.Current; p.number == 0 {
		p.number, _ = strconv.Atoi(a.params.Get(pageParam))
	}
	for _, next := range []value{around[links].member("next"), around[nextPageURL], around[nextURL]} {
		if next.isObject() {
			next = next.member("href")
		}
		if next.isString() || next != nil && next.isNull() {
			p.follow(next.text())
			return
		}
	}
	if target, found := nextLink(a.header.Values("Link")); found {
		p.follow(target)
		return
	}
	p.countOn(a.params)
}

// follow takes a next link; an empty one says that this is the last page. Behind a proxy an application is often wrong about its own
// scheme and host, so nothing of the link is used but the query.
func (p *Page[T]) follow(link string) {
	if link == "" {
		p.last = true
		return
	}
	if u, err := url.Parse(link); err == nil {
		if query, err := url.ParseQuery(u.RawQuery); err == nil && len(query) > 0 {
			p.next = query
			return
		}
	}
	p.puzzle = "the service sent a next link without a query to go on with"
}

// countOn goes by the numbers, those that the service leaves out being what was asked for.
func (p *Page[T]) countOn(params url.Values) {
	asked, _ := strconv.Atoi(params.Get("per_page"))
	size := p.PerPage
	if size == 0 {
		size = asked
	}
	if size <= 0 {
		size = max(defaultPerPage, p.count)
	}
	last := p.Last
	if last == 0 {
		last = (p.Total + size - 1) / size
	}
	if last > 0 {
		current := max(p.number, 1)
		p.last = current >= last
		p.next = url.Values{pageParam: {strconv.Itoa(current + 1)}}
		return
	}
	// A service replaces a page size that it does not know by its own in silence.
	replaced := p.PerPage == 0 && asked > 0 && !PerPage(asked).Valid() && PerPage(p.count).Valid()
	if p.last = p.count < size && !replaced; p.last {
		return
	}
	p.puzzle = fmt.Sprintf("the service sent a full page of %d records and no word on whether more follow", p.count)
}

// nextLink finds the target with rel="next" in Link headers (RFC 8288).
func nextLink(headers []string) (string, bool) {
	for _, rest := range headers {
		for {
			var target, rel string
			var found bool
			if _, rest, found = strings.Cut(rest, "<"); !found {
				break
			}
			if target, rest, found = strings.Cut(rest, ">"); !found {
				break
			}
			rel, rest = relation(rest)
			if slices.Contains(strings.Fields(strings.ToLower(rel)), "next") {
				return target, true
			}
		}
	}
	return "", false
}

// relation reads the parameters behind a link's target: what the first rel says, and what follows them.
func relation(rest string) (rel, behind string) {
	rest = strings.TrimSpace(rest)
	for strings.HasPrefix(rest, ";") {
		var name, text string
		name, rest = until(rest[1:], "=;,")
		if strings.HasPrefix(rest, "=") {
			text, rest = parameter(strings.TrimSpace(rest[1:]))
		}
		if rel == "" && strings.EqualFold(name, "rel") {
			rel = text
		}
	}
	return rel, rest
}

// parameter reads a parameter's text, quoted or not, and gives what follows it.
func parameter(rest string) (text, behind string) {
	if !strings.HasPrefix(rest, `"`) {
		return until(rest, ";,")
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			_, behind = until(rest[i+1:], ";,")
			return rest[1:i], behind
		}
	}
	return "", ""
}

func until(text, stops string) (before, from string) {
	i := strings.IndexAny(text, stops)
	if i < 0 {
		i = len(text)
	}
	return strings.TrimSpace(text[:i]), text[i:]
}
