package once_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestLedgersKeepTheirPromise(t *testing.T) {
	t.Parallel()
	memory := once.InMemory()
	require.NoError(t, aicontenttest.TestLedger(func() (once.Ledger, error) { return memory, nil }))
	folder := t.TempDir()
	require.NoError(t, aicontenttest.TestLedger(func() (once.Ledger, error) { return once.Dir(folder), nil }))
}
