package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// oneCall is the work of building a program that makes one call.
const oneCall = "a program with one call"

// directories says where an SDK's program is, where not under its name.
var directories = map[string]string{clients.Reference: "nethttp"}

// builds measures the program of each SDK: its size and packages, and in a full run how long it takes to compile
// when nothing but the standard library has been compiled before.
func (r *runner) builds(ctx context.Context) error {
	if _, err := os.Stat("onecall"); err != nil {
		r.notes = append(r.notes, "The programs with one call were not built: the command was not run in bench/.")
		return nil
	}
	cache := filepath.Join(r.scratch, "cache")
	if r.plan.ColdBuilds {
		if err := prime(ctx, cache); err != nil {
			return err
		}
	}
	for _, sdk := range r.sdks {
		name := sdk.Name
		if directories[name] != "" {
			name = directories[name]
		}
		if err := r.build(ctx, sdk.Name, "./onecall/"+name, cache); err != nil {
			return err
		}
	}
	return nil
}

// prime compiles what any of the programs takes from the standard library: how long that takes says nothing of an SDK.
func prime(ctx context.Context, cache string) error {
	list, err := goTool(ctx, nil, "list", "-deps", "-f", "{{if .Standard}}{{.ImportPath}}{{end}}", "./onecall/...")
	if err != nil {
		return err
	}
	_, err = goTool(ctx, []string{"GOCACHE=" + cache}, append([]string{"build"}, strings.Fields(list)...)...)
	return err
}

func (r *runner) build(ctx context.Context, sdk, dir, primed string) error {
	binary := filepath.Join(r.scratch, "onecall")
	var env []string
	if r.plan.ColdBuilds {
		cache := filepath.Join(r.scratch, "cold")
		if err := os.CopyFS(cache, os.DirFS(primed)); err != nil {
			return err
		}
		defer os.RemoveAll(cache)
		env = []string{"GOCACHE=" + cache}
	}
	start := time.Now()
	build := goCommand(ctx, env, "build", "-o", binary, dir)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", dir, err, out)
	}
	if r.plan.ColdBuilds {
		r.samples.add(oneCall, sdk, 0, buildTime, time.Since(start).Seconds())
		r.samples.add(oneCall, sdk, 0, buildCPU, (build.ProcessState.UserTime() + build.ProcessState.SystemTime()).Seconds())
	}
	if err := r.addSize(sdk, binarySize, binary); err != nil {
		return err
	}
	if _, err := goTool(ctx, env, "build", "-ldflags=-s -w", "-o", binary, dir); err != nil {
		return err
	}
	if err := r.addSize(sdk, strippedSize, binary); err != nil {
		return err
	}
	list, err := goTool(ctx, nil, "list", "-deps", "-f", "{{.Standard}}", dir)
	if err != nil {
		return err
	}
	all := strings.Fields(list)
	outside := strings.Count(list, "false") - 1 // without the program itself
	r.samples.add(oneCall, sdk, 0, packages, float64(len(all)-1))
	r.samples.add(oneCall, sdk, 0, foreign, float64(outside))
	return nil
}

func (r *runner) addSize(sdk string, m measure, binary string) error {
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	r.samples.add(oneCall, sdk, 0, m, float64(info.Size()))
	return nil
}

func goCommand(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// goTool runs the go command here, with additions to the environment, and returns what it prints.
func goTool(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := goCommand(ctx, env, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
