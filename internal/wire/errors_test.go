package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An error whose text mentions a refused stream may be of an earlier repeat.
func TestErrorThatOnlyMentionsARefusalIsNone(t *testing.T) {
	assert.False(t, Refused(errors.New("stream error: stream ID 1; REFUSED_STREAM")))
	assert.False(t, Refused(nil))
}

// Other reasons for a failed handshake may differ in another attempt.
func TestOnlyErrorsOfACertificateAreUntrusted(t *testing.T) {
	for err, want := range map[error]bool{
		&tls.CertificateVerificationError{Err: io.EOF}:     true,
		x509.UnknownAuthorityError{}:                       true,
		x509.HostnameError{Host: "example.com"}:            true,
		x509.CertificateInvalidError{Reason: x509.Expired}: true,
		tls.AlertError(70):                                 false,
		io.EOF:                                             false,
	} {
		assert.Equal(t, want, Untrusted(fmt.Errorf("wrapped: %w", err)), "%T", err)
	}
}
