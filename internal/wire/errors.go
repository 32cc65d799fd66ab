package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrClearProxy is the error of a request whose Authorization header a proxy would see.
var ErrClearProxy = errors.New("a proxy would see the API key of an http:// base URL; " +
	"use https://, or name the host in NO_PROXY")

// ErrCutOff is matched by the error of a body that ends too early, or cannot be decompressed.
var ErrCutOff = errors.New("the response was cut off")

// Refused reports whether an HTTP/2 server said that it did not look at the request (RFC 9113, section 8.7). Only the
// typed error of net/http counts: an error that mentions it in its text may be of an earlier repeat.
func Refused(err error) bool {
	const refusedStream = 0x7
	stream, ok := errors.AsType[streamError](err)
	return ok && stream.Code == refusedStream
}

// streamError has the fields of net/http's HTTP/2 stream error, which fills it in for [errors.As].
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "stream error" }

// Untrusted reports whether the server's certificate was not accepted, which another attempt does not change.
func Untrusted(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(x509.CertificateInvalidError))
}

// TimeoutError is the error of an attempt that took longer than its [Limits], which does not end the call: it
// is an [os.ErrDeadlineExceeded], never a [context.DeadlineExceeded]. It implements [net.Error].
type TimeoutError struct {
	Phase  Phase // that took too long
	Limit  time.Duration
	Option string // sets the limit of the wait for a response; empty for any other phase
	Source error  // that the error matches; nil for none
}

func (e *TimeoutError) Error() string {
	text := "no complete response within %v (" + e.Option + ")"
	switch e.Phase {
	case Reading:
		text = "the upload stalled: the file returned no bytes for %v (WithStallTimeout)"
	case Receiving:
		text = "the download stalled: no bytes arrived for %v (WithStallTimeout)"
	case Sending:
		text = "the upload stalled: the network accepted no bytes for %v (WithStallTimeout)"
	}
	return fmt.Sprintf(text, e.Limit)
}

// Timeout is always true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary is always true.
func (e *TimeoutError) Temporary() bool { return true }

// Is reports whether target is [os.ErrDeadlineExceeded], or the error of a source that stalled.
func (e *TimeoutError) Is(target error) bool {
	return target == os.ErrDeadlineExceeded || e.Source != nil && target == e.Source
}
