package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// sampleResults are those of a small run, with good news and bad.
func sampleResults() *Results {
	s := &samples{}
	for i, sdk := range clients.All() {
		v := float64(i + 1)
		s.add("show, stub", sdk.Name, 0, nanoseconds, 5000*v)
		s.add("list, stub", sdk.Name, 0, nanoseconds, 300_000/v)
		s.add("list, loopback", sdk.Name, 0, nanoseconds, 500_000/v)
		for _, size := range []string{"1", "64", "512"} {
			s.add("upload "+size+" MiB", sdk.Name, 0, peak, v*mib)
		}
		s.add(defaultRetries, sdk.Name, 0, operations, 66)
		s.add(defaultRetries, sdk.Name, 0, madeTwice, float64(i%2))
	}
	s.add(oneCall, clients.Reference, 0, binarySize, 9e6)
	s.add(oneCall, clients.Ours, 0, binarySize, 9.4e6)
	r := &Results{Date: "2026-01-02", Go: "go1.26", Platform: "linux/amd64", CPUs: 2, Seconds: 9, Versions: map[string]string{"resty": "v2.1.0"}, Figures: s.figures()}
	r.Targets = targets(r)
	return r
}

// Nobody may have to take a figure from us that went against us.
func TestTargetsThatWereMissedAreSaidToBe(t *testing.T) {
	met := map[string]bool{}
	for _, target := range targets(sampleResults()) {
		met[target.What] = target.Met
	}
	assert.Equal(t, map[string]bool{
		"show, stub: time over net/http by hand":          false,
		"show, stub: ahead of every SDK":                  false,
		"list, stub: time over net/http by hand":          true,
		"list, stub: ahead of every SDK":                  true,
		"upload 1 MiB: peak memory over start":            false,
		"upload 64 MiB: peak memory over start":           false,
		"upload 512 MiB: peak memory over start":          false,
		oneCall + ": binary over net/http and json alone": true,
		defaultRetries + ": records made twice":           true,
	}, met)
}

func TestMarkdown(t *testing.T) {
	text := markdown(sampleResults())
	for name, line := range map[string]string{
		"version":                "| resty | v2.1.0 |",
		"missed target":          "| show, stub: time over net/http by hand | ≤ 0.90 | 7.00 (7.00–7.00) | **missed** |",
		"heading of a work":      "## Upload 64 MiB\n",
		"unit in the heading":    "| SDK | peak memory over start, MiB |",
		"value in that unit":     "| aicontent | 7 ×7 |",
		"no value":               "| SDK | operations | made twice |",
		"reference has no ratio": "| net/http | 5000 |",
	} {
		assert.Contains(t, text, line, name)
	}
	assert.NotContains(t, text, "NaN")
}

func TestJSONCanBeReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	want := sampleResults()
	require.NoError(t, writeJSON(path, want))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var got Results
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, *want, got)
}

// A chart that a browser cannot parse is an empty place in the README.
func TestChartsAreWholeDrawings(t *testing.T) {
	for name, results := range map[string]*Results{"full": sampleResults(), "nothing measured": {}} {
		for file, draw := range map[string]func(string, *Results) error{"memory.svg": drawMemory, "list.svg": drawList, "twice.svg": drawTwice} {
			t.Run(name+", "+file, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), file)
				require.NoError(t, draw(path, results))
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				decoder := xml.NewDecoder(strings.NewReader(string(text)))
				for {
					if _, err := decoder.Token(); err == io.EOF {
						break
					} else {
						require.NoError(t, err)
					}
				}
				if name == "full" {
					assert.Contains(t, string(text), clients.Ours, "no SDK is named")
				}
			})
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 66: "66", 5321.4: "5321", 12.345: "12.3", 0.456: "0.46", 0.001234: "0.00123", -3: "-3",
	} {
		assert.Equal(t, want, number(value))
	}
}
