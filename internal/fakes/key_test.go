package fakes_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// A search that finds no key proves nothing unless it finds one that is there.
func TestAssertNoKeyFindsKeys(t *testing.T) {
	t.Parallel()
	type inner struct{ secret any }
	withQuery := &url.Error{Op: "Get", URL: "https://h/?k=" + fakes.Key, Err: errors.New("x")}
	for name, v := range map[string]any{
		"string":           fakes.Key,
		"bytes":            []byte("x" + fakes.Key),
		"unexported":       struct{ a *inner }{&inner{fakes.Key}},
		"in an interface":  &inner{inner{map[string][]string{"x": {fakes.Key}}}},
		"map key":          map[string]int{fakes.Key: 1},
		"wrapped error":    fmt.Errorf("a: %w", errors.New(fakes.Key)),
		"error in a field": &aicontent.CallError{Err: withQuery},
		"array":            [1]*inner{{[]any{fakes.Key}}},
		"upper case":       strings.ToUpper(fakes.Key),
	} {
		probe := &testing.T{}
		fakes.AssertNoKey(probe, v, fakes.Key)
		assert.True(t, probe.Failed(), name)
	}
}
