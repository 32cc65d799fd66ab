//go:build !linux

package main

import (
	"runtime/metrics"
	"time"
)

// memory is the memory of the Go runtime, in bytes: without /proc a process cannot learn its physical memory.
type memory struct{ peak, now int64 }

func startMemory() memory { return readMemory() }

// readMemory returns the memory that the runtime has mapped and kept. It seldom shrinks within seconds.
func readMemory() memory {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	held := int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
	return memory{peak: held, now: held}
}

// othersTime is not known without /proc.
func othersTime() time.Duration { return 0 }

// cpuTime is the runtime's estimate of time in Go code.
func cpuTime() time.Duration {
	sample := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
