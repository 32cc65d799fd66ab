package recipes

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func TestLongestStoreIncludesARecordThatAppearsAfterA504(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		names, err := once.New(srv.Client(), once.InMemory())
		require.NoError(t, err)
		var longest longestStore
		store := func(name string) error {
			return longest.measure(func(hook aicontent.CallOption) error {
				params := image
				params.Name = name
				_, _, err := names.Images.Store(t.Context(), params, hook)
				return err
			})
		}
		require.NoError(t, store("at once"))
		assert.Equal(t, 40*time.Second, longest.settleTime(0, 0))

		srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LateAct(http.StatusGatewayTimeout, 4*time.Minute))
		require.NoError(t, store("late"))
		took := longest.settleTime(0, 0) / 2
		assert.GreaterOrEqual(t, took, 4*time.Minute)
		assert.Less(t, took, 5*time.Minute)
		assert.Equal(t, 2*(took+time.Minute+5*time.Second), longest.settleTime(time.Minute, 5*time.Second))

		for _, name := range []string{"at once", "late", "new"} {
			require.NoError(t, store(name))
		}
		refusal := aicontenttest.Status(http.StatusUnprocessableEntity, `{"message":"no"}`)
		srv.FaultOn(aicontent.ImagesStore, 1, refusal)
		require.Error(t, store("refused"))
		assert.Equal(t, took, longest.settleTime(0, 0)/2, "what was found or refused changes nothing")
	}, aicontenttest.LatencyOn(aicontent.ImagesStore, 20*time.Second))
}
