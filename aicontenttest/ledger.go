package aicontenttest

import (
	"errors"
	"fmt"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/ledgers"
	"github.com/aicontent/aicontent-go/once"
)

// TestLedger tests a ledger of your own for package once. A faulty ledger bills a record twice. TestLedger calls open
// several times and uses the ledgers at once: each must open the same storage, like another process. It closes no
// ledger, leaves entries behind, and may be run again on the same storage.
//
// The error describes all problems:
//
//   - a lost update among concurrent Puts, or a Put that changes the entry of another key
//   - keys that are compared in part, or without case; a ledger may refuse a key with capital letters
//   - a Put that succeeds for an earlier version, or for no version if there is an entry, or that fails then with an
//     error other than once.ErrChanged; ErrChanged for the right version
//   - a version used twice, perhaps by another process or for the same bytes
//   - an entry that is missing or has other bytes later, in another process, or after opening again
//   - an entry that disappears within 3 seconds
//   - a slice that the ledger shares with its caller
//   - a Get that reports no entry because its context has ended, or fails without a reason
//   - a ledger that fails after the context of a Put has ended
//   - a call that takes more than a minute, or does not return 30 seconds after that, when its context has ended
//
// A run makes some 200 changes. It takes at least 3 seconds, and some 6 minutes if calls hang. It cannot detect entries
// that expire later, or the loss of data when a machine loses power or a lagging replica takes over.
func TestLedger(open func() (once.Ledger, error)) error {
	problems, err := ledgers.Test(open)
	if err != nil {
		return fmt.Errorf("aicontenttest: TestLedger: open: %w", err)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("aicontenttest: TestLedger found problems:\n%w", errors.Join(problems...))
}
