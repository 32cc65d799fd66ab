package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// With the stub an SDK must do all that it does with a network, but the network.
func TestTheStubAnswersEveryClient(t *testing.T) {
	for _, sdk := range clients.All() {
		t.Run(sdk.Name, func(t *testing.T) {
			c, err := sdk.New(clients.Settings{URL: "http://127.0.0.1:1", Transport: newStub(sdk.Wire)})
			require.NoError(t, err)
			for _, op := range []string{"show", "list"} {
				assert.NoError(t, callOnce(t.Context(), c, op))
			}
		})
	}
}

func TestPerCallCountsOnlyWhatItMeasures(t *testing.T) {
	calls := 0
	one, err := perCall(time.Millisecond, func() error { calls++; return nil })
	require.NoError(t, err)
	assert.Greater(t, calls, 3)
	assert.Positive(t, one.Seconds)
	wrong := errors.New("wrong")
	_, err = perCall(time.Hour, func() error { return wrong })
	assert.ErrorIs(t, err, wrong, "a call that fails is fast, and no figure")
}

func TestJobsAreRefusedByName(t *testing.T) {
	assert.ErrorContains(t, runJob(context.Background(), `{"Kind":"nap"}`), "nap")
	assert.Error(t, runJob(context.Background(), `{`))
}
