package aicontenttest

import (
	"errors"
	"fmt"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/ledgers"
	"github.com/aicontent/aicontent-go/once"
)

// TestLedger tests a ledger of your own for package once. A ledger that is wrong creates, and bills, a record twice.
// open is called several times, and each time returns a ledger for the same storage, as other processes would open it;
// all of them are used at once. TestLedger closes none. It leaves entries behind, and may be run again on the same
// storage.
//
// The error describes all problems that were found:
//
//   - an update that is lost when many processes make one at once, or an entry of another key that changes
//   - a Put that succeeds for a version that is no longer the entry's, or for none when there is an entry
//   - such a Put with an error other than [once.ErrChanged], or ErrChanged where the version is right
//   - a version that an entry has a second time, perhaps in another process or for the same bytes
//   - an entry that is not there, or not byte for byte as it was put: later, in another process, or after opening again
//   - a slice that the ledger shares with its caller
//   - a Get that fails, or has no entry, where there is one: a context that has ended must not look like no entry
//   - a Put whose context ends, and after which the ledger no longer works
//
// A run makes some 200 changes, which takes seconds on a slow disk. It cannot show what becomes of an entry when the
// storage itself loses data: when a machine loses power, or a replica takes over that lags behind.
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
