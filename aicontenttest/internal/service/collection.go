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
	byID map[string]*Record
	last int
}

func newCollection(r *contract.Resource, config Config) *Collection {
	return &Collection{Resource: r, unique: config.UniqueNames, byID: make(map[string]*Record)}
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

// checkName refuses the name of another record if names are unique. It wants the lock held.
func (c *Collection) checkName(r *Record) *Result {
	taken := func(other *Record) bool { return other.ID != r.ID && other.folded == fold(r.Text["name"]) }
	if !c.unique || !slices.ContainsFunc(c.rows, taken) {
		return nil
	}
	problem := Problem{"name", "The name has already been taken."}
	return &Result{Status: http.StatusUnprocessableEntity, Problems: []Problem{problem}}
}

// add wants the lock held.
func (c *Collection) add(r Record) *Record {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = time.Now()
	}
	r.CreatedAt = r.CreatedAt.Truncate(time.Second)
	r.UpdatedAt = r.CreatedAt
	r.folded = fold(r.Text["name"])
	c.last++
	r.Seq = c.last
	if r.ID == "" {
		r.ID = c.newID()
	}
	if old := c.byID[r.ID]; old != nil {
		c.drop(old)
	}
	c.rows = append(c.rows, &r)
	c.byID[r.ID] = &r
	return &r
}

// newID returns an ID that no record has. It wants the lock held.
func (c *Collection) newID() string {
	for n := c.last; ; n++ {
		if id := strconv.Itoa(n); c.byID[id] == nil {
			return id
		}
	}
}

func (c *Collection) find(id string) (*Record, *Result) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.get(id)
}

// get wants the lock held.
func (c *Collection) get(id string) (*Record, *Result) {
	if r := c.byID[id]; r != nil {
		return r, nil
	}
	return nil, notFound()
}

// change replaces the record by an edited copy, unless the edit changes nothing or takes another record's name.
func (c *Collection) change(id string, edit func(*Record)) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, refusal := c.get(id)
	if refusal != nil {
		return nil, refusal
	}
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
	changed.folded = fold(changed.Text["name"])
	changed.UpdatedAt = time.Now().Truncate(time.Second)
	c.rows[c.index(old)] = &changed
	c.byID[id] = &changed
	return &changed, nil
}

func (c *Collection) remove(id string) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, refusal := c.get(id)
	if refusal == nil {
		c.drop(r)
	}
	return r, refusal
}

// drop wants the lock held.
func (c *Collection) drop(r *Record) {
	i := c.index(r)
	c.rows = slices.Delete(c.rows, i, i+1)
	delete(c.byID, r.ID)
}

// index wants the lock held.
func (c *Collection) index(r *Record) int {
	i, _ := slices.BinarySearchFunc(c.rows, r.Seq, func(row *Record, seq int) int { return row.Seq - seq })
	return i
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
