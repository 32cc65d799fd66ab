package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/bench/clients"
)

func writeJSON(path string, r *Results) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return replaceFile(path, append(text, '\n'))
}

// replaceFile writes a file as a whole or not at all, and never through a link.
func replaceFile(path string, data []byte) error {
	part := filepath.Join(filepath.Dir(path), ".bench-"+rand.Text()+".part")
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer os.Remove(part) // fails once it has its name
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func readJSON(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Results)
	if err = json.Unmarshal(text, r); err == nil && r.Date == "" {
		err = errors.New("not the results of a run")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// writeMarkdown writes a table for each work: an SDK in each row, a measure in each column.
func writeMarkdown(path string, r *Results) error {
	return replaceFile(path, []byte(markdown(r)))
}

// headline begins the first line of results.md.
const headline = "# Measured on "

func markdown(r *Results) string {
	var b strings.Builder
	fmt.Fprintf(&b, headline+"%s\n\n%s, %s, %d CPUs, %.0f s", r.Date, r.Go, r.Platform, r.CPUs, r.Seconds)
	if r.Quick {
		b.WriteString(", quick: too few rounds for figures worth quoting")
	}
	if r.Only != "" {
		fmt.Fprintf(&b, ", %s alone", r.Only)
	}
	b.WriteString(". Medians, with the least and the greatest in brackets where rounds differ; " +
		"× is the ratio to net/http by hand in the same round.")
	if r.Others > 0 {
		fmt.Fprintf(&b, " Other programs took %.0f%% of the CPUs", 100*r.Others)
		if r.busy() {
			b.WriteString(": times and throughputs are rough, and have one digit")
		}
		b.WriteString(".")
	}
	b.WriteString("\n\n")
	head(&b, []string{"SDK", "version"})
	for _, sdk := range clients.All() {
		row(&b, []string{sdk.Name, r.Versions[sdk.Name]})
	}
	if aims := targets(r); len(aims) > 0 {
		b.WriteString("\n## What this SDK sets out to reach\n\n")
		head(&b, []string{"what", "wanted", "measured", ""})
		for _, t := range aims {
			row(&b, []string{t.What, t.Want, t.Got, map[bool]string{true: "met", false: "**missed**"}[t.Met]})
		}
	}
	for _, work := range r.works() {
		table(&b, r, work)
	}
	return b.String()
}

func table(b *strings.Builder, r *Results, work string) {
	fmt.Fprintf(b, "\n## %s%s\n\n", strings.ToUpper(work[:1]), work[1:])
	columns := r.columns(work)
	headings := []string{"SDK"}
	for _, m := range columns {
		headings = append(headings, heading(m))
	}
	head(b, headings)
	for _, sdk := range r.rows(work) {
		cells := []string{sdk}
		for _, m := range columns {
			cells = append(cells, cell(r.find(work, sdk, m), r.busy()))
		}
		row(b, cells)
	}
}

// head begins a table. All columns but the first are aligned to the right.
func head(b *strings.Builder, headings []string) {
	row(b, headings)
	b.WriteString("| --- |" + strings.Repeat(" --: |", len(headings)-1) + "\n")
}

func row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// heading names the unit that cells are shown in.
func heading(m measure) string {
	switch m {
	case nanoseconds, cpuNanoseconds:
		return strings.Replace(string(m), "ns", "µs", 1)
	case peak:
		return strings.Replace(string(m), "bytes", "MiB", 1)
	case allocated:
		return strings.Replace(string(m), "bytes", "KiB", 1)
	}
	return strings.Replace(string(m), ", bytes", ", MB", 1)
}

// cell shows a figure in its heading's unit. If other programs were busy, times have one digit.
func cell(f *Figure, busy bool) string {
	if f == nil {
		return "–"
	}
	scale := 1.0
	switch f.Measure {
	case peak:
		scale = mib
	case allocated:
		scale = 1 << 10
	case binarySize, strippedSize:
		scale = 1e6
	case nanoseconds, cpuNanoseconds:
		scale = 1e3
	}
	show := number
	if busy && slices.Contains([]measure{throughput, nanoseconds, rate, seconds}, f.Measure) {
		show = func(v float64) string { return digits(v, 1) }
	}
	text := show(f.Value.Median / scale)
	if f.Value.Least != f.Value.Greatest {
		text += fmt.Sprintf(" (%s–%s)", show(f.Value.Least/scale), show(f.Value.Greatest/scale))
	}
	if f.Ratio != nil && f.Measure != operations && f.SDK != clients.Reference {
		text += " ×" + show(f.Ratio.Median)
	}
	return text
}

// number shows three digits, or all those of a whole number.
func number(v float64) string {
	if v == math.Trunc(v) {
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return digits(v, 3)
}

// digits shows that many of a number's digits, and zeros in place of the others.
func digits(v float64, n int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	return grouped(strconv.FormatFloat(rounded, 'f', -1, 64))
}

// grouped sets commas between thousands.
func grouped(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return strings.TrimSuffix(whole+"."+fraction, ".")
}
