package recipes

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	_ "modernc.org/sqlite"
)

// SQLiteSettings follow the path of the SQLite database with the ledger's table. Writers wait for each other for up to
// 30 seconds, readers do not wait (WAL), and each change is on the disk when Put returns (FULL).
const SQLiteSettings = "?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

// CreateLedger creates the ledger's table in a SQLite or PostgreSQL database unless it exists. Call it once, with your
// other migrations and before the processes start: processes that create a table at the same time may fail.
func CreateLedger(ctx context.Context, db *sql.DB) error {
	// SQLite stores bytes as they are, whatever it is told that the column has.
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ledger (
		key TEXT PRIMARY KEY, version TEXT NOT NULL, entry BYTEA NOT NULL)`)
	return err
}

// SQLLedger keeps the entries of package once in the table of CreateLedger. It is a once.Lister.
type SQLLedger struct{ db *sql.DB }

// NewLedger returns the ledger in a database, which the caller closes. With PostgreSQL, connect db to the primary.
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

// List reads up to 100 rows at a time, and yields them when it has given its connection back: the loop may use the
// ledger, also if the database has one connection.
func (l *SQLLedger) List(ctx context.Context) iter.Seq2[once.State, error] {
	return func(yield func(once.State, error) bool) {
		for last := ""; ; {
			keys, entries, err := l.after(ctx, last)
			for i, entry := range entries {
				state, err := once.ParseState(entry)
				if err != nil {
					err = fmt.Errorf("ledger: row %s: %w", keys[i], err)
				}
				if (err != nil || !state.Free()) && !yield(state, err) {
					return
				}
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(once.State{}, err)
				return
			}
			if len(keys) == 0 {
				return
			}
			last = keys[len(keys)-1]
		}
	}
}

// after returns the next rows after a key, in the order of the keys.
func (l *SQLLedger) after(ctx context.Context, last string) (keys []string, entries [][]byte, err error) {
	const next = `SELECT key, entry FROM ledger WHERE key > $1 ORDER BY key LIMIT 100`
	rows, err := l.db.QueryContext(ctx, next, last)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var entry []byte
		if err := rows.Scan(&key, &entry); err != nil {
			return keys, entries, err
		}
		keys, entries = append(keys, key), append(entries, entry)
	}
	return keys, entries, rows.Err()
}

// inDatabase returns package once with its ledger in a database that has the table.
func inDatabase(client *aicontent.Client, db *sql.DB) (*once.Client, error) {
	return once.New(client, NewLedger(db))
}
