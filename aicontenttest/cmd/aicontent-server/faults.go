package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// faults are the faults of -fault.
var faults = append(aicontenttest.Faults(),
	aicontenttest.Stall(aicontenttest.BeforeRead), aicontenttest.Stall(aicontenttest.MidUpload),
	aicontenttest.Stall(aicontenttest.BeforeResponse), aicontenttest.Stall(aicontenttest.MidResponse),
)

// parseFault reads a -fault, which it queues at a server later.
func parseFault(text string) (queue func(*aicontenttest.Server), err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, errors.New("must be operation:n:fault, such as images.store:2:lose-response")
	}
	op, err := find("operation", parts[0], contract.Operations)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("n must be at least 1, not %q", parts[1])
	}
	name, err := find("fault", parts[2], names(faults))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(faults, func(f aicontenttest.Fault) bool { return f.Name == name })
	return func(srv *aicontenttest.Server) { srv.FaultOn(aicontent.Operation(op), n, faults[i]) }, nil
}

// parseLatency reads a -latency-on.
func parseLatency(text string) (aicontenttest.Option, error) {
	name, value, _ := strings.Cut(text, "=")
	op, err := find("operation", name, contract.Operations)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("the time must be like 2s or 500ms, not %q", value)
	}
	return aicontenttest.LatencyOn(aicontent.Operation(op), d), nil
}

// parseRate reads an -upload-rate.
func parseRate(text string) (aicontenttest.Option, error) {
	number := strings.TrimRight(text, "kMB")
	unit, known := map[string]int64{"": 1, "kB": 1e3, "MB": 1e6}[text[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if !known || err != nil || n < 1 || n > math.MaxInt64/unit {
		return nil, fmt.Errorf("the bytes per second must be like 65536, 500kB or 1MB, not %q", text)
	}
	return aicontenttest.SlowUpload(n * unit), nil
}

// find returns the name as an element of the list.
func find(kind, name string, list []string) (string, error) {
	if !slices.Contains(list, name) {
		all := strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
		return "", fmt.Errorf("unknown %s %q: must be one of %s", kind, name, all)
	}
	return name, nil
}

func names(faults []aicontenttest.Fault) (names []string) {
	for _, f := range faults {
		names = append(names, f.Name)
	}
	return names
}

// wrapped is a list in lines of less than 100 columns.
func wrapped[T ~string](list []T) string {
	text, column := "", 0
	for _, name := range list {
		if column += 2 + len(name); column > 98 {
			text, column = text+"\n", 2+len(name)
		}
		text += "  " + string(name)
	}
	return text + "\n"
}
