package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/bench/clients"
)

// runner does the work of a plan and keeps the results.
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

// Results are the results of a run.
type Results struct {
	Date     string            `json:"date"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	CPUs     int               `json:"cpus"`
	Quick    bool              `json:"quick"`
	Only     string            `json:"only,omitempty"` // the kind of work; empty for all
	Seconds  float64           `json:"seconds"`
	Others   float64           `json:"others"`   // the share of the CPUs that other programs took; 0 outside Linux
	Versions map[string]string `json:"versions"` // by SDK
	Figures  []Figure          `json:"figures"`
}

func (r *runner) results(start time.Time, others time.Duration) *Results {
	took := time.Since(start)
	return &Results{
		Date: start.UTC().Format(time.DateOnly), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), Quick: r.plan.Quick, Only: r.only,
		Seconds:  took.Round(time.Second).Seconds(),
		Others:   others.Seconds() / took.Seconds() / float64(runtime.NumCPU()),
		Versions: versions(r.sdks), Figures: r.samples.figures(),
	}
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

// works lists the work done, in its order.
func (r *Results) works() (list []string) {
	for _, f := range r.Figures {
		if !slices.Contains(list, f.Work) {
			list = append(list, f.Work)
		}
	}
	return list
}

// rows are the SDKs that did a work, in the order of its table.
func (r *Results) rows(work string) (list []string) {
	for _, f := range r.Figures {
		if f.Work == work && !slices.Contains(list, f.SDK) {
			list = append(list, f.SDK)
		}
	}
	return list
}

// columns are the measures of a work, in the order of its table.
func (r *Results) columns(work string) (list []measure) {
	for _, f := range r.Figures {
		if f.Work == work && !slices.Contains(list, f.Measure) {
			list = append(list, f.Measure)
		}
	}
	return list
}

// busy reports whether other programs took so much of the CPUs that times say little.
func (r *Results) busy() bool { return r.Others > 0.1 }

// versions returns the versions of the SDKs in this program.
func versions(sdks []clients.SDK) map[string]string {
	found := map[string]string{}
	modules := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			modules[module.Path] = strings.TrimPrefix(module.Version, "v")
		}
	}
	for _, sdk := range sdks {
		switch sdk.Name {
		case clients.Reference:
			found[sdk.Name] = runtime.Version()
		case clients.Ours:
			found[sdk.Name] = aicontent.Version
		default:
			found[sdk.Name] = modules[sdk.Module]
		}
	}
	return found
}
