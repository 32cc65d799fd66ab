package service

import "time"

// A Record is one row of either collection. Rows are replaced, never changed, so that one can be read without a lock.
type Record struct {
	Seq                  int // order of creation
	ID                   string
	Text                 map[string]string // by the name of the field
	Favorite             bool
	Upload               Upload
	CreatedAt, UpdatedAt time.Time

	folded string    // the name in lower case, for searching and sorting
	ready  time.Time // when the result is there; for both, zero is at once
	listed time.Time // when lists show it
}

// Pending reports whether the result is not there yet: the text of a transcription, or the picture of an image.
func (r *Record) Pending() bool { return time.Now().Before(r.ready) }
