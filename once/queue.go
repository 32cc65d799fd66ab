package once

import (
	"context"
	"sync"
)

// place identifies a name in a ledger.
type place struct {
	ledger Ledger
	key    string
}

// turns has a channel for each place where a call of this process has the turn. It is closed at the end of the turn.
var turns sync.Map

// enter takes the turn (rule 9). If another call has it, enter waits and returns errAgain.
func (s *slot) enter(ctx context.Context) error {
	if s.turn != nil {
		return nil
	}
	own := make(chan struct{})
	turn, taken := turns.LoadOrStore(s.place, own)
	if !taken {
		s.turn = own
		return nil
	}
	if ended := s.pause(ctx, noLimit, turn.(chan struct{})); ended != nil {
		return s.fail(true, ended)
	}
	return errAgain
}

// leave ends the turn.
func (s *slot) leave() {
	if s.turn != nil {
		turns.Delete(s.place)
		close(s.turn)
		s.turn = nil
	}
}
