package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

var operations = []aicontenttest.Operation{
	aicontenttest.ImagesList, aicontenttest.ImagesShow, aicontenttest.ImagesStore, aicontenttest.ImagesUpdate,
	aicontenttest.ImagesDelete, aicontenttest.ImagesDownload,
	aicontenttest.TranscriptionsList, aicontenttest.TranscriptionsShow, aicontenttest.TranscriptionsStore,
	aicontenttest.TranscriptionsUpdate, aicontenttest.TranscriptionsDelete,
}

// faults are those that -fault knows.
var faults = append(aicontenttest.Faults(),
	aicontenttest.Stall(aicontenttest.BeforeRead), aicontenttest.Stall(aicontenttest.MidUpload),
	aicontenttest.Stall(aicontenttest.BeforeResponse), aicontenttest.Stall(aicontenttest.MidResponse),
)

// A plannedFault is a -fault.
type plannedFault struct {
	op    aicontenttest.Operation
	n     int
	fault aicontenttest.Fault
}

func parseFault(text string) (plannedFault, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return plannedFault{}, errors.New("must be operation:n:fault, such as images.store:2:lose-response")
	}
	op, err := parseOperation(parts[0])
	if err != nil {
		return plannedFault{}, err
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 1 {
		return plannedFault{}, fmt.Errorf("n must be at least 1, not %q", parts[1])
	}
	i := slices.IndexFunc(faults, func(f aicontenttest.Fault) bool { return f.Name == parts[2] })
	if i < 0 {
		const text = "unknown fault %q: must be one of %s"
		return plannedFault{}, fmt.Errorf(text, parts[2], strings.Join(names(faults), ", "))
	}
	return plannedFault{op, n, faults[i]}, nil
}

func parseLatency(text string) (aicontenttest.Option, error) {
	name, value, _ := strings.Cut(text, "=")
	op, err := parseOperation(name)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("the time must be like 2s or 500ms, not %q", value)
	}
	return aicontenttest.LatencyOn(op, d), nil
}

func parseOperation(name string) (aicontenttest.Operation, error) {
	op := aicontenttest.Operation(name)
	if !slices.Contains(operations, op) {
		return "", fmt.Errorf("unknown operation %q: must be one of %s", name, joined(operations))
	}
	return op, nil
}

func names(faults []aicontenttest.Fault) []string {
	var list []string
	for _, f := range faults {
		list = append(list, f.Name)
	}
	return list
}

func joined(operations []aicontenttest.Operation) string {
	var list []string
	for _, op := range operations {
		list = append(list, string(op))
	}
	return strings.Join(list, ", ")
}

// faultsExplained lists what -fault and -latency-on accept.
func faultsExplained() string {
	var spares, acts []string
	for _, f := range faults {
		if f.Acts {
			acts = append(acts, f.Name)
		} else {
			spares = append(spares, f.Name)
		}
	}
	return "Operations:\n" + wrapped(strings.Split(joined(operations), ", ")) +
		"\nFaults that leave the request unexecuted (late-act executes it 50 ms later):\n" + wrapped(spares) +
		"\nFaults after a record was created, changed or deleted:\n" + wrapped(acts)
}

// wrapped is a list in lines of less than 100 columns.
func wrapped(list []string) string {
	var b strings.Builder
	column := 0
	for _, word := range list {
		if column > 0 && column+len(word) > 94 {
			b.WriteString("\n")
			column = 0
		}
		b.WriteString("  " + word)
		column += 2 + len(word)
	}
	return b.String() + "\n"
}
