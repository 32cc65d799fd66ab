package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// oneCall is the work of building a program that makes one call.
const oneCall = "a program with one call"

// builds measures the program of each SDK: its size and packages.
func (r *runner) builds(ctx context.Context) error {
	for _, sdk := range r.sdks {
		if err := r.build(ctx, sdk.Name, "./onecall/"+strings.ReplaceAll(sdk.Name, "/", "")); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) build(ctx context.Context, sdk, dir string) error {
	binary := filepath.Join(r.scratch, "onecall")
	for _, m := range []measure{binarySize, strippedSize} {
		linker := map[measure]string{strippedSize: "-s -w"}
		if _, err := goTool(ctx, "build", "-ldflags="+linker[m], "-o", binary, dir); err != nil {
			return err
		}
		info, err := os.Stat(binary)
		if err != nil {
			return err
		}
		r.samples.add(oneCall, sdk, 0, m, float64(info.Size()))
	}
	list, err := goTool(ctx, "list", "-deps", "-f", "{{.Standard}}", dir)
	if err != nil {
		return err
	}
	// Both counts are without the program itself.
	r.samples.add(oneCall, sdk, 0, packages, float64(len(strings.Fields(list))-1))
	r.samples.add(oneCall, sdk, 0, foreign, float64(strings.Count(list, "false")-1))
	return nil
}

// goTool runs the go command and returns its output.
func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	// Killed, it would leave its own temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
