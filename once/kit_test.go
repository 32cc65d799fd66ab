package once_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestLedgersKeepTheirPromise(t *testing.T) {
	t.Parallel()
	memory, folder := once.InMemory(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, aicontenttest.TestLedger(func() (once.Ledger, error) { return memory, nil }))
		require.NoError(t, aicontenttest.TestLedger(func() (once.Ledger, error) { return once.Dir(folder), nil }))
	})
}
