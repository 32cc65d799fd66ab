package once

import (
	"context"
	"iter"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

// State is the part of an entry for people and other programs. The clock of the writing process sets its times.
type State struct {
	Collection string // images or transcriptions
	Name       string // as given
	// Until is the time after which the last create request has either produced a listed record or never will. Before
	// it, the name is open. Zero means that no request is open.
	Until time.Time
	// Made is the time at which a call stored or found the record. Zero means that no record is known.
	Made time.Time
	ID   aicontent.ID // of the record; empty if unknown
}

// Free reports whether the entry is equivalent to a missing one, because Delete freed the name or its request created
// no record.
func (s State) Free() bool { return s.Until.IsZero() && s.Made.IsZero() }

// ParseState reads an entry, so that ledgers outside of this package can implement [Lister]. It fails if the entry is
// damaged or has another format.
func ParseState(entry []byte) (State, error) {
	e, err := decode(entry, "any")
	if err != nil {
		return State{}, err
	}
	return State{Collection: e.Collection, Name: e.Name, Until: e.Until, Made: e.Made, ID: e.ID}, nil
}

// A Lister is a ledger with a list of its names. The ledgers of [Dir] and [InMemory] are listers:
//
//	for state, err := range once.Dir(path).(once.Lister).List(ctx) {
type Lister interface {
	// List returns the states of all names in any order, except for free ones. It may or may not yield changes made
	// during the iteration. An unreadable entry yields an error with its place, and the iteration goes on. If the
	// storage fails or ctx ends, the last element is the error.
	List(ctx context.Context) iter.Seq2[State, error]
}
