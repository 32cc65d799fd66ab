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
type memory struct{ peak, now int64 }

// startMemory resets the peak. Before that it maps the program's file: it holds all SDKs, and which of its pages a
// first call touches is no cost of that call.
func startMemory() memory {
	populate()
	// 5 resets the peak; where that is not allowed, the peak of the start stays in, and the figure is too small by less
	// than that.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return readMemory()
}

// populate maps every page of the program's file. A kernel before 5.14 does not know how: the pages then count as the
// SDK's.
func populate() {
	const populateRead = 22 // MADV_POPULATE_READ
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if !strings.HasSuffix(strings.TrimSpace(line), self) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err == nil {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, populateRead)
		}
	}
}

// readMemory reads the peak and the present size.
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
		}
	}
	return m
}

// cpuTime is the CPU time of the process, in user and system mode.
func cpuTime() time.Duration { return usedBy(syscall.RUSAGE_SELF) }

func usedBy(who int) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(who, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// othersTime is the CPU time of all programs but this one and its children; of a virtual machine's neighbours,
// too.
func othersTime() time.Duration {
	var user, nice, system, idle, iowait, irq, softirq, steal int64 // in hundredths of a second
	text, err := os.ReadFile("/proc/stat")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d",
			&user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal)
	}
	if err != nil {
		return 0
	}
	all := time.Duration(user+nice+system+steal) * (time.Second / 100)
	return all - usedBy(syscall.RUSAGE_SELF) - usedBy(syscall.RUSAGE_CHILDREN)
}
