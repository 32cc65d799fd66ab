package service

import "time"

// A Record is one row of either collection. Rows are replaced, never changed, so that one can be read
// without a lock.
type Record struct {
	Seq                       int // order of creation
	ID, Name, Description     string
	Resolution, Style, Medium string
	Filter, Quality           string
	Language, Result          string
	Favorite                  bool
	Upload                    Upload
	CreatedAt, UpdatedAt      time.Time

	folded string    // the name in lower case, for searching and sorting
	ready  time.Time // when the result is there; for both, zero is at once
	listed time.Time // when lists show it
}

// Pending reports whether the result is not there yet: the text of a transcription, or the picture of an image.
func (r *Record) Pending() bool { return time.Now().Before(r.ready) }

// Value returns the text field with the name on the wire; nil where a record has none.
func (r *Record) Value(name string) *string {
	switch name {
	case "name":
		return &r.Name
	case "description":
		return &r.Description
	case "resolution":
		return &r.Resolution
	case "style":
		return &r.Style
	case "medium":
		return &r.Medium
	case "filter":
		return &r.Filter
	case "quality":
		return &r.Quality
	case "language":
		return &r.Language
	case "result":
		return &r.Result
	}
	return nil
}
