package service

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// A Collection holds the records of one resource, oldest first. It is safe for concurrent use.
type Collection struct {
	*contract.Resource
	uuids  bool
	unique bool // no two records of an account have the same name, but for those that Add adds

	mu   sync.RWMutex
	rows []*Record
	byID map[string]*Record
	last int
}

func newCollection(r *contract.Resource, config Config) *Collection {
	return &Collection{Resource: r, uuids: config.UUIDs, unique: config.UniqueNames, byID: make(map[string]*Record)}
}

// Add keeps a record. It assigns the id and the times where they are missing. A record with the same id is
// replaced. Times are kept in whole seconds.
func (c *Collection) Add(r Record) *Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(r)
}

// store adds a record, unless its name is taken.
func (c *Collection) store(r Record) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken(&r) {
		return nil, nameTaken()
	}
	return c.add(r), nil
}

// taken reports whether another record of the account has the name, where names are unique. It wants the lock held.
func (c *Collection) taken(r *Record) bool {
	return c.unique && slices.ContainsFunc(c.rows, func(other *Record) bool {
		return other.ID != r.ID && other.account == r.account && other.folded == fold(r.Name)
	})
}

// add wants the lock held.
func (c *Collection) add(r Record) *Record {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = time.Now()
	}
	if r.UpdatedAt.IsZero() {
		r.UpdatedAt = r.CreatedAt
	}
	r.CreatedAt, r.UpdatedAt = r.CreatedAt.Truncate(time.Second), r.UpdatedAt.Truncate(time.Second)
	r.folded = fold(r.Name)
	c.last++
	r.Seq = c.last
	if r.ID == "" {
		r.ID = c.newID()
	}
	if old, taken := c.byID[r.ID]; taken {
		c.drop(old)
	}
	c.rows = append(c.rows, &r)
	c.byID[r.ID] = &r
	return &r
}

// newID returns an id that no record has. Ids are the same in every run, and UUIDs differ between
// collections. It wants the lock held.
func (c *Collection) newID() string {
	for n := c.last; ; n++ {
		id := strconv.Itoa(n)
		if c.uuids {
			sum := sha256.Sum256([]byte(c.Name + id))
			sum[6] = sum[6]&0x0f | 0x40
			sum[8] = sum[8]&0x3f | 0x80
			id = fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
		}
		if _, taken := c.byID[id]; !taken {
			return id
		}
	}
}

// Find returns the record with the id, of any account.
func (c *Collection) Find(id string) (*Record, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := c.byID[id]
	return r, ok
}

// find returns the record with the id if it is the account's. It wants the lock held.
func (c *Collection) find(id string, account int) (*Record, bool) {
	r, ok := c.byID[id]
	return r, ok && r.account == account
}

// change replaces the record by an edited copy, unless the edit changes nothing or takes another record's name.
func (c *Collection) change(id string, account int, edit func(*Record)) (*Record, *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.find(id, account)
	if !ok {
		return nil, notFound()
	}
	changed := *old
	edit(&changed)
	switch {
	case changed.Name == old.Name && changed.Result == old.Result && changed.Favorite == old.Favorite:
		return old, nil
	case changed.Name != old.Name && c.taken(&changed):
		return nil, nameTaken()
	}
	if changed.Result != old.Result {
		changed.ready = time.Time{}
	}
	changed.folded = fold(changed.Name)
	changed.UpdatedAt = time.Now().Truncate(time.Second)
	c.rows[c.index(old)] = &changed
	c.byID[id] = &changed
	return &changed, nil
}

func (c *Collection) remove(id string, account int) (*Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.find(id, account)
	if ok {
		c.drop(r)
	}
	return r, ok
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

// All returns what convert makes of each record, oldest first.
func All[T any](c *Collection, convert func(*Record) T) []T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]T, len(c.rows))
	for i, r := range c.rows {
		out[i] = convert(r)
	}
	return out
}
