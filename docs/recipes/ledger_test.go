package recipes

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// Many processes use one file, and create it at once.
func TestSQLiteLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := func() (once.Ledger, error) {
		ledger, err := OpenLedger(t.Context(), path)
		if err == nil {
			t.Cleanup(func() { _ = ledger.Close() })
		}
		return ledger, err
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := aicontenttest.TestLedger(open); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
