//go:build unix

package sqlledger_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
)

// postgres starts a PostgreSQL that listens on a socket in a folder of the test alone.
func postgres(t *testing.T) (driver, source string) {
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
	return "pgx", source
}

// another returns a user other than root, and gives it the folder.
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
