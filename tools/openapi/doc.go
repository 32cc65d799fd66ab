// Package openapi checks openapi.yaml with a validator that knows nothing of this project: against the
// requests of the SDK, the responses of the test kit, and the documented values.
package openapi
