package aicontenttest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Image is a record of the images collection as the service holds it, which is more than
// every personality shows.
type Image struct {
	// ID is assigned by the service when empty, as it is for every record stored by a client.
	ID          string
	Name        string
	Description string
	Resolution  string
	Style       string
	Medium      string
	Filter      string
	Quality     string // only of [NewerValues]
	Favorite    bool
	// CreatedAt and UpdatedAt are now when zero.
	CreatedAt, UpdatedAt time.Time
}

// A Transcription is a record of the transcriptions collection as the service holds it.
type Transcription struct {
	// ID is assigned by the service when empty.
	ID          string
	Name        string
	Description string
	Language    string
	Result      string
	Favorite    bool
	// Upload is what was received; zero for a record added by [Server.AddTranscription].
	Upload Upload
	// CreatedAt and UpdatedAt are now when zero.
	CreatedAt, UpdatedAt time.Time
}

// record is one row of either collection. A row is replaced, never changed, so whoever got
// hold of one may go on reading it.
type record struct {
	seq                       int
	id, name, description     string
	resolution, style, medium string
	filter, quality           string
	language, result          string
	folded                    string // the name in lower case, for searching and sorting
	favorite                  bool
	upload                    Upload
	createdAt, updatedAt      time.Time
}

// value returns the field of that name, or nil where the record has none.
func (r *record) value(name string) *string {
	switch name {
	case "name":
		return &r.name
	case "description":
		return &r.description
	case "resolution":
		return &r.resolution
	case "style":
		return &r.style
	case "medium":
		return &r.medium
	case "filter":
		return &r.filter
	case "quality":
		return &r.quality
	case "language":
		return &r.language
	case "result":
		return &r.result
	}
	return nil
}

func (r *record) image() Image {
	return Image{
		ID: r.id, Name: r.name, Description: r.description, Resolution: r.resolution,
		Style: r.style, Medium: r.medium, Filter: r.filter, Quality: r.quality,
		Favorite: r.favorite, CreatedAt: r.createdAt, UpdatedAt: r.updatedAt,
	}
}

func (r *record) transcription() Transcription {
	return Transcription{
		ID: r.id, Name: r.name, Description: r.description, Language: r.language,
		Result: r.result, Favorite: r.favorite, Upload: r.upload,
		CreatedAt: r.createdAt, UpdatedAt: r.updatedAt,
	}
}

// A collection holds the records of one resource, oldest first.
type collection struct {
	*resource
	uuids bool

	mu   sync.RWMutex
	rows []*record
	byID map[string]*record
	last int
}

func newCollection(r *resource, uuids bool) *collection {
	return &collection{resource: r, uuids: uuids, byID: make(map[string]*record)}
}

// add assigns what the service assigns and keeps the record.
func (c *collection) add(r record) *record {
	now := time.Now()
	if r.createdAt.IsZero() {
		r.createdAt = now
	}
	if r.updatedAt.IsZero() {
		r.updatedAt = r.createdAt
	}
	r.folded = strings.ToLower(r.name)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	r.seq = c.last
	if r.id == "" {
		r.id = c.newID(r.seq)
	}
	if old, taken := c.byID[r.id]; taken {
		c.drop(old)
	}
	c.rows = append(c.rows, &r)
	c.byID[r.id] = &r
	return &r
}

// newID gives ids that differ between collections and are the same in every run.
func (c *collection) newID(seq int) string {
	if !c.uuids {
		return strconv.Itoa(seq)
	}
	sum := sha256.Sum256([]byte(c.name + strconv.Itoa(seq)))
	sum[6] = sum[6]&0x0f | 0x40
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (c *collection) find(id string) (*record, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := c.byID[id]
	return r, ok
}

// change replaces the record by one that edit has worked on.
func (c *collection) change(id string, edit func(*record)) (*record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	changed := *old
	edit(&changed)
	changed.folded = strings.ToLower(changed.name)
	changed.updatedAt = time.Now()
	c.rows[c.index(old)] = &changed
	c.byID[id] = &changed
	return &changed, true
}

func (c *collection) remove(id string) (*record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.byID[id]
	if ok {
		c.drop(r)
	}
	return r, ok
}

// drop wants the lock held.
func (c *collection) drop(r *record) {
	i := c.index(r)
	c.rows = slices.Delete(c.rows, i, i+1)
	delete(c.byID, r.id)
}

// index wants the lock held.
func (c *collection) index(r *record) int {
	i, _ := slices.BinarySearchFunc(c.rows, r.seq, func(row *record, seq int) int { return row.seq - seq })
	return i
}

// all returns what each record gives, oldest first.
func all[T any](c *collection, give func(*record) T) []T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]T, len(c.rows))
	for i, r := range c.rows {
		out[i] = give(r)
	}
	return out
}
