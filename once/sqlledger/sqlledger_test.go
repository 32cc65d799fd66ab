package sqlledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/aicontent/aicontent-go/once/sqlledger"
)

func lighthouse(name string) aicontent.ImageStoreParams {
	return aicontent.ImageStoreParams{
		Name: name, Description: "A lighthouse", Resolution: aicontent.Resolution512x512,
	}
}

// onDatabases calls test with the driver and the source of a database of each kind.
func onDatabases(t *testing.T, test func(t *testing.T, open func() *sql.DB)) {
	sqlite := func(t *testing.T) (driver, source string) {
		return "sqlite", filepath.Join(t.TempDir(), "ledger.db") + sqlledger.SQLiteSettings
	}
	for name, start := range map[string]func(*testing.T) (driver, source string){
		"SQLite": sqlite, "PostgreSQL": postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver, source := start(t)
			test(t, func() *sql.DB {
				db, err := sql.Open(driver, source)
				require.NoError(t, err)
				t.Cleanup(func() { _ = db.Close() })
				return db
			})
		})
	}
}

// Each of four processes has connections of its own.
func TestLedgerKeepsItsPromise(t *testing.T) {
	onDatabases(t, func(t *testing.T, open func() *sql.DB) {
		for range 2 {
			require.NoError(t, sqlledger.Create(t.Context(), open()), "the table may exist")
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				err := aicontenttest.TestLedger(func() (once.Ledger, error) { return sqlledger.New(open()), nil })
				assert.NoError(t, err)
			})
		}
		all.Wait()
	})
}

func TestListYieldsEachNameThatIsNotFree(t *testing.T) {
	onDatabases(t, func(t *testing.T, open func() *sql.DB) {
		ctx, db := t.Context(), open()
		require.NoError(t, sqlledger.Create(ctx, db))
		ledger := sqlledger.New(db)
		names, err := once.New(aicontenttest.NewServer(t).Client(), ledger)
		require.NoError(t, err)
		stored, _, err := names.Images.Store(ctx, lighthouse("Lighthouse"))
		require.NoError(t, err)
		_, _, err = names.Images.Store(ctx, lighthouse("Beacon"))
		require.NoError(t, err)
		require.NoError(t, names.Images.Delete(ctx, "Beacon"))
		for n := range 250 {
			_, err = ledger.Put(ctx, fmt.Sprintf("unreadable %d", n), []byte(`{"format":1}`), "")
			require.NoError(t, err)
		}

		db.SetMaxOpenConns(1) // The loop may use the ledger all the same.
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		unreadable := map[string]bool{}
		var states []once.State
		for state, err := range ledger.List(within) {
			if err != nil {
				require.ErrorContains(t, err, "ledger: row unreadable ")
				unreadable[err.Error()] = true
				continue
			}
			_, err = names.Images.Find(within, state.Name)
			require.NoError(t, err)
			assert.False(t, state.Made.IsZero())
			state.Made = time.Time{}
			states = append(states, state)
		}
		assert.Len(t, unreadable, 250)
		assert.Equal(t, []once.State{{Collection: "images", Name: "Lighthouse", ID: stored.ID}}, states)

		ended, cancel := context.WithCancel(ctx)
		cancel()
		for _, err := range ledger.List(ended) {
			require.ErrorIs(t, err, context.Canceled)
		}
		for range ledger.List(ctx) {
			break // gives the only connection back
		}
		_, _, err = ledger.Get(within, "key")
		require.NoError(t, err)
	})
}
