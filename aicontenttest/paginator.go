package aicontenttest

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// A linker writes the addresses of pages as the application believes itself to be addressed.
type linker struct {
	home  string
	query url.Values
}

func (s *Server) linker(c *collection, query url.Values) linker {
	origin, path := s.origin, s.basePath+apiPath+"/"+c.name
	if s.shape.foreign {
		origin = "https://app.internal.example"
	}
	if s.shape.plainHTTP {
		origin = "http" + strings.TrimPrefix(strings.TrimPrefix(origin, "https"), "http")
	}
	l := linker{home: origin + path, query: url.Values{}}
	if !s.shape.filterless {
		l.query = maps.Clone(query)
	}
	l.query.Del("page")
	l.query.Del("cursor")
	return l
}

// to addresses the page by one more parameter, a number or a cursor.
func (l linker) to(name, value string) string {
	l.query.Set(name, value)
	defer l.query.Del(name)
	return l.home + "?" + l.query.Encode()
}

func (l linker) number(n int) string { return l.to("page", strconv.Itoa(n)) }

// neighbours are the links of a page, and its cursors; nil where there is none.
type neighbours struct{ first, last, prev, next, prevCursor, nextCursor any }

func (s *Server) neighbours(p page, l linker) neighbours {
	var n neighbours
	if s.shape.counting == byCursor {
		if p.hasNext() && len(p.records) > 0 {
			after := p.query.cursorAt(p.records[len(p.records)-1], true).String()
			n.next, n.nextCursor = l.to("cursor", after), after
		}
		if p.first > 0 && len(p.records) > 0 {
			before := p.query.cursorAt(p.records[0], false).String()
			n.prev, n.prevCursor = l.to("cursor", before), before
		}
		return n
	}
	n.first = l.number(1)
	if p.query.page > 1 {
		n.prev = l.number(p.query.page - 1)
	}
	if p.hasNext() {
		n.next = l.number(p.query.page + 1)
	}
	if s.shape.counting == counted {
		n.last = l.number(p.lastPage())
	}
	return n
}

// listBody is the answer to list; header takes the next link where the personality wants that.
func (s *Server) listBody(c *collection, p page, query url.Values, header http.Header) any {
	records := make([]any, len(p.records))
	for i, r := range p.records {
		records[i] = s.recordMembers(c, r)
	}
	link := s.linker(c, query)
	n := s.neighbours(p, link)
	if next, ok := n.next.(string); ok && s.shape.linkHeader {
		header.Set("Link", "<"+next+`>; rel="next"`)
	}
	switch {
	case s.shape.flat:
		flat := object{{"data", records}, {"prev_page_url", n.prev}, {"next_page_url", n.next}}
		if s.shape.counting != byCursor {
			flat = append(flat, member{"first_page_url", n.first})
		}
		if s.shape.counting == counted {
			flat = append(flat, member{"last_page_url", n.last})
		}
		return append(flat, s.pageMembers(p, n, link)...)
	case s.shape.bare:
		return records
	}
	return object{
		{"data", records},
		{"links", object{{"first", n.first}, {"last", n.last}, {"prev", n.prev}, {"next", n.next}}},
		{"meta", s.pageMembers(p, n, link)},
	}
}

// pageMembers are those that stand under meta, or at the top level of a plain paginator.
func (s *Server) pageMembers(p page, n neighbours, link linker) object {
	o := object{{"path", link.home}, {"per_page", p.query.perPage}}
	if s.shape.counting == byCursor {
		return append(o, member{"prev_cursor", n.prevCursor}, member{"next_cursor", n.nextCursor})
	}
	var from, to any
	if len(p.records) > 0 {
		from, to = p.first+1, p.first+len(p.records)
	}
	o = append(o, member{"current_page", p.query.page}, member{"from", from}, member{"to", to})
	if s.shape.counting == counted {
		o = append(o, member{"last_page", p.lastPage()}, member{"total", p.total},
			member{"links", pageMenu(p, n, link)})
	}
	return o
}

// pageMenu is the row of links that Laravel makes for the foot of a page, cut to the nearest five.
func pageMenu(p page, n neighbours, link linker) []any {
	item := func(url any, label string, active bool) any {
		return object{{"url", url}, {"label", label}, {"active", active}}
	}
	menu := []any{item(n.prev, "&laquo; Previous", false)}
	for i := max(1, p.query.page-2); i <= min(p.query.page+2, p.lastPage()); i++ {
		menu = append(menu, item(link.number(i), strconv.Itoa(i), i == p.query.page))
	}
	return append(menu, item(n.next, "Next &raquo;", false))
}
