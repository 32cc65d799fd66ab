package aicontent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a client remembers of names does not grow without end.
func TestOpenNamesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := newNames(time.Hour)
		lose := func(name string) {
			c, err := names.claim(t.Context(), "images", name)
			require.NoError(t, err)
			_, _ = c.attempt(func() (*exchange, error) { return &exchange{}, nil })
			c.release()
		}
		for n := range maxOpen + 1 {
			lose(fmt.Sprint(n))
			time.Sleep(time.Millisecond)
		}
		assert.Len(t, names.open, maxOpen)
		assert.NotContains(t, names.open, "images/0", "the oldest goes first")
		assert.Contains(t, names.open, "images/1")
		time.Sleep(2 * time.Hour)
		lose("new")
		assert.Len(t, names.open, 1, "what is over is forgotten")
		assert.Empty(t, names.busy)
	})
}

// What a call leaves behind decides whether the next one may send: a request that may have been executed stays open,
// one that was not changes nothing.
func TestNamesAreClosedByEvidenceAlone(t *testing.T) {
	t.Parallel()
	lost, refused, made := &exchange{}, &exchange{verdict: verdict{outcome: OutcomeRejected}},
		&exchange{verdict: verdict{outcome: OutcomeDone, ok: true}}
	done := &exchange{verdict: verdict{outcome: OutcomeDone}}
	for name, tt := range map[string]struct {
		attempt func() (*exchange, error)
		open    bool
	}{
		"lost":    {func() (*exchange, error) { return lost, nil }, true},
		"done":    {func() (*exchange, error) { return done, nil }, true},
		"refused": {func() (*exchange, error) { return refused, nil }, false},
		"made":    {func() (*exchange, error) { return made, nil }, true}, // until the call returns it
		"vetoed":  {func() (*exchange, error) { return nil, assert.AnError }, false},
		"panic":   {func() (*exchange, error) { panic("boom") }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			names := newNames(time.Hour)
			call := func(attempt func() (*exchange, error)) (before time.Time) {
				c, err := names.claim(t.Context(), "images", "n")
				require.NoError(t, err)
				defer func() { _ = recover() }()
				defer c.release()
				before = c.since
				if attempt != nil {
					_, _ = c.attempt(attempt)
				}
				return before
			}
			call(tt.attempt)
			ended := time.Now()
			time.Sleep(time.Minute)
			if !tt.open {
				assert.Zero(t, call(nil), name)
				return
			}
			assert.Equal(t, ended, call(nil), name)
			time.Sleep(time.Minute)
			assert.Equal(t, ended, call(nil), "%s: a call that sent nothing changes nothing", name)
			time.Sleep(time.Hour)
			assert.Zero(t, call(nil), "%s: the time is over", name)
		})
	}
}
