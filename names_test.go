package aicontent

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// What a client remembers of lost names does not grow without end.
func TestLostNamesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var names onceNames
		lost := &TransportError{Err: errors.New("lost")}
		for n := range maxLost + 1 {
			names.remember(fmt.Sprint(n), lost, time.Hour)
		}
		assert.Len(t, names.lost, maxLost)
		assert.Zero(t, names.lastTry("0", time.Time{}), "the oldest goes first")
		assert.Equal(t, time.Now(), names.lastTry("1", time.Time{}))
		later := time.Now().Add(time.Minute)
		assert.Equal(t, later, names.lastTry("1", later), "what the caller knows counts where it is later")
		time.Sleep(2 * time.Hour)
		names.remember("new", lost, time.Hour)
		assert.Len(t, names.lost, 1, "what is over is forgotten")
		names.remember("new", &APIError{StatusCode: 404}, time.Hour)
		assert.Len(t, names.lost, 1, "a call that sent nothing says nothing of the one before")
		names.remember("new", nil, time.Hour)
		assert.Empty(t, names.lost)
	})
}
