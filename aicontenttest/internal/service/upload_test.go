package service

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReportSaysWhatWasReceived(t *testing.T) {
	u := Upload{Size: 40044, SHA256: "abab"}
	assert.Equal(t, "No transcript: this is a test server. It received 40044 bytes, sha256 abab.", u.report())
}
