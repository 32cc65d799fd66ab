package main

import (
	"fmt"
	"go/version"
	"math"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// target is something that this SDK sets out to reach, and whether it did in this run.
type target struct {
	What, Want, Got string
	Met             bool
}

func atMost(what string, got, limit float64, unit string) target {
	return target{what, "≤ " + number(limit) + unit, number(got) + unit, got <= limit}
}

func atLeast(what string, got, limit float64) target {
	return target{what, "≥ " + number(limit), number(got), got >= limit}
}

// limits are the aims that depend on the version of Go.
type limits struct {
	show, list       float64 // time, as a ratio to net/http by hand
	binary, stripped float64 // MB over the program with net/http by hand
}

// limitsFor returns the limits for a run with that version of Go. The sizes are those of this SDK before its core was
// rewritten: it must not grow.
func limitsFor(goVersion string) limits {
	// Go 1.27 made encoding/json faster and net/http leaner, from which the reference gains more than this SDK.
	if version.Compare(version.Lang(goVersion), "go1.27") >= 0 {
		return limits{show: 1.20, list: 0.90, binary: 0.99, stripped: 0.70}
	}
	return limits{show: 1.10, list: 0.75, binary: 1.01, stripped: 0.73}
}

// targets judges the medians of a run. Work that was left out has none.
func targets(r *Results) (list []target) {
	limit := limitsFor(r.Go)
	for i := range r.Figures {
		f := &r.Figures[i]
		switch {
		case !strings.HasPrefix(f.SDK, clients.Ours):
		case strings.Contains(f.Work, "upload"):
			list = append(list, uploadTargets(r, f)...)
		case f.Work == "show, stub" && f.Measure == nanoseconds:
			list = append(list, atMost(f.Work+": time over net/http by hand", f.Ratio.Median, limit.show, ""))
			list = append(list, ahead(r, f, false, 1.05)...)
		// The runtime adds a few allocations, which are not those of a call.
		case f.Work == "show, stub" && f.Measure == allocations:
			list = append(list, atMost(f.Work+": allocations", math.Round(f.Value.Median), 28, ""))
		case f.Work == "list, stub" && f.Measure == allocations:
			list = append(list, atMost(f.Work+": allocations", math.Round(f.Value.Median), 290, ""))
		case f.Work == "list, stub" && f.Measure == nanoseconds:
			list = append(list, atMost(f.Work+": time over net/http by hand", f.Ratio.Median, limit.list, ""))
			list = append(list, ahead(r, f, false, 1)...)
		case f.Measure == rate:
			list = append(list, ahead(r, f, false, 1.25)...)
		case f.Work == "create, loopback with TLS" && f.Measure == nanoseconds:
			// A connection for each create request has its price, which must not grow. In a call of minutes it is the
			// difference that counts.
			more := f.Value.Median - r.find(f.Work, clients.Reference, f.Measure).Value.Median
			list = append(list, atMost(f.Work+": time more than net/http by hand", more/1e6, 1.5, " ms"))
		case f.SDK == onceSecond && f.Measure == doneOnce:
			all := r.find(f.Work, f.SDK, operations).Value.Median
			list = append(list, atLeast(f.Work+", "+f.SDK+": records made once, and told", f.Value.Median, all))
		case f.Measure == madeTwice:
			list = append(list, atMost(f.Work+", "+f.SDK+": records made twice", f.Value.Median, 0, ""))
		case strings.HasPrefix(f.Work, "outage") && f.Measure == requests:
			// The retry budget allows a hundred requests more than there are calls.
			var calls float64
			_, _ = fmt.Sscanf(f.Work, "outage of %f calls", &calls)
			list = append(list, atMost(f.Work+": requests", f.Value.Median, calls+100, ""))
		case f.Measure == binarySize:
			list = append(list, larger(r, f, limit.binary))
		case f.Measure == strippedSize:
			list = append(list, larger(r, f, limit.stripped))
		}
	}
	return list
}

// larger is the aim of a program to be larger than the reference's by no more than a limit.
func larger(r *Results, f *Figure, limit float64) target {
	what := fmt.Sprintf("%s: %s over net/http by hand", f.Work, strings.TrimSuffix(string(f.Measure), ", bytes"))
	hand := r.find(f.Work, clients.Reference, f.Measure)
	return atMost(what, (f.Value.Median-hand.Value.Median)/1e6, limit, " MB")
}

func uploadTargets(r *Results, f *Figure) []target {
	switch together := strings.HasSuffix(f.Work, "at once"); {
	case f.Measure == peak && together:
		return []target{atMost(f.Work+": peak memory over start", f.Value.Median/mib, 16, " MiB")}
	case f.Measure == peak:
		return []target{atMost(f.Work+": peak memory over start", f.Value.Median/mib, 1.5, " MiB")}
	case together || f.Measure != throughput && f.Measure != cpu:
		return nil
	case strings.HasSuffix(f.Work, "warm"):
		// Each create request of this SDK pays for a new connection, the other SDKs use theirs again.
		return ahead(r, f, true, 1)
	case f.Measure == throughput:
		return []target{atLeast(f.Work+": throughput over net/http by hand", f.Ratio.Median, 0.97)}
	}
	return []target{atMost(f.Work+": CPU time over net/http by hand", f.Ratio.Median, 1.05, "")}
}

// ahead is the aim not to be behind any other SDK, or any that sends a form. There is none if no such SDK did the work.
func ahead(r *Results, f *Figure, form bool, limit float64) []target {
	more := f.Measure == throughput || f.Measure == rate
	best, name := 0.0, ""
	for _, sdk := range clients.All() {
		other := r.find(f.Work, sdk.Name, f.Measure)
		if other == nil || sdk.Name == clients.Ours || sdk.Name == clients.Reference || form && !sdk.Form {
			continue
		}
		if name == "" || more == (other.Value.Median > best) {
			best, name = other.Value.Median, sdk.Name
		}
	}
	if name == "" {
		return nil
	}
	what := fmt.Sprintf("%s: %s over those of %s, the best other SDK", f.Work, f.Measure, name)
	if form {
		what += " that sends a form"
	}
	if more {
		return []target{atLeast(what, f.Value.Median/best, limit)}
	}
	return []target{atMost(what, f.Value.Median/best, limit, "")}
}
