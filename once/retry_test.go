package once_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	kit "github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A worker that asks Retryable and RetryAt alone looks as often as a call that waits.
func TestRetryAtFollowsTheScheduleOfTheEntry(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.FaultOn(kit.ImagesStore, 1, kit.HTMLPage(504))
		var looks []time.Duration
		for {
			p := w.process(t, once.WithMaxWait(0)) // which remembers nothing
			_, found, err := p.Images.Store(p, job("a"))
			if err == nil {
				assert.False(t, found, "nothing came of the first request")
				break
			}
			require.True(t, aicontent.Retryable(err), "%v", err)
			assert.ErrorIs(t, err, once.ErrMaxWait)
			assert.Equal(t, "an earlier request may still create the record", aicontent.Reason(err))
			at := aicontent.RetryAt(err)
			require.True(t, at.After(time.Now()), "%v", at)
			looks = append(looks, at.Sub(w.start))
			time.Sleep(time.Until(at))
		}
		second := time.Second
		assert.Equal(t, []time.Duration{second, 3 * second, 7 * second, 15 * second, 31 * second, 61 * second}, looks[:6])
		assert.Equal(t, settle, looks[len(looks)-1], "Until at the latest")
	})
}
