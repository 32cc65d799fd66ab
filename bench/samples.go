package main

import (
	"slices"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// measure is the quantity of a figure, and its heading in a table.
type measure string

// The measures, with their units.
const (
	throughput     measure = "MiB/s"
	cpu            measure = "CPU s"
	allocated      measure = "bytes allocated"
	allocations    measure = "allocations"
	peak           measure = "peak memory over start, bytes"
	nanoseconds    measure = "ns"
	cpuNanoseconds measure = "CPU ns"
	rate           measure = "calls/s"
	seconds        measure = "s"
	operations     measure = "operations"
	doneOnce       measure = "made once and told"
	madeTwice      measure = "made twice"
	waiting        measure = "still waiting"
	hollow         measure = "success, none made"
	givenUp        measure = "given up, a retry could have saved"
	madeUntold     measure = "made, but told an error"
	requests       measure = "requests"
	binarySize     measure = "binary, bytes"
	strippedSize   measure = "binary without symbols, bytes"
	packages       measure = "packages"
	foreign        measure = "packages outside the standard library"
)

// sample is one value of one round.
type sample struct {
	work, sdk string
	measure   measure
	round     int
	value     float64
}

// samples are all values of a run, in the order in which they came.
type samples struct{ list []sample }

func (s *samples) add(work, sdk string, round int, m measure, value float64) {
	s.list = append(s.list, sample{work, sdk, m, round, value})
}

// Spread is a median with the least and the greatest value.
type Spread struct {
	Median   float64 `json:"median"`
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
}

// spreadOf takes the mean of the two in the middle for an even number of values, and zeros for none.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Spread{median, sorted[0], sorted[len(sorted)-1]}
}

// Figure is one SDK's value of one measure over all rounds.
type Figure struct {
	Work    string  `json:"work"`
	SDK     string  `json:"sdk"`
	Measure measure `json:"measure"`
	Rounds  int     `json:"rounds"`
	Value   Spread  `json:"value"`
	// Ratio is the value over the reference's of the same round; nil where the reference has none, or 0.
	Ratio *Spread `json:"ratio,omitempty"`
}

// figures sums the samples up, in the order in which works, SDKs and measures first came.
func (s *samples) figures() []Figure {
	type key struct {
		work, sdk string
		measure   measure
	}
	at := map[key]map[int]float64{}
	var order []key
	for _, one := range s.list {
		k := key{one.work, one.sdk, one.measure}
		if at[k] == nil {
			at[k] = map[int]float64{}
			order = append(order, k)
		}
		at[k][one.round] = one.value
	}
	figures := make([]Figure, 0, len(order))
	for _, k := range order {
		reference := at[key{k.work, clients.Reference, k.measure}]
		var values, ratios []float64
		for round, value := range at[k] {
			values = append(values, value)
			if base := reference[round]; base != 0 {
				ratios = append(ratios, value/base)
			}
		}
		f := Figure{Work: k.work, SDK: k.sdk, Measure: k.measure, Rounds: len(values), Value: spreadOf(values)}
		if len(ratios) > 0 {
			ratio := spreadOf(ratios)
			f.Ratio = &ratio
		}
		figures = append(figures, f)
	}
	return figures
}
