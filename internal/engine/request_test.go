package engine

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aicontent/aicontent-go/internal/fakes"
	"github.com/aicontent/aicontent-go/internal/redact"
)

func TestRequestIDIsReadFromTheUsualHeaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"X-Request-Id", "Request-Id", "X-Correlation-Id", "X-Amzn-RequestId", "X-Amzn-Trace-Id", "X-Trace-Id", "CF-Ray",
	} {
		header := http.Header{"X-Other": {"other"}}
		header.Set(name, "req-7")
		assert.Equal(t, "req-7", (&Reply{Header: header}).RequestID(), name)
	}
	assert.Empty(t, (&Reply{Header: http.Header{"X-Other": {"other"}}}).RequestID())
	assert.Empty(t, (&Reply{}).RequestID())
}

func TestTheServicesRequestIDCountsBeforeThatOfAProxy(t *testing.T) {
	t.Parallel()
	for want, header := range map[string]http.Header{
		"service": {"X-Request-Id": {"service", "again"}, "Cf-Ray": {"proxy"}},
		"proxy":   {"X-Request-Id": {""}, "X-Trace-Id": {}, "Cf-Ray": {"proxy"}},
	} {
		assert.Equal(t, want, (&Reply{Header: header}).RequestID())
	}
}

// A request ID ends up in logs, which are read line by line.
func TestRequestIDIsShortMaskedAndOnOneLine(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		strings.Repeat("a", 200):         strings.Repeat("a", 200),
		strings.Repeat("a", 201):         strings.Repeat("a", 200) + "…",
		"a\x1b[31mb\r\nc\u202ed":         "a [31mb c d",
		"for " + fakes.Key + " on host":  "for [API key] on host",
		"key-number-1 then key-number-2": "[API key] then [API key]",
		"\x00\x07":                       "",
	} {
		reply := Reply{
			Header: http.Header{"X-Request-Id": {id}}, Keys: redact.Keys{fakes.Key, "key-number-1", "key-number-2"},
		}
		assert.Equal(t, want, reply.RequestID(), "%q", id)
	}
	cut := Reply{
		Header: http.Header{"X-Request-Id": {strings.Repeat("a", 190) + fakes.Key}}, Keys: redact.Keys{fakes.Key},
	}
	assert.NotContains(t, cut.RequestID(), fakes.Key[:8], "it is masked before it is cut")
}

func TestKeysOfACredentialAreThoseToMask(t *testing.T) {
	t.Parallel()
	assert.Equal(t, redact.Keys{fakes.Key}, NewCredential(fakes.Key).Keys())
	assert.Empty(t, (*Credential)(nil).Keys(), "a picture is fetched without a key")
}
