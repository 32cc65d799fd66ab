package service

import (
	"cmp"
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
	cursor      string
}

// A cursor is this prefix and the last record's place in the order. Like Laravel's, it holds the column of the order
// alone: by name, it skips further records with the same name.
const cursorPrefix = "after:"

// query reads the query of a list, which was checked before. Unknown values are replaced by the default, as deployments
// do.
func (r *reader) query() Query {
	c := r.Route.Collection
	given := func(name string) string {
		if f, documented := contract.Find(c.List, name); !documented || f.Ignored {
			return ""
		}
		v, _ := last(r.Query, name)
		return v
	}
	q := Query{
		Page: 1, PerPage: c.PerPage,
		searchBy: "name",
		equal:    make(map[string]string),
		byName:   given("sort_by") == "name",
		asc:      given("sort") == "asc",
	}
	if given("search_by") == "result" {
		q.searchBy = "result"
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
		q.cursor = given("cursor")
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
	text := r.Text[q.searchBy]
	if q.searchBy == "result" {
		text = r.Result()
	}
	return q.search == nil || q.search.MatchString(fold(text))
}

// A Page is one page of a list. First is the index of its first record among the Total.
type Page struct {
	Records      []*Record
	First, Total int
	Query        Query
}

// follows reports whether the record follows the place of a cursor.
func (q *Query) follows(r *Record, place string) bool {
	seq, _ := strconv.Atoi(place)
	order := cmp.Compare(r.seq, seq)
	if q.byName {
		order = cmp.Compare(r.folded(), place)
	}
	return order > 0 && q.asc || order < 0 && !q.asc
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
		slices.SortStableFunc(rows, func(a, b *Record) int { return cmp.Compare(a.folded(), b.folded()) })
	}
	if !q.asc {
		slices.Reverse(rows)
	}
	n := len(rows)
	first := min(min(q.Page-1, n)*q.PerPage, n)
	if place, found := strings.CutPrefix(q.cursor, cursorPrefix); found {
		first = sort.Search(n, func(i int) bool { return q.follows(rows[i], place) })
	}
	end := min(first+q.PerPage, n)
	return &Page{Records: rows[first:end], First: first, Total: n, Query: q}
}

// HasNext reports whether records follow.
func (p *Page) HasNext() bool { return p.First+len(p.Records) < p.Total }

// Last returns the number of the last page.
func (p *Page) Last() int { return max(1, (p.Total+p.Query.PerPage-1)/p.Query.PerPage) }

// NextCursor returns the cursor of the next page, or "" if there is none.
func (p *Page) NextCursor() string {
	switch {
	case !p.HasNext() || len(p.Records) == 0:
		return ""
	case p.Query.byName:
		return cursorPrefix + p.Records[len(p.Records)-1].folded()
	}
	return cursorPrefix + strconv.Itoa(p.Records[len(p.Records)-1].seq)
}
