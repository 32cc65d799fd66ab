//go:build unix

// Command lanes runs the sections of .ci/run and ends with a summary:
//
//	lanes PROGRAM LANE... [then LANE...]...
//
// Each line of a lane is a section: a run of PROGRAM with the line as its argument. The sections of a lane run one
// after the other, beside those of other lanes. Lanes behind a "then" wait until all earlier lanes have ended.
//
// A section that fails stops no other section. The exit status is 1 if a section failed. A signal ends all sections.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	limit = 20 * time.Minute // of a section
	grace = 5 * time.Second  // for the processes of a section told to end
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(),
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM)
	defer stop()
	if !run(ctx, os.Stdout, os.Args[1], os.Args[2:]) {
		os.Exit(1)
	}
}

// run runs all lanes and reports whether every section passed. It writes the output of a section when the section ends.
func run(ctx context.Context, out io.Writer, program string, lanes []string) bool {
	start, summary, failed := time.Now(), "", 0
	var mu sync.Mutex // guards out, summary and failed
	var running sync.WaitGroup
	for _, lane := range lanes {
		if lane == "then" {
			running.Wait()
			continue
		}
		running.Go(func() {
			for line := range strings.Lines(strings.TrimSpace(lane)) {
				section, start := strings.TrimSpace(line), time.Now()
				output, err := runSection(ctx, program, section)
				took, verdict := time.Since(start).Seconds(), "ok"
				mu.Lock()
				if err != nil {
					verdict = "FAILED"
					failed++
					output = fmt.Appendln(output, err)
				}
				fmt.Fprintf(out, "\n=== %s\n%s--- %s: %s (%.0f s)\n", section, output, section, verdict, took)
				summary += fmt.Sprintf("%-6s %5.0f s  %s\n", verdict, took, section)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	fmt.Fprintf(out, "\n=== Summary after %.0f s\n%s%d failed\n", time.Since(start).Seconds(), summary, failed)
	return failed == 0
}

// runSection runs a section in a process group of its own, and kills the processes that the section leaves there.
func runSection(ctx context.Context, program, section string) (output []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, section)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	// CombinedOutput returns when no process holds the output any longer, at the latest after this time.
	cmd.WaitDelay = grace
	output, err = cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return output, err
}
