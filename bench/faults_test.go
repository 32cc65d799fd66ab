package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
	"github.com/aicontent/aicontent-go/bench/service"
)

func TestEndingsAreCountedForWhatTheyAre(t *testing.T) {
	failed := errors.New("failed")
	tests := map[string]struct {
		end  ending
		want faultsResult
	}{
		"made once":              {ending{made: 1, requests: 1}, faultsResult{Done: 1, Requests: 1}},
		"made twice":             {ending{made: 2, requests: 2}, faultsResult{Twice: 1, Requests: 2}},
		"made twice, and failed": {ending{made: 2, err: failed}, faultsResult{Twice: 1}},
		"success without record": {ending{}, faultsResult{Hollow: 1}},
		"still waiting":          {ending{err: failed, waiting: true, made: 1}, faultsResult{Waiting: 1}},
		"twice, and waiting":     {ending{err: failed, waiting: true, made: 2}, faultsResult{Twice: 1}},
		"given up":               {ending{err: failed}, faultsResult{GivenUp: 1}},
		"made, told an error":    {ending{err: failed, made: 1}, faultsResult{MadeUntold: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r faultsResult
			r.count(test.end)
			assert.Equal(t, test.want, r)
		})
	}
}

// The reference does not repeat, so that its endings can be told beforehand.
func TestFaultsReachTheCaller(t *testing.T) {
	for fault := range service.FaultCount {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			plan := service.Plan{fault, service.FaultCount - 1 - fault}
			end := endOf(t.Context(), job{SDK: clients.Reference}, "one", plan)
			require.NoError(t, end.broken)
			assert.Error(t, end.err)
			assert.Equal(t, 1, end.requests)
			assert.Equal(t, fault >= service.BadGatewayAfter, end.made == 1)
		})
	}
}
