// Package sqlledger is a ledger of package once in a SQLite or PostgreSQL database of your own.
//
//	db, err := sql.Open("sqlite", "ledger.db"+sqlledger.SQLiteSettings) // modernc.org/sqlite
//	...
//	names, err := once.New(client, sqlledger.New(db))
//
// Create the table once, with [Create], before the processes start. All processes that share the database share its
// names: each name is stored, and billed, once.
//
// The database must not lose a change that it has confirmed, or a record may be created twice:
//   - SQLite serves the processes of one machine, on a local disk. It needs synchronous=FULL. With synchronous=NORMAL,
//     a power cut loses the last changes.
//   - PostgreSQL needs synchronous_commit, and connections to the primary alone. A failover to an asynchronous replica
//     loses the last changes.
//
// The package imports no driver. It is tested with modernc.org/sqlite and github.com/jackc/pgx/v5/stdlib.
package sqlledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/aicontent/aicontent-go/once"
)

// SQLiteSettings follow the path of the database in the source of the driver modernc.org/sqlite. Writers wait for each
// other for up to 30 seconds, readers do not wait (WAL), and each change is on the disk when Put returns (FULL).
const SQLiteSettings = "?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

// Create creates the table of the ledger, named ledger, unless it exists. Call it with your other migrations, before
// the processes start: processes that create a table at the same time may fail.
func Create(ctx context.Context, db *sql.DB) error {
	// SQLite stores bytes as they are, whatever the declared type of the column.
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ledger (
		key TEXT PRIMARY KEY, version TEXT NOT NULL, entry BYTEA NOT NULL)`)
	return err
}

// Ledger keeps the entries of package once in the table of [Create]. It implements [once.Ledger] and [once.Lister], and
// is safe for concurrent use. Its errors are those of the database, and [once.ErrChanged].
type Ledger struct{ db *sql.DB }

var _ interface {
	once.Ledger
	once.Lister
} = (*Ledger)(nil)

// New returns the ledger in a database, which must have the table. Call it once in a process: calls for the same name
// take turns only on one ledger. The caller closes db, after the last call of package once has ended.
func New(db *sql.DB) *Ledger { return &Ledger{db} }

// Get returns the entry and its version, which is empty if there is no entry.
func (l *Ledger) Get(ctx context.Context, key string) (entry []byte, version string, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT entry, version FROM ledger WHERE key = $1`, key).Scan(&entry, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", nil
	}
	return entry, version, err
}

// Put replaces the entry if it has the given version. It returns a random version, which no entry ever had. The error
// wraps [once.ErrChanged] if the entry has another version.
func (l *Ledger) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	// Each is one statement, so that no other Put comes between the comparison and the change.
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

// List yields the state of each name that is not free, in the order of the keys. An unreadable row is an error that
// names it, and the iteration continues. It reads up to 100 rows at a time and holds no connection while it yields: the
// loop may use the ledger even if the database has one connection.
func (l *Ledger) List(ctx context.Context) iter.Seq2[once.State, error] {
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
func (l *Ledger) after(ctx context.Context, last string) (keys []string, entries [][]byte, err error) {
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
