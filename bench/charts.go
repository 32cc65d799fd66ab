package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// charts are the drawings of a run, by file name.
var charts = map[string]func(string, *Results) error{
	"memory.svg": drawMemory, "list.svg": drawList, "twice.svg": drawTwice, "outage.svg": drawOutage, "walk.svg": drawWalk,
}

// rows makes a row for each SDK, with a bar for each work and measure. Missing is written where there is no figure.
func rows(r *Results, scale float64, unit, missing string, works []string, measures []measure) []barRow {
	var list []barRow
	for _, sdk := range clients.All() {
		row := barRow{name: sdk.Name}
		for i, work := range works {
			b := bar{text: missing}
			if f := r.find(work, sdk.Name, measures[i]); f != nil {
				v := f.Value.Median * scale
				b = bar{v, strings.TrimSpace(thousands(v) + " " + unit)}
			}
			row.bars = append(row.bars, b)
		}
		list = append(list, row)
	}
	return list
}

// drawList draws the time of a list of 100 records, with the stub and over loopback.
func drawList(path string, r *Results) error {
	chart := barChart{
		title: "Time of a list of 100 records", subtitle: "Median of one call. Shorter is better.", axis: "time, µs",
		series: []string{"transport in memory: the client's work alone", "over loopback, to a server in another process"},
		rows:   rows(r, 1e-3, "µs", "not measured", []string{"list, stub", "list, loopback"}, []measure{nanoseconds, nanoseconds}),
	}
	for i := range chart.rows {
		for k := range chart.rows[i].bars {
			b := &chart.rows[i].bars[k]
			if b.value > 0 {
				b.text = thousands(math.Round(b.value)) + " µs"
			}
		}
	}
	return chart.draw(path)
}

const noRetries = "no retries"

// drawTwice draws how many records were made twice.
func drawTwice(path string, r *Results) error {
	operated := 0.0
	if f := r.find(defaultRetries, clients.Ours, operations); f != nil {
		operated = f.Value.Median
	}
	chart := barChart{
		title:    "Records made twice under faults",
		subtitle: fmt.Sprintf("Of %.0f operations that create one record each and meet a fault, or two. Shorter is better.", operated),
		axis:     "operations that made more than one record", series: []string{"as it comes", "retries as documented"},
		rows: rows(r, 1, "", noRetries, []string{defaultRetries, documentedRetries}, []measure{madeTwice, madeTwice}),
	}
	return chart.draw(path)
}

// drawOutage draws how many requests a number of calls become while a gateway answers 502.
func drawOutage(path string, r *Results) error {
	calls := 0.0
	if f := r.find(outageWork(badGateway), clients.Reference, requests); f != nil {
		calls = f.Value.Median
	}
	chart := barChart{
		title:    "Requests in an outage",
		subtitle: fmt.Sprintf("What %s calls at once become while a gateway answers each request with 502. Shorter is better.", thousands(calls)),
		axis:     "requests sent", series: []string{"as it comes", "retries as documented"}, mark: calls, markText: thousands(calls) + " calls",
		rows: rows(r, 1, "", noRetries, []string{outageWork(badGateway), outageWork(badGateway)}, []measure{requests, requestsDocumented}),
	}
	return chart.draw(path)
}

// drawWalk draws the time of a walk over a service with latency.
func drawWalk(path string, r *Results) error {
	chart := barChart{
		title:    "Time of a walk over 100 pages",
		subtitle: fmt.Sprintf("Each response takes %d ms. Shorter is better.", latency.Milliseconds()),
		axis:     "time, s",
		rows:     rows(r, 1, "s", "not measured", []string{latencyWork}, []measure{seconds}),
	}
	if f := r.find(aheadWork, clients.Ours, seconds); f != nil {
		name := fmt.Sprintf("%s, %d ahead", clients.Ours, pagesAhead)
		chart.rows = append(chart.rows, barRow{name, []bar{{f.Value.Median, number(f.Value.Median) + " s"}}})
	}
	return chart.draw(path)
}
