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
	sdk, err := clients.Named(clients.Reference)
	require.NoError(t, err)
	for fault := range service.FaultCount {
		t.Run(fault.String(), func(t *testing.T) {
			end := endOf(t.Context(), sdk, false, "one", service.Plan{fault})
			require.NoError(t, end.broken)
			assert.Error(t, end.err)
			assert.Equal(t, 1, end.requests)
			assert.Equal(t, fault >= service.BadGatewayAfter, end.made == 1)
		})
	}
}

// This SDK's promise, and the reason for the picture in the README.
func TestThisSDKMakesNothingTwice(t *testing.T) {
	sdk, err := clients.Named(clients.Ours)
	require.NoError(t, err)
	for fault := service.BadGatewayAfter; fault < service.FaultCount; fault++ {
		t.Run(fault.String(), func(t *testing.T) {
			end := endOf(t.Context(), sdk, false, "one", service.Plan{fault})
			require.NoError(t, end.broken)
			assert.Equal(t, 1, end.made)
			assert.Equal(t, 1, end.requests, "sent again after the service acted")
		})
	}
}

// What package once is for: whatever goes wrong, the record is made, once, and its caller is told.
func TestWithRetriesThisSDKMakesEachRecordOnceAndSaysSo(t *testing.T) {
	sdk, err := clients.Named(clients.Ours)
	require.NoError(t, err)
	for fault := range service.FaultCount {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			end := endOf(t.Context(), sdk, true, "one", service.Plan{fault, service.FaultCount - 1 - fault})
			require.NoError(t, end.broken)
			assert.NoError(t, end.err)
			assert.Equal(t, 1, end.made)
		})
	}
}
