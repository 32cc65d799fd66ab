package main

import (
	"fmt"
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

// targets judges the medians of a run. A work that was left out has none.
func targets(r *Results) []Target {
	var list []Target
	add := func(what, want string, got string, met bool) { list = append(list, Target{what, want, got, met}) }
	for _, c := range []struct {
		work string
		most float64
	}{{"show, stub", 1.00}, {"list, stub", 0.60}} {
		if f := r.find(c.work, clients.Ours, nanoseconds); f != nil && f.Ratio != nil {
			add(c.work+": time over net/http by hand", fmt.Sprintf("≤ %.2f", c.most), ratioText(f.Ratio), f.Ratio.Median <= c.most)
			best, name := best(r, c.work, nanoseconds, false)
			add(c.work+": ahead of every SDK", "< 1.00 of the best, "+name, fmt.Sprintf("%.2f", f.Value.Median/best), f.Value.Median < best)
		}
	}
	many := fmt.Sprintf("show from %d goroutines", goroutines)
	if f := r.find(many, clients.Ours, rate); f != nil {
		best, name := best(r, many, rate, true)
		add(many+": calls/s over the best SDK's", "≥ 1.25 of "+name, fmt.Sprintf("%.2f", f.Value.Median/best), f.Value.Median >= 1.25*best)
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.SDK != clients.Ours || !strings.Contains(f.Work, "upload") {
			continue
		}
		switch {
		case f.Measure == peak && strings.Contains(f.Work, "at once"):
			add(f.Work+": peak memory over start", "≤ 16 MiB", mebibytes(f.Value.Median), f.Value.Median <= 16*mib)
		case f.Measure == peak:
			add(f.Work+": peak memory over start", "≤ 1.5 MiB", mebibytes(f.Value.Median), f.Value.Median <= 1.5*mib)
		case f.Measure == throughput && f.Ratio != nil && !strings.Contains(f.Work, "at once"):
			add(f.Work+": throughput over net/http by hand", "≥ 0.97", ratioText(f.Ratio), f.Ratio.Median >= 0.97)
		case f.Measure == cpu && f.Ratio != nil && !strings.Contains(f.Work, "at once"):
			add(f.Work+": CPU time over net/http by hand", "≤ 1.05", ratioText(f.Ratio), f.Ratio.Median <= 1.05)
		}
	}
	for _, outage := range outages {
		for _, m := range []measure{requests, requestsDocumented} {
			if f := r.find(outageWork(outage), clients.Ours, m); f != nil {
				add(fmt.Sprintf("%s: %s", f.Work, m), fmt.Sprintf("≤ %d", outageMost), number(f.Value.Median), f.Value.Median <= outageMost)
			}
		}
	}
	page, ahead := r.find(latencyWork, clients.Ours, seconds), r.find(aheadWork, clients.Ours, seconds)
	if page != nil && ahead != nil {
		ratio := ahead.Value.Median / page.Value.Median
		add(aheadWork+": time over a page at a time", "≤ 0.167", fmt.Sprintf("%.3f", ratio), ratio <= 1.0/6)
	}
	for _, m := range []measure{binarySize, strippedSize} {
		ours, hand := r.find(oneCall, clients.Ours, m), r.find(oneCall, clients.Reference, m)
		if ours != nil && hand != nil {
			more := (ours.Value.Median - hand.Value.Median) / 1e6
			add(oneCall+": "+strings.TrimSuffix(string(m), ", bytes")+" over net/http and json alone", "≤ +0.5 MB", fmt.Sprintf("+%.2f MB", more), more <= 0.5)
		}
	}
	for _, work := range []string{defaultRetries, documentedRetries} {
		if f := r.find(work, clients.Ours, madeTwice); f != nil {
			add(work+": records made twice", "0", fmt.Sprintf("%.0f", f.Value.Median), f.Value.Median == 0)
		}
	}
	return list
}

// best is the best median of the SDKs that are neither the reference nor this one.
func best(r *Results, work string, m measure, high bool) (value float64, name string) {
	for _, f := range r.Figures {
		if f.Work != work || f.Measure != m || f.SDK == clients.Ours || f.SDK == clients.Reference {
			continue
		}
		if name == "" || high == (f.Value.Median > value) {
			value, name = f.Value.Median, f.SDK
		}
	}
	return value, name
}
