package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// The reference makes one request of a call: a server that answered, or a count that is wrong,
// shows here.
func TestOutagesCountEachRequestOnce(t *testing.T) {
	result, err := outageJob(t.Context(), job{SDK: clients.Reference, Times: 20})
	require.NoError(t, err)
	assert.EqualValues(t, 20, result.(outageResult).Requests)
}
