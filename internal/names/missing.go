package names

import "errors"

// ErrMissing is in the error of a search if a list has a record without a name or an ID: the search can prove nothing.
var ErrMissing = errors.New("the list has a record without a name or an ID")
