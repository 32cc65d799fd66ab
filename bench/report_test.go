package main

import (
	"fmt"
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
	assert.Equal(t, map[string]bool{
		"show, stub: time over net/http by hand":                                                  false,
		"show, stub: ns over those of openai-go, the best other SDK":                              false,
		"list, stub: time over net/http by hand":                                                  true,
		"list, stub: ns over those of hcloud-go, the best other SDK":                              true,
		"show, stub: allocations":                                                                 true,
		"list, stub: allocations":                                                                 false,
		"upload 1 MiB: peak memory over start":                                                    false,
		"upload 64 MiB: peak memory over start":                                                   false,
		"upload 512 MiB: peak memory over start":                                                  false,
		"upload 1 MiB, cold: throughput over net/http by hand":                                    true,
		"upload 1 MiB, cold: CPU time over net/http by hand":                                      false,
		"upload 1 MiB, warm: MiB/s over those of resty, the best other SDK that sends a form":     true,
		"upload 1 MiB, warm: CPU s over those of openai-go, the best other SDK that sends a form": false,
		oneCall + ": binary over net/http by hand":                                                true,
		defaultRetries + ", aicontent: records made twice":                                        true,
		documentedRetries + ", aicontent, once 1 s: records made once, and told":                  false,
		documentedRetries + ", aicontent, once 1 s: records made twice":                           true,
		documentedRetries + ", aicontent, once 15 min: records made twice":                        true,
		"create, loopback with TLS: time more than net/http by hand":                              false,
		outageWork(3200) + ", as it comes: requests":                                              false,
	}, met)
}

// A limit of another version of Go would call a slow client fast, or a fast one slow.
func TestLimitsAreThoseOfTheVersionOfGo(t *testing.T) {
	for _, test := range []struct {
		version    string
		show, list string // what is wanted
		binary     string
	}{
		{"go1.26.8", "≤ 1.1", "≤ 0.75", "≤ 1.01 MB"},
		{"go1.27rc1", "≤ 1.2", "≤ 0.9", "≤ 0.99 MB"},
		{"go1.27.4", "≤ 1.2", "≤ 0.9", "≤ 0.99 MB"},
	} {
		t.Run(test.version, func(t *testing.T) {
			r := sampleResults()
			r.Go = test.version
			wanted := map[string]string{}
			for _, target := range targets(r) {
				wanted[target.What] = target.Want
			}
			assert.Equal(t, test.show, wanted["show, stub: time over net/http by hand"])
			assert.Equal(t, test.list, wanted["list, stub: time over net/http by hand"])
			assert.Equal(t, test.binary, wanted[oneCall+": binary over net/http by hand"])
		})
	}
}

// A warm upload is compared with those that do the same work: a client that sends a bare file may be faster.
func TestWarmUploadsAreComparedWithThoseOfForms(t *testing.T) {
	const work = "upload 1 MiB, warm"
	speeds := map[string]float64{
		clients.Reference: 9, "go-github": 8, "hcloud-go": 7, clients.Ours: 5,
		"resty": 4, "openai-go": 3, "go-openai": 2,
	}
	of := func(speeds map[string]float64) []target {
		s := &samples{}
		for name, speed := range speeds {
			s.add(work, name, 0, throughput, speed)
		}
		return targets(&Results{Figures: s.figures()})
	}
	const what = work + ": MiB/s over those of %s, the best other SDK that sends a form"
	assert.Equal(t, []target{{fmt.Sprintf(what, "resty"), "≥ 1", "1.25", true}}, of(speeds))
	speeds["openai-go"] = 6
	assert.Equal(t, []target{{fmt.Sprintf(what, "openai-go"), "≥ 1", "0.833", false}}, of(speeds))
	bare := map[string]float64{clients.Reference: 9, "go-github": 8, clients.Ours: 5}
	assert.Empty(t, of(bare), "none of them sends a form")
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

// Times of a machine that was busy with other work are not as exact as they look; what is counted is.
func TestTimesOfABusyMachineHaveOneDigit(t *testing.T) {
	r := sampleResults()
	create := Figure{Work: "create", SDK: "resty", Measure: nanoseconds, Value: Spread{1077046, 1077046, 1077046}}
	r.Figures = append(r.Figures, create)
	for others, lines := range map[float64][]string{
		0.04: {"Other programs took 4% of the CPUs.", "| resty | 1,080 |"},
		0.6: {
			"Other programs took 60% of the CPUs: times and throughputs are rough, and have one digit.",
			"| resty | 1,000 |",
			"| aicontent, once 15 min | 66 | 34 | 0 | 27 |",
		},
	} {
		r.Others = others
		for _, line := range lines {
			assert.Contains(t, markdown(r), line)
		}
	}
}

// A replaced module has no version of its own in the build: v0.0.0 would be printed.
func TestTheVersionOfThisSDKIsItsOwn(t *testing.T) {
	found := versions(clients.All())
	assert.Equal(t, aicontent.Version, found[clients.Ours])
	assert.Equal(t, runtime.Version(), found[clients.Reference])
}
