package service

import "time"

// A Record is one row of either collection. Rows are replaced, never changed, so that they can be read without a lock.
type Record struct {
	ID                   string
	Text                 map[string]string // by the name of the field
	Favorite             bool
	CreatedAt, UpdatedAt time.Time

	seq    int       // order of creation
	ready  time.Time // when the result is there; for both, zero is at once
	listed time.Time // when lists show it
}

// Pending reports whether the result is not there yet: the text of a transcription, or the picture of an image.
func (r *Record) Pending() bool { return time.Now().Before(r.ready) }

// Result returns the result, which is empty while it is pending.
func (r *Record) Result() string {
	if r.Pending() {
		return ""
	}
	return r.Text["result"]
}

// folded returns the name for comparisons that ignore case.
func (r *Record) folded() string { return fold(r.Text["name"]) }
