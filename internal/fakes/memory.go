package fakes

import "runtime"

// Allocated returns how many bytes f allocates, on all goroutines; what was freed again counts too. Tests that run in
// parallel count as well.
func Allocated(f func()) uint64 {
	before := memory().TotalAlloc
	f()
	return memory().TotalAlloc - before
}

// LiveHeap returns how many bytes of the heap are in use.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	return memory().HeapAlloc
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}
