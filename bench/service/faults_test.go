package service

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The counts of records made twice are worth nothing if the service does not do what a fault says.
func TestEachFaultDoesWhatItSays(t *testing.T) {
	tests := map[Fault]struct {
		status, made int // 0 is no response
		body         string
	}{
		ResetAtOnce:       {0, 0, ""},
		ResetInHeader:     {0, 0, ""},
		ResetBeforeActing: {0, 0, ""},
		BadGatewayBefore:  {502, 0, "bad gateway"},
		Unavailable:       {503, 0, "service unavailable"},
		RateLimited:       {429, 0, "too many attempts"},
		Portal:            {200, 0, "log in"},
		BadGatewayAfter:   {502, 1, "bad gateway"},
		LostResponse:      {0, 1, ""},
		ResetAfterActing:  {0, 1, ""},
		ResetInResponse:   {0, 1, ""},
	}
	require.Len(t, tests, int(FaultCount))
	for fault, want := range tests {
		t.Run(fault.String(), func(t *testing.T) {
			f, err := NewFaulty(Native, Plan{fault})
			require.NoError(t, err)
			defer f.Close()
			status, body := post(f.URL)
			assert.Equal(t, want.status, status)
			assert.Contains(t, body, want.body)
			assert.Equal(t, want.made, f.Made("one tower"))
			status, _ = post(f.URL)
			assert.Equal(t, http.StatusCreated, status, "what follows the plan succeeds")
			assert.Equal(t, want.made+1, f.Made("one tower"))
			assert.Equal(t, 2, f.Requests())
		})
	}
}

// post makes one record, and returns 0 where the response does not come in full.
func post(url string) (status int, body string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	const form = "application/x-www-form-urlencoded"
	resp, err := client.Post(url+"/tenant/api/v1/images", form, strings.NewReader("name=one+tower"))
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, strings.ToLower(string(text))
}

func TestTheSameSeedGivesTheSamePlans(t *testing.T) {
	plans := Plans(7, 66)
	assert.Equal(t, plans, Plans(7, 66))
	assert.NotEqual(t, plans, Plans(8, 66))
	first := map[Fault]int{}
	longer := 0
	for _, plan := range plans {
		first[plan[0]]++
		longer += len(plan) - 1
	}
	for fault := range FaultCount {
		assert.Equal(t, 6, first[fault], "%s comes as often as every other", fault)
	}
	assert.Positive(t, longer, "some operations meet two faults")
}
