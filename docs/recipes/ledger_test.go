package recipes

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// Many processes open one database at once, each with connections of its own.
func TestSQLLedger(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (driver, source string){
		"SQLite": func(t *testing.T) (string, string) {
			return "sqlite", filepath.Join(t.TempDir(), "ledger.db") + SQLiteSettings
		},
		"PostgreSQL": func(t *testing.T) (string, string) { return "pgx", postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver, source := start(t)
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
		})
	}
}

// postgres starts a PostgreSQL of the test's own, which nothing reaches but a socket in a folder of its own.
func postgres(t *testing.T) (source string) {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(programs) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	bin := filepath.Dir(programs[len(programs)-1])
	folder, err := os.MkdirTemp("", "ledger") // short, as the path of a socket must be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir = folder
		if os.Getuid() == 0 { // PostgreSQL does not run as root.
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: another(t, folder)}
		}
		return cmd
	}
	data := filepath.Join(folder, "data")
	text, err := command("initdb", "-D", data, "-U", "tester", "-A", "trust").CombinedOutput()
	require.NoError(t, err, "%s", text)
	server := command("postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "max_connections=300")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait()
	})
	source = "host=" + folder + " user=tester dbname=postgres"
	db, err := sql.Open("pgx", source)
	require.NoError(t, err)
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err = db.PingContext(ctx); err != nil && ctx.Err() == nil; err = db.PingContext(ctx) {
		<-time.After(10 * time.Millisecond)
	}
	require.NoError(t, err)
	return source
}

// another returns a user that is not root, to whom the folder belongs then.
func another(t *testing.T, folder string) *syscall.Credential {
	other, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(other.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(other.Gid, 10, 32)
	require.NoError(t, err)
	require.NoError(t, os.Chown(folder, int(uid), int(gid)))
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
