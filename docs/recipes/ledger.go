package recipes

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	_ "modernc.org/sqlite"
)

// SQLiteSettings follow the path of a SQLite database that has the ledger's table. Writers wait for each other for up to
// 5 seconds, readers for nobody (WAL), and each change is on the disk when Put returns (FULL).
const SQLiteSettings = "?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

// CreateLedger creates the ledger's table in a SQLite or PostgreSQL database, unless it is there. Call it once, with the
// other migrations and before the processes start: those that create a table at the same time get in each other's way.
func CreateLedger(ctx context.Context, db *sql.DB) error {
	// SQLite stores bytes as they are, whatever it is told that the column has.
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ledger (
		key TEXT PRIMARY KEY, version TEXT NOT NULL, entry BYTEA NOT NULL)`)
	return err
}

// SQLLedger keeps the entries of package once in the table of CreateLedger.
type SQLLedger struct{ db *sql.DB }

// NewLedger returns the ledger in a database, which stays the caller's to close. With PostgreSQL, db must be connected
// to the primary.
func NewLedger(db *sql.DB) *SQLLedger { return &SQLLedger{db} }

// Get returns the entry.
func (l *SQLLedger) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT entry, version FROM ledger WHERE key = $1`, key).Scan(&entry, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	return entry, version, err
}

// Put makes one statement of the comparison and the change. A random version comes only once.
func (l *SQLLedger) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	const insert = `INSERT INTO ledger (key, entry, version) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	const replace = `UPDATE ledger SET entry = $2, version = $3 WHERE key = $1 AND version = $4`
	next := rand.Text()
	put, args := insert, []any{key, entry, next}
	if version != "" {
		put, args = replace, append(args, version)
	}
	result, err := l.db.ExecContext(ctx, put, args...)
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return "", cmp.Or(err, fmt.Errorf("ledger: %w", once.ErrChanged))
	}
	return next, nil
}

// inDatabase returns package once with its ledger in a database.
func inDatabase(ctx context.Context, client *aicontent.Client, db *sql.DB) (*once.Client, error) {
	if err := CreateLedger(ctx, db); err != nil {
		return nil, err
	}
	return once.New(client, NewLedger(db))
}
