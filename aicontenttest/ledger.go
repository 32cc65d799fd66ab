package aicontenttest

import (
	"errors"
	"fmt"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/ledgers"
	"github.com/aicontent/aicontent-go/once"
)

// TestLedger tests a ledger of your own for package once. A ledger that is wrong creates, and bills, a record twice.
// TestLedger calls open several times. Each call returns a ledger for the same storage, as another process would open
// it, and the test uses all of them at once. TestLedger closes none. It leaves entries behind, and may be run again on
// the same storage.
//
// The error describes all problems:
//
//   - a lost update when many processes make one at once, or an entry of another key that changes
//   - two keys that resemble each other and have the same entry: keys must be compared as a whole, and by case. A
//     ledger may refuse a key with capital letters
//   - a Put that succeeds for an earlier version of the entry, or for none when there is an entry
//   - such a Put with an error other than [once.ErrChanged], or ErrChanged where the version is right, as for a Put of
//     a new name that fails for another reason
//   - a version that an entry has a second time, perhaps in another process or for the same bytes
//   - an entry that is not there, or not byte for byte as it was put: later, in another process, or after opening again
//   - an entry gone after 3 seconds, perhaps because its times are long over
//   - a slice that the ledger shares with its caller
//   - a Get that fails, or has no entry, where there is one: an ended context must not look like no entry
//   - a Put whose context ends, and after which the ledger no longer works
//   - a call that takes more than a minute, or does not return 30 seconds after its context has ended
//
// A run makes some 200 changes. It takes at least 3 seconds, more on a slow disk, and at most some 6 minutes if calls
// hang. In a bubble of [testing/synctest], it waits for nothing. It cannot show an entry that expires after a longer
// time, or the loss of data when a machine loses power or a replica that lags takes over.
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
