package integration

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A process that is killed every second, and started again, finishes each name, though for every second one the service
// takes longer than that.
func TestAProcessThatIsKilledEverySecondFinishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.Latency(10*time.Millisecond))
		slow := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil && r.Method == http.MethodPost && len(srv.Records())%2 == 0 {
					return delayed(r.Context(), resp, 1500*time.Millisecond)
				}
				return resp, err
			})
		}
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
		ledger, start, done := once.InMemory(), time.Now(), 0
		for kills := 0; done < len(names) && kills < 100; kills++ {
			life, kill := context.WithTimeout(t.Context(), time.Second)
			m := &process{Ledger: ledger, life: life, kill: kill}
			var err error
			m.names, err = once.New(srv.Client(aicontent.WithMiddleware(slow)), m, once.WithSettleTime(settled))
			require.NoError(t, err)
			for done < len(names) && life.Err() == nil {
				params := aStore
				params.Name = names[done]
				if _, _, err := m.names.Images.Store(life, params); err == nil {
					done++
				}
			}
			kill()
		}
		assert.Len(t, srv.Records(), len(names))
		assert.Equal(t, len(names), done, "names that were finished")
		t.Logf("%d names took %v", len(names), time.Since(start).Round(time.Second))
	})
}

// Where the disk is full, nothing is sent, and the error says so.
func TestAFullDiskSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
		disk := &fullDisk{Ledger: once.InMemory(), full: true}
		names, err := once.New(srv.Client(), disk)
		require.NoError(t, err)
		_, _, err = names.Images.Store(t.Context(), aStore)
		require.ErrorIs(t, err, syscall.ENOSPC)
		assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), err)
		assert.Empty(t, srv.Records())
		disk.full = false
		start := time.Now()
		_, found, err := names.Images.Store(t.Context(), aStore)
		require.NoError(t, err)
		assert.False(t, found)
		assert.Zero(t, time.Since(start), "nothing was sent, so nothing is waited for")
	})
}

// A fullDisk is a ledger that is read, and cannot be written.
type fullDisk struct {
	once.Ledger
	full bool
}

func (d *fullDisk) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if d.full {
		return "", fmt.Errorf("write %s: %w", key, syscall.ENOSPC)
	}
	return d.Ledger.Put(ctx, key, entry, version)
}
