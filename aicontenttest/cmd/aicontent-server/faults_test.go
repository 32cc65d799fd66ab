package main

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// The lines of a log tell which requests met which fault, and the records that were created all the same are there.
func TestFaultsStrikeTheNextRequestsOfTheirOperation(t *testing.T) {
	url, end := served(t, "-key", "test-key",
		"-fault", "images.store:2:lose-response", "-fault", "images.list:1:status-500")
	c := client(t, url, "test-key")
	for i, lost := range []bool{true, true, false} {
		_, err := c.Images.Store(t.Context(), imageParams)
		assert.Equal(t, lost, err != nil, "%d: %v", i, err)
	}
	_, err := c.Images.List(t.Context(), aicontent.ImageListParams{})
	require.Error(t, err)
	page, err := c.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	assert.Len(t, page.Items, 3)
	// A client that lost its response may send the next request before the line is written.
	assert.ElementsMatch(t, []string{
		`no response POST /api/v1/images images.store "1", fault lose-response`,
		`no response POST /api/v1/images images.store "2", fault lose-response`,
		`201 POST /api/v1/images images.store "3"`,
		`500 GET /api/v1/images images.list, fault status-500`,
		`200 GET /api/v1/images images.list`,
	}, end())
}

// A failure that chaos found is found again with the same seed, and not with another one.
func TestChaosIsRepeatedByItsSeed(t *testing.T) {
	outcomes := func(seed string) (list []string) {
		url, end := served(t, "-key", "test-key", "-chaos", "0.5", "-chaos-seed", seed)
		c := client(t, url, "test-key")
		for range 30 {
			_, err := c.Images.List(t.Context(), aicontent.ImageListParams{})
			list = append(list, aicontent.Reason(err))
		}
		end()
		return list
	}
	seven := outcomes("7")
	assert.Contains(t, seven, "")
	assert.Equal(t, seven, outcomes("7"))
	assert.NotEqual(t, seven, outcomes("8"))
}

// A developer of a progress bar sees it move.
func TestUploadRateSlowsUploads(t *testing.T) {
	const size = 1 << 20
	for _, rate := range []string{"5000000", "5000kB", "5MB"} {
		url, end := served(t, "-key", "test-key", "-upload-rate", rate)
		start := time.Now()
		_, err := client(t, url, "test-key").Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
			Name: "Talk", File: aicontent.FileFromBytes("talk.wav", make([]byte, size)),
		})
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(start).Seconds(), size/5e6, rate)
		end()
	}
}

// A program in another language that is killed, or gives up, has created its record all the same.
func TestARequestIsExecutedAfterItsClientHasLeft(t *testing.T) {
	const request, executed = `POST /api/v1/images images.store`, `201 POST /api/v1/images images.store "1"`
	for flag, line := range map[string]string{
		"-drop-abandoned=false": executed, "-drop-abandoned": "no response " + request,
	} {
		url, end := served(t, "-key", "test-key", "-latency", "1h", "-inspect", flag)
		_, err := client(t, url, "test-key").Images.Store(t.Context(), imageParams,
			aicontent.WithStoreTimeout(50*time.Millisecond))
		require.Error(t, err)
		for received := false; !received; runtime.Gosched() {
			seen := inspected(t, url).Requests
			received = len(seen) > 0 && len(seen[0].Form) > 0
		}
		assert.Equal(t, []string{line}, end(), "%s: an interrupt ends the latency, too", flag)
	}
}

// Whoever mistypes a name is told the right ones.
func TestBadFaultsTimesAndRatesAreExplained(t *testing.T) {
	const (
		allOperations = "must be one of images.list, images.show, images.store, images.update, images.delete, " +
			"images.download, transcriptions.list, "
		allFaults = "must be one of status-500, "
		rates     = "the bytes per second must be like 65536, 500kB or 1MB, not "
		shape     = "must be operation:n:fault, such as images.store:2:lose-response"
	)
	for _, c := range []struct{ flag, value, says string }{
		{"-fault", "", shape},
		{"-fault", "lose-response", shape},
		{"-fault", "images.draw:2:lose-response", `unknown operation "images.draw": ` + allOperations},
		{"-fault", "images.store:0:lose-response", `n must be at least 1, not "0"`},
		{"-fault", "images.store:2:LoseResponse", `unknown fault "LoseResponse": ` + allFaults},
		{"-latency-on", "images.draw=2s", `unknown operation "images.draw": ` + allOperations},
		{"-latency-on", "images.store", `the time must be like 2s or 500ms, not ""`},
		{"-latency-on", "images.store=-2s", `the time must be like 2s or 500ms, not "-2s"`},
		{"-upload-rate", "", rates + `""`},
		{"-upload-rate", "0", rates + `"0"`},
		{"-upload-rate", "1GB", rates + `"1GB"`},
		{"-upload-rate", "9999999999999MB", rates + `"9999999999999MB"`},
	} {
		t.Run(c.value, func(t *testing.T) {
			var stderr strings.Builder
			assert.Equal(t, exitUsage, run(t.Context(), []string{c.flag, c.value}, io.Discard, &stderr))
			assert.Contains(t, stderr.String(), c.says)
			assert.Contains(t, stderr.String(), c.flag)
			assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		})
	}
}

// Each fault and each operation of the kit can be given, and -h lists it.
func TestEveryFaultAndOperationCanBeGiven(t *testing.T) {
	var help strings.Builder
	assert.Equal(t, exitDone, run(t.Context(), []string{"-h"}, io.Discard, &help))
	words := strings.Fields(help.String())
	for _, op := range contract.Operations {
		_, err := parseLatency(op + "=2s")
		require.NoError(t, err)
		assert.Contains(t, words, op)
	}
	seen := map[string]bool{}
	for _, fault := range append(aicontenttest.Faults(), aicontenttest.Stall(aicontenttest.MidUpload)) {
		_, err := parseFault("images.store:2:" + fault.Name)
		require.NoError(t, err)
		assert.False(t, seen[fault.Name], "two faults are called %s", fault.Name)
		seen[fault.Name] = true
		assert.Contains(t, words, fault.Name)
	}
}
