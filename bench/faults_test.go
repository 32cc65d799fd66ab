package main

import (
	"context"
	"errors"
	"testing"
	"time"

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

// fromEach ends an operation that meets a fault, and then another one, for each fault from the first on.
func fromEach(t *testing.T, first service.Fault, j job, f func(t *testing.T, fault service.Fault, end ending)) {
	for fault := first; fault < service.FaultCount; fault++ {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			end := endOf(t.Context(), j, "one", service.Plan{fault, service.FaultCount - 1 - fault})
			require.NoError(t, end.broken)
			f(t, fault, end)
		})
	}
}

// The reference does not repeat, so that its endings can be told beforehand.
func TestFaultsReachTheCaller(t *testing.T) {
	fromEach(t, 0, job{SDK: clients.Reference}, func(t *testing.T, fault service.Fault, end ending) {
		assert.Error(t, end.err)
		assert.Equal(t, 1, end.requests)
		assert.Equal(t, fault >= service.BadGatewayAfter, end.made == 1)
	})
}

// This SDK's promise, and the reason for the picture in the README.
func TestThisSDKMakesNothingTwice(t *testing.T) {
	fromEach(t, service.BadGatewayAfter, job{SDK: clients.Ours}, func(t *testing.T, _ service.Fault, end ending) {
		assert.Equal(t, 1, end.made)
		assert.Equal(t, 1, end.requests, "sent again after the service acted")
	})
}

// Package once creates the record once, whatever goes wrong, and its caller is told.
func TestWithRetriesThisSDKMakesEachRecordOnceAndSaysSo(t *testing.T) {
	j := job{SDK: clients.Ours, Retries: true, Settle: time.Second}
	fromEach(t, 0, j, func(t *testing.T, _ service.Fault, end ending) {
		assert.NoError(t, end.err)
		assert.Equal(t, 1, end.made)
	})
}

// With its default settle time package once waits longer than the bench does: such a call is counted for what it is,
// and has made no second record.
func TestCallsThatStillWaitAreCounted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	plan := service.Plan{service.BadGatewayBefore}
	end := endOf(ctx, job{SDK: clients.Ours, Retries: true}, "one", plan)
	require.NoError(t, end.broken)
	assert.True(t, end.waiting)
	assert.Zero(t, end.made)

	end = endOf(t.Context(), job{SDK: clients.Reference}, "one", plan)
	require.NoError(t, end.broken)
	assert.Error(t, end.err)
	assert.False(t, end.waiting, "it gave up")
}

// Each SDK meets the faults as it comes, and again with the settings that its documentation advises. Package once has
// the settle time that suits the service, and its default, which README must not hide.
func TestEachSDKRunsAsItComesAndAsDocumented(t *testing.T) {
	var names []string
	for _, v := range variants(clients.All(), true) {
		names = append(names, v.name+" "+v.setting())
	}
	assert.Equal(t, []string{
		"net/http as it comes", "openai-go as it comes", "go-openai as it comes", "go-github as it comes",
		"resty as it comes", "hcloud-go as it comes", "aicontent as it comes",
		"openai-go retries as documented", "go-github retries as documented", "resty retries as documented",
		"hcloud-go retries as documented",
		"aicontent, once 1 s retries as documented", "aicontent, once 15 min retries as documented",
	}, names)
}
