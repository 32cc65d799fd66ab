// Package leaktest checks that calls leave no goroutine and no connection behind. It is a module of its own because of
// what it checks with.
package leaktest
