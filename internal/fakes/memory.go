package fakes

import "runtime"

// Allocated returns the number of bytes allocated on all goroutines during f, including memory freed since. Tests that
// run in parallel count too.
func Allocated(f func()) uint64 {
	before := memory().TotalAlloc
	f()
	return memory().TotalAlloc - before
}

// LiveHeap returns the number of heap bytes in use after a garbage collection.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	return memory().HeapAlloc
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}
