package recipes

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestLedgerInSQLite(t *testing.T) {
	t.Parallel()
	testLedger(t, "sqlite", filepath.Join(t.TempDir(), "ledger.db")+SQLiteSettings)
}

// testLedger opens a database many times at once, as processes do, each with connections of its own.
func testLedger(t *testing.T, driver, source string) {
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	for range 2 {
		_, err := inDatabase(t.Context(), aicontenttest.NewServer(t).Client(), db)
		require.NoError(t, err, "the table may be there")
	}
	require.NoError(t, db.Close())
	open := func() (once.Ledger, error) {
		db, err := sql.Open(driver, source)
		if err == nil {
			t.Cleanup(func() { _ = db.Close() })
		}
		return NewLedger(db), err
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
