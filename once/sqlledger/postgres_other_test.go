//go:build !unix

package sqlledger_test

import "testing"

func postgres(t *testing.T) (driver, source string) {
	t.Skip("PostgreSQL is started on Unix alone")
	return
}
