package aicontenttest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// listQuery is what a list was asked for, read and with the defaults filled in.
type listQuery struct {
	search, searchBy string
	equal            map[string]string // resolution, style, medium, filter
	favorite         *bool
	byName, asc      bool
	perPage, page    int
	cursor           *cursor
}

// cursor is the place between two records where a page of the cursor paginator begins.
type cursor struct {
	Seq     int    `json:"id"`
	Name    string `json:"name,omitempty"`
	Forward bool   `json:"_pointsToNextItems"`
}

func (c cursor) String() string {
	// Two plain members and a boolean always encode.
	b, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(s string) *cursor {
	b, err := base64.RawURLEncoding.DecodeString(s)
	c := new(cursor)
	if err != nil || json.Unmarshal(b, c) != nil {
		return nil
	}
	return c
}

// newListQuery reads values that were checked before. An order, a page size or a searched field
// that the tables do not know is replaced by the default, as deployments do.
func (c *collection) newListQuery(values url.Values, allowed map[string]bool) listQuery {
	given := func(name string) string {
		v, _ := last(values, name)
		f, _ := find(c.list, name)
		if settles := name == "search_by" || name == "sort_by" || name == "sort" || name == "per_page"; settles &&
			!allowed[name] && !slices.Contains(f.values, v) {
			return ""
		}
		return v
	}
	q := listQuery{
		search:   strings.ToLower(given("search")),
		searchBy: cmp.Or(given("search_by"), "name"),
		equal:    make(map[string]string),
		byName:   given("sort_by") == "name",
		asc:      given("sort") == "asc",
		perPage:  c.perPage,
		page:     1,
		cursor:   parseCursor(given("cursor")),
	}
	for _, name := range []string{"resolution", "style", "medium", "filter"} {
		if v := given(name); v != "" {
			q.equal[name] = v
		}
	}
	if n, err := strconv.Atoi(given("per_page")); err == nil && n > 0 {
		q.perPage = n
	}
	if n, err := strconv.Atoi(given("page")); err == nil && n > 0 {
		q.page = n
	}
	return q
}

func (q *listQuery) matches(r *record) bool {
	if q.favorite != nil && r.favorite != *q.favorite {
		return false
	}
	for name, want := range q.equal {
		if *r.value(name) != want {
			return false
		}
	}
	if q.search == "" {
		return true
	}
	if q.searchBy == "name" {
		return strings.Contains(r.folded, q.search)
	}
	value := r.value(q.searchBy)
	return value != nil && strings.Contains(strings.ToLower(*value), q.search)
}

// page is one page of a list; first is the index of its first record among total.
type page struct {
	records      []*record
	first, total int
	query        listQuery
}

// compare orders two records as the query sorts them, oldest or first name first.
func (q *listQuery) compare(r *record, folded string, seq int) int {
	if q.byName {
		return cmp.Or(cmp.Compare(r.folded, folded), cmp.Compare(r.seq, seq))
	}
	return cmp.Compare(r.seq, seq)
}

// page returns the page that the query asks for. A page number past the end gives an empty
// page, as Laravel does.
func (c *collection) page(q listQuery) page {
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
		rows = slices.SortedFunc(slices.Values(rows), func(a, b *record) int {
			return q.compare(a, b.folded, b.seq)
		})
	}
	n := len(rows)
	at := func(i int) *record {
		if q.asc {
			return rows[i]
		}
		return rows[n-1-i]
	}
	first := min(min(q.page-1, n)*q.perPage, n)
	end := min(first+q.perPage, n)
	if cur := q.cursor; cur != nil {
		// The first record that comes after the cursor, or at it where it points backward.
		first = sort.Search(n, func(i int) bool {
			order := q.compare(at(i), cur.Name, cur.Seq)
			if !q.asc {
				order = -order
			}
			return order > 0 || order == 0 && !cur.Forward
		})
		end = min(first+q.perPage, n)
		if !cur.Forward {
			first, end = max(0, first-q.perPage), first
		}
	}
	p := page{first: first, total: n, query: q}
	for i := first; i < end; i++ {
		p.records = append(p.records, at(i))
	}
	return p
}

func (p *page) hasNext() bool { return p.first+len(p.records) < p.total }

func (p *page) lastPage() int { return max(1, (p.total+p.query.perPage-1)/p.query.perPage) }

func (q *listQuery) cursorAt(r *record, forward bool) cursor {
	cur := cursor{Seq: r.seq, Forward: forward}
	if q.byName {
		cur.Name = r.folded
	}
	return cur
}
