package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/bench/clients"
)

// sampleResults are those of a small run, with good news and bad.
func sampleResults() *Results {
	s := &samples{}
	for i, sdk := range clients.All() {
		v := float64(i + 1)
		s.add("show, stub", sdk.Name, 0, nanoseconds, 5000*v)
		s.add("list, stub", sdk.Name, 0, nanoseconds, 300_000/v)
		s.add("show, stub", sdk.Name, 0, allocations, 4*v)
		s.add("list, stub", sdk.Name, 0, allocations, 42*v)
		s.add("list, loopback", sdk.Name, 0, nanoseconds, 500_000/v)
		for _, size := range []string{"1", "64", "512"} {
			s.add("upload "+size+" MiB", sdk.Name, 0, peak, v*mib)
		}
		s.add("upload 1 MiB, cold", sdk.Name, 0, throughput, 100*v)
		s.add("upload 1 MiB, cold", sdk.Name, 0, cpu, v)
		s.add("upload 1 MiB, warm", sdk.Name, 0, throughput, 100*v)
		s.add("upload 1 MiB, warm", sdk.Name, 0, cpu, v)
		s.add(defaultRetries, sdk.Name, 0, operations, 66)
		s.add(defaultRetries, sdk.Name, 0, doneOnce, float64(i%2))
		s.add(defaultRetries, sdk.Name, 0, madeTwice, float64(i%2))
		s.add("create, loopback", sdk.Name, 0, nanoseconds, 200_000*v)
		s.add("create, loopback with TLS", sdk.Name, 0, nanoseconds, 200_000*(v+v*v/4))
		s.add(outageWork(3200)+", as it comes", sdk.Name, 0, requests, 3200*v)
	}
	for i, name := range []string{"resty", onceSecond, onceDefault} {
		s.add(documentedRetries, name, 0, operations, 66)
		s.add(documentedRetries, name, 0, doneOnce, float64(34+31*(i%2)))
		s.add(documentedRetries, name, 0, madeTwice, float64(25*((2-i)/2)))
		s.add(documentedRetries, name, 0, waiting, float64(27*(i/2)))
	}
	s.add(oneCall, clients.Reference, 0, binarySize, 9e6)
	s.add(oneCall, clients.Ours, 0, binarySize, 9.4e6)
	return &Results{
		Date: "2026-01-02", Go: "go1.26", Platform: "linux/amd64", CPUs: 2, Seconds: 9,
		Versions: map[string]string{"resty": "2.1.0"}, Figures: s.figures(),
	}
}

// A missed target that looks met would make all other figures worthless.
func TestTargetsThatWereMissedAreSaidToBe(t *testing.T) {
	met := map[string]bool{}
	for _, target := range targets(sampleResults()) {
		met[target.What] = target.Met
	}
	assert.Len(t, met, 20)
	for what, want := range map[string]bool{
		"show, stub: time over net/http by hand":                                 false,
		"list, stub: ns over those of hcloud-go, the best other SDK":             true,
		"show, stub: allocations":                                                true,
		"upload 512 MiB: peak memory over start":                                 false,
		"upload 1 MiB, cold: throughput over net/http by hand":                   true,
		oneCall + ": binary over net/http by hand":                               true,
		documentedRetries + ", aicontent, once 1 s: records made once, and told": false,
		documentedRetries + ", aicontent, once 15 min: records made twice":       true,
		outageWork(3200) + ", as it comes: requests":                             false,
	} {
		assert.Equal(t, want, met[what], what)
	}
}

// A limit of another version of Go would call a slow client fast, or a fast one slow.
func TestLimitsAreThoseOfTheVersionOfGo(t *testing.T) {
	for version, want := range map[string]string{"go1.26.8": "≤ 0.75", "go1.27rc1": "≤ 0.9", "go1.27.4": "≤ 0.9"} {
		r := sampleResults()
		r.Go = version
		for _, target := range targets(r) {
			if target.What == "list, stub: time over net/http by hand" {
				assert.Equal(t, want, target.Want, version)
			}
		}
	}
}

func TestMarkdownHasEachFigureWithItsUnit(t *testing.T) {
	text := markdown(sampleResults())
	for name, line := range map[string]string{
		"version":                 "| resty | 2.1.0 |",
		"missed target":           "| show, stub: time over net/http by hand | ≤ 1.1 | 7 | **missed** |",
		"heading of a work":       "## Upload 64 MiB\n",
		"unit in the heading":     "| SDK | peak memory over start, MiB |",
		"value in that unit":      "| aicontent | 7 ×7 |",
		"no value":                "| SDK | operations | made once and told | made twice |",
		"reference has no ratio":  "| net/http | 5 |",
		"settle time of a second": "| aicontent, once 1 s | 66 | 65 | 0 | 0 |",
		"default settle time":     "| aicontent, once 15 min | 66 | 34 | 0 | 27 |",
	} {
		assert.Contains(t, text, line, name)
	}
	assert.NotContains(t, text, "NaN")
}

func TestNumberKeepsThreeDigits(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 66: "66", 3300: "3,300", 5321.4: "5,320", 12.345: "12.3", 0.456: "0.456", 0.001234: "0.00123", -3: "-3",
		1281.6: "1,280", 0.99996: "1", -300.5: "-300", 1234567: "1,234,567",
	} {
		assert.Equal(t, want, number(value))
	}
}

// A replaced module has no version of its own in the build: v0.0.0 would be printed.
func TestTheVersionOfThisSDKIsItsOwn(t *testing.T) {
	found := versions(clients.All())
	assert.Equal(t, aicontent.Version, found[clients.Ours])
	assert.Equal(t, runtime.Version(), found[clients.Reference])
}
