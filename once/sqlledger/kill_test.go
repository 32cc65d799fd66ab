package sqlledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/aicontent/aicontent-go/once/sqlledger"
)

// sourceVariable makes the test binary a program that stores names with the ledger in this database.
const sourceVariable = "SQLLEDGER_TEST_SOURCE"

func TestMain(m *testing.M) {
	source := os.Getenv(sourceVariable)
	if source == "" {
		os.Exit(m.Run())
	}
	if err := storeAll(context.Background(), source); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const jobs, killers, kills = 20, 4, 40

// storeAll stores names until it is killed.
func storeAll(ctx context.Context, source string) error {
	client, err := aicontent.NewClientFromEnv()
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return err
	}
	names, err := once.New(client, sqlledger.New(db), once.WithMaxWait(0))
	for err == nil || errors.Is(err, once.ErrMaxWait) {
		_, _, err = names.Images.Store(ctx, lighthouse(fmt.Sprint("job ", rand.IntN(jobs))))
	}
	return err
}

// The service executes each request that it has received, also if the process is gone.
func TestProcessesThatAreKilledStoreNoNameTwice(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "ledger.db") + sqlledger.SQLiteSettings
	db, err := sql.Open("sqlite", source)
	require.NoError(t, err)
	require.NoError(t, errors.Join(sqlledger.Create(t.Context(), db), db.Close()))
	received := make(chan struct{}, 1)
	srv := aicontenttest.NewServer(t, aicontenttest.LatencyOn(aicontent.ImagesStore, 50*time.Millisecond),
		aicontenttest.OnRequest(func(aicontenttest.Request) {
			select {
			case received <- struct{}{}:
			default:
			}
		}))
	start := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), sourceVariable+"="+source,
			"AICONTENT_BASE_URL="+srv.URL, "AICONTENT_API_KEY="+srv.APIKey)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return cmd
	}
	processes := make([]*exec.Cmd, killers)
	for i := range processes {
		processes[i] = start()
	}
	for n := range kills {
		<-received
		i := n % killers
		_ = processes[i].Process.Kill()
		_ = processes[i].Wait()
		processes[i] = start()
	}
	for _, process := range processes {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
	srv.Close() // ends the latency: the service executes the requests that it has received
	count := map[string]int{}
	for _, record := range srv.Created() {
		count[record.Name]++
	}
	assert.NotEmpty(t, count)
	for name, n := range count {
		assert.Equal(t, 1, n, name)
	}
	t.Logf("%d records", len(count))
}
