package response

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// A linker writes the URLs of the pages of a list.
type linker struct {
	home  string
	query url.Values
}

func (w Writer) linker(c *service.Collection, query url.Values) linker {
	l := linker{home: w.origin() + w.BasePath + service.APIPath + "/" + c.Name, query: url.Values{}}
	if !w.Style.Filterless {
		l.query = maps.Clone(query)
	}
	l.query.Del("page")
	l.query.Del("cursor")
	return l
}

// to returns the URL with one more parameter: a page number or a cursor.
func (l linker) to(name, value string) string {
	l.query.Set(name, value)
	defer l.query.Del(name)
	return l.home + "?" + l.query.Encode()
}

func (l linker) number(n int) string { return l.to("page", strconv.Itoa(n)) }

// neighbors are the links of a page and its cursors; nil where there is none.
type neighbors struct{ first, last, prev, next, prevCursor, nextCursor any }

func (w Writer) neighbors(p *service.Page, l linker) neighbors {
	var n neighbors
	if w.Style.Paging == ByCursor {
		if c := p.Next(); c != nil {
			n.next, n.nextCursor = l.to("cursor", c.String()), c.String()
		}
		if c := p.Previous(); c != nil {
			n.prev, n.prevCursor = l.to("cursor", c.String()), c.String()
		}
		return n
	}
	n.first = l.number(1)
	if p.Query.Page > 1 {
		n.prev = l.number(p.Query.Page - 1)
	}
	if p.HasNext() {
		n.next = l.number(p.Query.Page + 1)
	}
	if w.Style.Paging == Counted {
		n.last = l.number(p.Last())
	}
	return n
}

// list writes a page; query is that of its request.
func (w Writer) list(c *service.Collection, p *service.Page, query url.Values) Response {
	link := w.linker(c, query)
	n := w.neighbors(p, link)
	r := w.json(http.StatusOK, w.envelope(c, p, n, link))
	if next, ok := n.next.(string); ok && w.Style.LinkHeader {
		r.Header.Set("Link", "<"+next+`>; rel="next"`)
	}
	return r
}

func (w Writer) envelope(c *service.Collection, p *service.Page, n neighbors, link linker) any {
	records := w.records(c, p)
	switch {
	case w.Style.HasMore:
		return object{{"data", records}, {"has_more", p.HasNext()}}
	case w.Style.Flat:
		flat := object{{"data", records}, {"prev_page_url", n.prev}, {"next_page_url", n.next}}
		if w.Style.Paging != ByCursor {
			flat = append(flat, member{"first_page_url", n.first})
		}
		if w.Style.Paging == Counted {
			flat = append(flat, member{"last_page_url", n.last})
		}
		return append(flat, w.pageMembers(p, n, link)...)
	case w.Style.BareLists:
		return records
	}
	return object{
		{"data", records},
		{"links", object{{"first", n.first}, {"last", n.last}, {"prev", n.prev}, {"next", n.next}}},
		{"meta", w.pageMembers(p, n, link)},
		{"status", http.StatusOK},
	}
}

// records are those of a page.
func (w Writer) records(c *service.Collection, p *service.Page) []any {
	list := make([]any, len(p.Records))
	for i, r := range p.Records {
		list[i] = w.members(c, r)
	}
	return list
}

// pageMembers are the members of meta, or at the top level of a plain paginator.
func (w Writer) pageMembers(p *service.Page, n neighbors, link linker) object {
	var perPage any = p.Query.PerPage
	if p.Query.SizeGiven { // Laravel repeats it as it came
		perPage = strconv.Itoa(p.Query.PerPage)
	}
	o := object{{"path", link.home}, {"per_page", perPage}}
	if w.Style.Paging == ByCursor {
		return append(o, member{"prev_cursor", n.prevCursor}, member{"next_cursor", n.nextCursor})
	}
	var from, to any
	if len(p.Records) > 0 {
		from, to = p.First+1, p.First+len(p.Records)
	}
	o = append(o, member{"current_page", p.Query.Page}, member{"from", from}, member{"to", to})
	if w.Style.Paging == Counted {
		o = append(o, member{"last_page", p.Last()}, member{"total", p.Total},
			member{"links", pageMenu(p, n, link)})
	}
	return o
}

// pageMenu is the row of links that Laravel makes for the foot of a page.
func pageMenu(p *service.Page, n neighbors, link linker) []any {
	item := func(url any, label string, active bool) any {
		return object{{"url", url}, {"label", label}, {"active", active}}
	}
	menu := []any{item(n.prev, "&laquo; Previous", false)}
	last := 0
	for _, i := range menuPages(p.Query.Page, p.Last()) {
		if i > last+1 {
			menu = append(menu, item(nil, "...", false))
		}
		menu = append(menu, item(link.number(i), strconv.Itoa(i), i == p.Query.Page))
		last = i
	}
	return append(menu, item(n.next, "Next &raquo;", false))
}

// menuPages are the pages that the menu names: all of up to 13, else the first two, the last two, and those
// around the current one.
func menuPages(current, last int) []int {
	const (
		all    = 13
		beside = 3
		window = beside + 4
		edge   = window + beside // pages at an end near the current one
	)
	from, to := current-beside, current+beside
	switch {
	case last <= all:
		from, to = 1, last
	case current <= window:
		from, to = 1, edge
	case current > last-window:
		from, to = last-edge+1, last
	}
	var pages []int
	for i := 1; i <= last; i++ {
		if i <= 2 || i > last-2 || from <= i && i <= to {
			pages = append(pages, i)
		}
	}
	return pages
}
