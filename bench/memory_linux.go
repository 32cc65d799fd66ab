package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// memory is the physical memory that a process holds, in bytes.
type memory struct{ peak, now, program int64 }

// startMemory forgets the peak so far, so that what comes is the peak of what follows.
func startMemory() memory {
	// 5 resets the peak; where that is not allowed, the peak of the start stays in, and the figure is too small by less than that.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return readMemory()
}

// readMemory reads the peak, the present size, and the part of it that is the program's own file.
func readMemory() memory {
	var m memory
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return m
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			continue
		}
		switch name {
		case "VmHWM":
			m.peak = kib << 10
		case "VmRSS":
			m.now = kib << 10
		case "RssFile":
			m.program = kib << 10
		}
	}
	return m
}

// cpuTime is the process's own, in user and system mode.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
