package recipes

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/aicontent/aicontent-go/once"
	_ "modernc.org/sqlite"
)

// SQLiteLedger keeps the entries of package once in a table of a SQLite database.
type SQLiteLedger struct{ db *sql.DB }

// OpenLedger opens the ledger in a file, for the processes of one machine. Writers wait for each other for up to 5
// seconds, readers for nobody (WAL), and each change is on the disk when Put returns (FULL).
func OpenLedger(ctx context.Context, path string) (*SQLiteLedger, error) {
	const settings = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", path+settings)
	if err != nil {
		return nil, err
	}
	// AUTOINCREMENT gives no number twice, not even that of a row that was deleted.
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ledger (
		version INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, entry BLOB)`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &SQLiteLedger{db}, nil
}

// Close closes the database.
func (l *SQLiteLedger) Close() error { return l.db.Close() }

// Get returns the entry.
func (l *SQLiteLedger) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT entry, version FROM ledger WHERE key = ?`, key).Scan(&entry, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	return entry, version, err
}

// Put makes one statement of the comparison and the change. A row that is replaced gets the next number.
func (l *SQLiteLedger) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	const insert = `INSERT INTO ledger (key, entry) VALUES (?1, ?2) ON CONFLICT DO NOTHING`
	const replace = `REPLACE INTO ledger (key, entry) SELECT key, ?2 FROM ledger WHERE key = ?1 AND version = ?3`
	put, args := insert, []any{key, entry}
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
	next, err := result.LastInsertId()
	return strconv.FormatInt(next, 10), err
}
