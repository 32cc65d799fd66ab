package service

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// A Query is the query of a list request, with the defaults.
type Query struct {
	Page, PerPage int
	SizeGiven     bool // PerPage is not the default

	search      *regexp.Regexp // nil for none
	searchBy    string
	equal       map[string]string // resolution, style, medium, filter
	favorite    *bool
	byName, asc bool
	cursor      *Cursor
}

// A Cursor is the record after which a page begins or, pointing backward, before which it ends. Like Laravel's, it
// holds the columns of the order alone: by name, it skips records with the same name.
type Cursor struct {
	Seq     int    `json:"id,omitempty"`
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

// query reads the query of a list, which was checked before. Unknown values of search_by, sort_by, sort and
// per_page are replaced by the default, as deployments do.
func (r *reader) query() Query {
	c := r.Route.Collection
	given := func(name string) string {
		f, documented := contract.Find(c.List, name)
		v, _ := last(r.Query, name)
		switch name {
		case "search_by", "sort_by", "sort", "per_page":
			if !r.config.Allowed[name] && !slices.Contains(f.Values, v) {
				return ""
			}
		}
		if !documented || f.Ignored {
			return ""
		}
		return v
	}
	q := Query{
		Page: 1, PerPage: c.PerPage,
		searchBy: cmp.Or(given("search_by"), "name"),
		equal:    make(map[string]string),
		byName:   given("sort_by") == "name",
		asc:      given("sort") == "asc",
	}
	if v := given("search"); v != "" {
		q.search = like(v)
	}
	if b, ok := r.boolean(given("favorite")); ok {
		q.favorite = &b
	}
	for _, name := range []string{"resolution", "style", "medium", "filter"} {
		if v := given(name); v != "" {
			q.equal[name] = v
		}
	}
	if n, ok := positive(given("per_page")); ok {
		q.PerPage, q.SizeGiven = n, true
	}
	if r.config.Cursors {
		q.cursor = parseCursor(given("cursor"))
	} else if n, ok := positive(given("page")); ok {
		q.Page = n
	}
	return q
}

// positive reads a number from 1 as PHP's integer filter does: without leading zeros.
func positive(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	digits := strings.Trim(s, "0123456789") == ""
	return n, n > 0 && (err == nil || errors.Is(err, strconv.ErrRange)) && digits && s[0] != '0'
}

func (q *Query) matches(r *Record) bool {
	if time.Now().Before(r.listed) || q.favorite != nil && r.Favorite != *q.favorite {
		return false
	}
	for name, want := range q.equal {
		if r.Text[name] != want {
			return false
		}
	}
	switch {
	case q.search == nil:
		return true
	case q.searchBy == "result" && r.Pending():
		return false
	}
	return q.search.MatchString(fold(r.Text[q.searchBy]))
}

// A Page is one page of a list. First is the index of its first record among the Total.
type Page struct {
	Records      []*Record
	First, Total int
	Query        Query
}

// compare orders a record and a cursor ascending.
func (q *Query) compare(r *Record, c *Cursor) int {
	if q.byName {
		return cmp.Compare(r.folded, c.Name)
	}
	return cmp.Compare(r.Seq, c.Seq)
}

// page returns the page that the query asks for: an empty one past the end.
func (c *Collection) page(q Query) *Page {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var rows []*Record
	for _, r := range c.rows {
		if q.matches(r) {
			rows = append(rows, r)
		}
	}
	if q.byName {
		slices.SortStableFunc(rows, func(a, b *Record) int { return cmp.Compare(a.folded, b.folded) })
	}
	if !q.asc {
		slices.Reverse(rows)
	}
	n := len(rows)
	first := min(min(q.Page-1, n)*q.PerPage, n)
	end := min(first+q.PerPage, n)
	if cur := q.cursor; cur != nil {
		// The first record after the cursor, or at it if it points backward.
		first = sort.Search(n, func(i int) bool {
			order := q.compare(rows[i], cur)
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
	return &Page{Records: rows[first:end], First: first, Total: n, Query: q}
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
	if q.byName {
		return &Cursor{Name: r.folded, Forward: forward}
	}
	return &Cursor{Seq: r.Seq, Forward: forward}
}
