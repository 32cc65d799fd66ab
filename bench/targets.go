package main

import (
	"fmt"
	"go/version"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// Target is something that this SDK sets out to reach, and whether it did in this run.
type Target struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
}

// targets judges the medians of a run. Work that was left out has none.
func targets(r *Results) []Target {
	return slices.Concat(
		callTargets(r), uploadTargets(r), outageTargets(r), walkTargets(r), sizeTargets(r), faultTargets(r),
	)
}

// limits are the aims that depend on the version of Go.
type limits struct {
	show, list       float64 // time, as a ratio to net/http by hand
	binary, stripped float64 // MB over the program with net/http by hand
}

// limitsFor returns the limits for a run with that version of Go. The sizes are those that this
// SDK had before its core was rewritten: it must not grow.
func limitsFor(goVersion string) limits {
	// Go 1.27 made encoding/json faster and net/http leaner, from which the reference gains more than this SDK.
	if version.Compare(version.Lang(goVersion), "go1.27") >= 0 {
		return limits{show: 1.20, list: 0.90, binary: 0.99, stripped: 0.70}
	}
	return limits{show: 1.10, list: 0.75, binary: 1.01, stripped: 0.73}
}

func callTargets(r *Results) (list []Target) {
	limit := limitsFor(r.Go)
	for _, call := range []struct {
		work  string
		limit float64
	}{{"show, stub", limit.show}, {"list, stub", limit.list}} {
		if f := r.find(call.work, clients.Ours, nanoseconds); f != nil && f.Ratio != nil {
			list = append(list, atMostReference(f, "time", call.limit))
			list = append(list, ahead(r, f, "time", "SDK", anySDK)...)
		}
	}
	many := fmt.Sprintf("show from %d goroutines", goroutines)
	if f := r.find(many, clients.Ours, rate); f != nil {
		best, name := best(r, f, anySDK)
		ratio := f.Value.Median / best
		list = append(list, Target{
			many + ": calls/s over the best SDK's", "≥ 1.25 of " + name, fmt.Sprintf("%.2f", ratio), ratio >= 1.25,
		})
	}
	return list
}

func uploadTargets(r *Results) (list []Target) {
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.SDK != clients.Ours || !strings.Contains(f.Work, "upload") {
			continue
		}
		switch together := strings.HasSuffix(f.Work, "at once"); {
		case f.Measure == peak && together:
			list = append(list, atMostMiB(f, 16))
		case f.Measure == peak:
			list = append(list, atMostMiB(f, 1.5))
		case together || f.Ratio == nil || f.Measure != throughput && f.Measure != cpu:
		case strings.HasSuffix(f.Work, "warm"):
			// Each create request of this SDK pays for a new connection, the other SDKs use theirs again.
			list = append(list, ahead(r, f, string(f.Measure), "SDK that sends a form", sendsForm)...)
		case f.Measure == throughput:
			what := f.Work + ": throughput over net/http by hand"
			list = append(list, Target{what, "≥ 0.97", ratioText(f.Ratio), f.Ratio.Median >= 0.97})
		default:
			list = append(list, atMostReference(f, "CPU time", 1.05))
		}
	}
	return list
}

func outageTargets(r *Results) (list []Target) {
	for _, outage := range outages {
		for _, m := range []measure{requests, requestsDocumented} {
			if f := r.find(outageWork(outage), clients.Ours, m); f != nil {
				list = append(list, Target{
					fmt.Sprintf("%s: %s", f.Work, m), fmt.Sprintf("≤ %d", outageMost),
					number(f.Value.Median), f.Value.Median <= outageMost,
				})
			}
		}
	}
	return list
}

func walkTargets(r *Results) []Target {
	page, ahead := r.find(latencyWork, clients.Ours, seconds), r.find(aheadWork, clients.Ours, seconds)
	if page == nil || ahead == nil {
		return nil
	}
	ratio := ahead.Value.Median / page.Value.Median
	what := aheadWork + ": time over a page at a time"
	return []Target{{what, "≤ 0.167", fmt.Sprintf("%.3f", ratio), ratio <= 1.0/6}}
}

func sizeTargets(r *Results) (list []Target) {
	limit := limitsFor(r.Go)
	for _, size := range []struct {
		measure measure
		limit   float64
	}{{binarySize, limit.binary}, {strippedSize, limit.stripped}} {
		ours, hand := r.find(oneCall, clients.Ours, size.measure), r.find(oneCall, clients.Reference, size.measure)
		if ours == nil || hand == nil {
			continue
		}
		more := (ours.Value.Median - hand.Value.Median) / 1e6
		file := strings.TrimSuffix(string(size.measure), ", bytes")
		list = append(list, Target{
			fmt.Sprintf("%s: %s over net/http by hand", oneCall, file), fmt.Sprintf("≤ +%.2f MB", size.limit),
			fmt.Sprintf("%+.2f MB", more), more <= size.limit,
		})
	}
	return list
}

func faultTargets(r *Results) (list []Target) {
	for _, work := range []string{defaultRetries, documentedRetries} {
		if f := r.find(work, clients.Ours, madeTwice); f != nil {
			list = append(list, Target{work + ": records made twice", "0", number(f.Value.Median), f.Value.Median == 0})
		}
	}
	return list
}

func atMostMiB(f *Figure, limit float64) Target {
	got := f.Value.Median / mib
	what := f.Work + ": peak memory over start"
	return Target{what, fmt.Sprintf("≤ %v MiB", limit), fmt.Sprintf("%.2f MiB", got), got <= limit}
}

func atMostReference(f *Figure, what string, limit float64) Target {
	return Target{
		fmt.Sprintf("%s: %s over net/http by hand", f.Work, what), fmt.Sprintf("≤ %.2f", limit),
		ratioText(f.Ratio), f.Ratio.Median <= limit,
	}
}

// The peers that a figure is compared with.
func anySDK(clients.SDK) bool { return true }

func sendsForm(sdk clients.SDK) bool { return sdk.Form }

// ahead is the aim to be better than every such SDK; there is none where no such SDK did the work.
func ahead(r *Results, f *Figure, what, whom string, such func(clients.SDK) bool) []Target {
	best, name := best(r, f, such)
	if name == "" {
		return nil
	}
	ratio, sign, met := f.Value.Median/best, "<", f.Value.Median < best
	if more(f.Measure) {
		sign, met = ">", f.Value.Median > best
	}
	return []Target{{
		fmt.Sprintf("%s: %s ahead of every %s", f.Work, what, whom),
		fmt.Sprintf("%s 1.00 of the best, %s", sign, name), fmt.Sprintf("%.2f", ratio), met,
	}}
}

// more reports whether a greater value of the measure is better.
func more(m measure) bool { return m == throughput || m == rate }

// best is the best median of such SDKs, net/http by hand and this one aside; its name is empty where there is none.
func best(r *Results, ours *Figure, such func(clients.SDK) bool) (value float64, name string) {
	for _, sdk := range clients.All() {
		f := r.find(ours.Work, sdk.Name, ours.Measure)
		if f == nil || sdk.Name == clients.Ours || sdk.Name == clients.Reference || !such(sdk) {
			continue
		}
		if name == "" || more(f.Measure) == (f.Value.Median > value) {
			value, name = f.Value.Median, f.SDK
		}
	}
	return value, name
}
