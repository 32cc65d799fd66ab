package main

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// runner does the work of a plan and keeps what it came to.
type runner struct {
	plan    plan
	only    string // the kind of work; empty for all
	scratch string // a directory that goes when the run ends
	sdks    []clients.SDK
	samples *samples
}

func (r *runner) rotate(rounds int, do func(round int, sdk clients.SDK) error) error {
	return rotate(r.sdks, rounds, do)
}

// rotate begins each round with another SDK and goes the other way round every second time, so that none always follows
// the same one.
func rotate(sdks []clients.SDK, rounds int, do func(round int, sdk clients.SDK) error) error {
	for round := range rounds {
		for i := range sdks {
			if round%2 == 1 {
				i = len(sdks) - i
			}
			if err := do(round, sdks[(i+round)%len(sdks)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Results is what a run came to.
type Results struct {
	Date     string            `json:"date"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	CPUs     int               `json:"cpus"`
	Quick    bool              `json:"quick"`
	Only     string            `json:"only,omitempty"` // the kind of work; empty for all
	Seconds  float64           `json:"seconds"`
	Versions map[string]string `json:"versions"` // by SDK
	Figures  []Figure          `json:"figures"`
	Targets  []Target          `json:"targets"`
}

func (r *runner) results(start time.Time) *Results {
	results := &Results{
		Date: start.UTC().Format(time.DateOnly), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), Quick: r.plan.Quick, Only: r.only,
		Seconds:  time.Since(start).Round(time.Second).Seconds(),
		Versions: versions(r.sdks), Figures: r.samples.figures(),
	}
	results.Targets = targets(results)
	return results
}

// find is the figure of a work, SDK and measure; nil where there is none.
func (r *Results) find(work, sdk string, m measure) *Figure {
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Work == work && f.SDK == sdk && f.Measure == m {
			return f
		}
	}
	return nil
}

// versions reads those that were built in.
func versions(sdks []clients.SDK) map[string]string {
	found := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	for _, sdk := range sdks {
		if sdk.Module == "" {
			found[sdk.Name] = runtime.Version()
		}
		if !ok {
			continue
		}
		for _, module := range info.Deps {
			if module.Path == sdk.Module {
				found[sdk.Name] = module.Version
			}
		}
	}
	return found
}
