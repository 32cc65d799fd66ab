// Package leaks tests that calls leave no goroutine and no connection behind.
package leaks
