package service

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// A Query is what a list request asks for, with the defaults filled in.
type Query struct {
	PerPage, Page int

	search, searchBy string
	equal            map[string]string // resolution, style, medium, filter
	favorite         *bool
	byName, asc      bool
	cursor           *Cursor
}

// A Cursor is the position between two records at which a page begins or, pointing backward, ends.
type Cursor struct {
	Seq     int    `json:"id"`
	Name    string `json:"name,omitempty"`
	Forward bool   `json:"_pointsToNextItems"`
}

func (c Cursor) String() string {
	b, _ := json.Marshal(c) // never fails for these types
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(s string) *Cursor {
	b, err := base64.RawURLEncoding.DecodeString(s)
	c := new(Cursor)
	if err != nil || json.Unmarshal(b, c) != nil {
		return nil
	}
	return c
}

// newQuery reads values that were checked before. Unknown values of search_by, sort_by, sort and per_page
// are replaced by the default, as deployments do.
func (c *Collection) newQuery(values url.Values, allowed map[string]bool) Query {
	given := func(name string) string {
		v, _ := last(values, name)
		f, _ := contract.Find(c.List, name)
		if settles := name == "search_by" || name == "sort_by" || name == "sort" || name == "per_page"; settles &&
			!allowed[name] && !slices.Contains(f.Values, v) {
			return ""
		}
		return v
	}
	q := Query{
		search:   strings.ToLower(given("search")),
		searchBy: cmp.Or(given("search_by"), "name"),
		equal:    make(map[string]string),
		byName:   given("sort_by") == "name",
		asc:      given("sort") == "asc",
		PerPage:  c.PerPage,
		Page:     1,
		cursor:   parseCursor(given("cursor")),
	}
	for _, name := range []string{"resolution", "style", "medium", "filter"} {
		if v := given(name); v != "" {
			q.equal[name] = v
		}
	}
	if n, err := strconv.Atoi(given("per_page")); err == nil && n > 0 {
		q.PerPage = n
	}
	if n, err := strconv.Atoi(given("page")); err == nil && n > 0 {
		q.Page = n
	}
	return q
}

func (q *Query) matches(r *Record) bool {
	if q.favorite != nil && r.Favorite != *q.favorite {
		return false
	}
	for name, want := range q.equal {
		if *r.Value(name) != want {
			return false
		}
	}
	if q.search == "" {
		return true
	}
	if q.searchBy == "name" {
		return strings.Contains(r.folded, q.search)
	}
	value := r.Value(q.searchBy)
	return value != nil && strings.Contains(strings.ToLower(*value), q.search)
}

// A Page is one page of a list. First is the index of its first record among the Total.
type Page struct {
	Records      []*Record
	First, Total int
	Query        Query
}

// compare orders records as the query sorts them, ascending.
func (q *Query) compare(r *Record, folded string, seq int) int {
	if q.byName {
		return cmp.Or(cmp.Compare(r.folded, folded), cmp.Compare(r.Seq, seq))
	}
	return cmp.Compare(r.Seq, seq)
}

// page returns the page that the query asks for. A page number past the end gives an empty
// page, as Laravel does.
func (c *Collection) page(q Query) *Page {
	c.mu.RLock()
	defer c.mu.RUnlock()
	rows := c.rows
	if q.search != "" || q.favorite != nil || len(q.equal) > 0 {
		rows = nil
		for _, r := range c.rows {
			if q.matches(r) {
				rows = append(rows, r)
			}
		}
	}
	if q.byName {
		rows = slices.SortedFunc(slices.Values(rows), func(a, b *Record) int {
			return q.compare(a, b.folded, b.Seq)
		})
	}
	n := len(rows)
	at := func(i int) *Record {
		if q.asc {
			return rows[i]
		}
		return rows[n-1-i]
	}
	first := min(min(q.Page-1, n)*q.PerPage, n)
	end := min(first+q.PerPage, n)
	if cur := q.cursor; cur != nil {
		// The first record after the cursor, or at it if it points backward.
		first = sort.Search(n, func(i int) bool {
			order := q.compare(at(i), cur.Name, cur.Seq)
			if !q.asc {
				order = -order
			}
			return order > 0 || order == 0 && !cur.Forward
		})
		end = min(first+q.PerPage, n)
		if !cur.Forward {
			first, end = max(0, first-q.PerPage), first
		}
	}
	p := &Page{First: first, Total: n, Query: q}
	for i := first; i < end; i++ {
		p.Records = append(p.Records, at(i))
	}
	return p
}

// HasNext reports whether records follow.
func (p *Page) HasNext() bool { return p.First+len(p.Records) < p.Total }

// Last is the number of the last page.
func (p *Page) Last() int { return max(1, (p.Total+p.Query.PerPage-1)/p.Query.PerPage) }

// Next is the cursor of the page that follows; nil where there is none.
func (p *Page) Next() *Cursor {
	if !p.HasNext() || len(p.Records) == 0 {
		return nil
	}
	return p.Query.cursorAt(p.Records[len(p.Records)-1], true)
}

// Previous is the cursor of the page before; nil where there is none.
func (p *Page) Previous() *Cursor {
	if p.First == 0 || len(p.Records) == 0 {
		return nil
	}
	return p.Query.cursorAt(p.Records[0], false)
}

func (q *Query) cursorAt(r *Record, forward bool) *Cursor {
	cur := &Cursor{Seq: r.Seq, Forward: forward}
	if q.byName {
		cur.Name = r.folded
	}
	return cur
}
