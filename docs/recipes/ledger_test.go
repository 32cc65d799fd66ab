package recipes

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

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestLedgerInSQLiteKeepsItsPromise(t *testing.T) {
	t.Parallel()
	testLedger(t, "sqlite", filepath.Join(t.TempDir(), "ledger.db")+SQLiteSettings)
}

// testLedger opens a database many times at once, as processes do, each with connections of its own.
func testLedger(t *testing.T, driver, source string) {
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, CreateLedger(t.Context(), db), "the table may be there")
	}
	testSQLList(t, db)
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

// testSQLList stores records in an empty database, and lists them.
func testSQLList(t *testing.T, db *sql.DB) {
	srv := aicontenttest.NewServer(t)
	names, err := inDatabase(srv.Client(), db)
	require.NoError(t, err)
	stored, _, err := names.Images.Store(t.Context(), image)
	require.NoError(t, err)
	other := image
	other.Name = "Beacon"
	_, _, err = names.Images.Store(t.Context(), other)
	require.NoError(t, err)
	require.NoError(t, names.Images.Delete(t.Context(), other.Name))
	l := NewLedger(db)
	_, err = l.Put(t.Context(), "another format", []byte(`{"format":1}`), "")
	require.NoError(t, err)

	var states []once.State
	var failed []error
	for state, err := range l.List(t.Context()) {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		assert.False(t, state.Made.IsZero())
		state.Made = time.Time{}
		states = append(states, state)
	}
	assert.Equal(t, []once.State{{Collection: "images", Name: image.Name, ID: stored.ID}}, states)
	require.Len(t, failed, 1)
	assert.ErrorContains(t, failed[0], "ledger: row another format: ")

	for range l.List(t.Context()) {
		break // closes the rows
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range l.List(ended) {
		require.ErrorIs(t, err, context.Canceled)
	}
	// The loop may call package once, also with a single connection.
	db.SetMaxOpenConns(1)
	within, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for state, err := range l.List(within) {
		if err == nil {
			_, err = names.Images.Find(within, state.Name)
			require.NoError(t, err)
		}
	}
	for i := range 250 {
		_, err = l.Put(within, fmt.Sprintf("more %d", i), []byte(`{}`), "")
		require.NoError(t, err)
	}
	rows := 0
	for range l.List(within) {
		rows++
	}
	assert.Equal(t, 252, rows, "of several hundreds, each comes once")
	_, err = db.ExecContext(t.Context(), `DELETE FROM ledger`)
	require.NoError(t, err)
}
