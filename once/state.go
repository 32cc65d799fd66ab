package once

import (
	"context"
	"iter"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// State is the content of an entry that people and programs may act on. The clocks of the processes that wrote the
// entry set its times.
type State struct {
	Collection string // images or transcriptions
	Name       string // as the caller gave it
	// Until is the time after which the last create request has either produced a listed record or never will. Before
	// it, the name is open. Zero means that no request is open.
	Until time.Time
	// Made is when a call stored the record or found it. Zero means that no record is known.
	Made time.Time
	ID   aicontent.ID // of the record; empty if it is not known
}

// Free reports whether the entry says no more than a missing one: Delete freed the name, or the name's request created
// nothing.
func (s State) Free() bool { return s.Until.IsZero() && s.Made.IsZero() }

// ParseState reads an entry that [Client] gave to a ledger, so that a ledger outside of this package can implement
// [Lister]. The error says that the entry has another format, or is damaged.
func ParseState(entry []byte) (State, error) {
	e, err := decode(entry, "any")
	if err != nil {
		return State{}, err
	}
	return State{Collection: e.Collection, Name: e.Name, Until: e.Until, Made: e.Made, ID: e.ID}, nil
}

// A Lister is a ledger that can list its names. The ledgers of [Dir] and [InMemory] are listers:
//
//	for state, err := range once.Dir(path).(once.Lister).List(ctx) {
type Lister interface {
	// List returns the states of all names in any order, except for the free ones. It reads while the caller
	// iterates, so a change that other processes make meanwhile may appear or not. An entry that cannot be read is an
	// error that names its place; the iteration then goes on. It ends if the storage cannot be read or ctx ends, and
	// the last error says so.
	List(ctx context.Context) iter.Seq2[State, error]
}
