//go:build !race

package aicontent

// raceAllocations is the number of allocations that the race detector may add to a call.
const raceAllocations = 0
