package service

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// A Collection holds the records of one resource, oldest first. It is safe for concurrent use.
type Collection struct {
	*contract.Resource
	unique bool // requests cannot give two records the same name

	mu   sync.RWMutex
	rows []*Record
	last int
}

// Add keeps a record. It sets a missing ID and missing times, and replaces a record with the same ID. Times are kept in
// whole seconds.
func (c *Collection) Add(r Record) *Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(r)
}

// store adds a record, unless its name is taken.
func (c *Collection) store(r Record) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if refusal := c.checkName(&r); refusal != nil {
		return nil, refusal
	}
	return c.add(r), nil
}

// checkName refuses the name of another record if names are unique. It requires the lock.
func (c *Collection) checkName(r *Record) *Result {
	taken := func(other *Record) bool { return other.ID != r.ID && other.folded() == r.folded() }
	if !c.unique || !slices.ContainsFunc(c.rows, taken) {
		return nil
	}
	problem := Problem{"name", "The name has already been taken."}
	return &Result{Status: http.StatusUnprocessableEntity, Problems: []Problem{problem}}
}

// add requires the lock.
func (c *Collection) add(r Record) *Record {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = time.Now()
	}
	r.CreatedAt = r.CreatedAt.Truncate(time.Second)
	r.UpdatedAt = r.CreatedAt
	c.last++
	r.seq = c.last
	for n := c.last; r.ID == ""; n++ {
		if id := strconv.Itoa(n); c.index(id) < 0 {
			r.ID = id
		}
	}
	if c.Singular == "image" {
		r.Text["result"] = r.ID + PictureSuffix
	}
	c.rows = slices.DeleteFunc(c.rows, func(old *Record) bool { return old.ID == r.ID })
	c.rows = append(c.rows, &r)
	return &r
}

// index returns the index of the record, or -1. It requires the lock.
func (c *Collection) index(id string) int {
	return slices.IndexFunc(c.rows, func(r *Record) bool { return r.ID == id })
}

func (c *Collection) find(id string) (*Record, *Result) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if i := c.index(id); i >= 0 {
		return c.rows[i], nil
	}
	return nil, notFound()
}

// change replaces the record by an edited copy, unless the edit changes nothing or takes another record's name.
func (c *Collection) change(id string, edit func(*Record)) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(id)
	if i < 0 {
		return nil, notFound()
	}
	old := c.rows[i]
	changed := *old
	changed.Text = maps.Clone(old.Text)
	edit(&changed)
	if maps.Equal(changed.Text, old.Text) && changed.Favorite == old.Favorite {
		return old, nil
	}
	if refusal := c.checkName(&changed); refusal != nil && changed.Text["name"] != old.Text["name"] {
		return nil, refusal
	}
	if changed.Text["result"] != old.Text["result"] {
		changed.ready = time.Time{}
	}
	changed.UpdatedAt = time.Now().Truncate(time.Second)
	c.rows[i] = &changed
	return &changed, nil
}

func (c *Collection) remove(id string) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(id)
	if i < 0 {
		return nil, notFound()
	}
	removed := c.rows[i]
	c.rows = slices.Delete(c.rows, i, i+1)
	return removed, nil
}

// All converts each record, oldest first.
func All[T any](c *Collection, convert func(*Record) T) []T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]T, len(c.rows))
	for i, r := range c.rows {
		out[i] = convert(r)
	}
	return out
}
