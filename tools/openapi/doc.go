// Package openapi checks openapi.yaml with a validator that knows nothing of this project: against what the SDK
// sends, what the test kit responds, and the values that the SDK documents.
package openapi
