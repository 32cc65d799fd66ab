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

func markdown(r *Results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Measured on %s\n\n%s, %s, %d CPUs, %.0f s", r.Date, r.Go, r.Platform, r.CPUs, r.Seconds)
	if r.Quick {
		b.WriteString(", quick: too few rounds for figures worth quoting")
	}
	if r.Only != "" {
		fmt.Fprintf(&b, ", %s alone", r.Only)
	}
	b.WriteString(". Medians, with the least and the greatest in brackets where rounds differ; " +
		"× is the ratio to net/http by hand in the same round.\n\n")
	row(&b, []string{"SDK", "version"})
	row(&b, []string{"---", "---"})
	for _, sdk := range clients.All() {
		row(&b, []string{sdk.Name, r.Versions[sdk.Name]})
	}
	if len(r.Targets) > 0 {
		b.WriteString("\n## What this SDK sets out to reach\n\n")
		row(&b, []string{"what", "wanted", "measured", ""})
		row(&b, []string{"---", "---", "--:", "---"})
		for _, t := range r.Targets {
			row(&b, []string{t.What, t.Want, t.Got, map[bool]string{true: "met", false: "**missed**"}[t.Met]})
		}
	}
	for _, work := range works(r) {
		table(&b, r, work)
	}
	return b.String()
}

// works lists what was done, in its order.
func works(r *Results) []string {
	var list []string
	for _, f := range r.Figures {
		if !slices.Contains(list, f.Work) {
			list = append(list, f.Work)
		}
	}
	return list
}

func table(b *strings.Builder, r *Results, work string) {
	fmt.Fprintf(b, "\n## %s%s\n\n", strings.ToUpper(work[:1]), work[1:])
	var columns []measure
	var rows []string
	for _, f := range r.Figures {
		if f.Work != work {
			continue
		}
		if !slices.Contains(columns, f.Measure) {
			columns = append(columns, f.Measure)
		}
		if !slices.Contains(rows, f.SDK) {
			rows = append(rows, f.SDK)
		}
	}
	head, line := []string{"SDK"}, []string{"---"}
	for _, m := range columns {
		head, line = append(head, heading(m)), append(line, "--:")
	}
	row(b, head)
	row(b, line)
	for _, sdk := range clients.All() {
		if !slices.Contains(rows, sdk.Name) {
			continue
		}
		cells := []string{sdk.Name}
		for _, m := range columns {
			cells = append(cells, cell(r.find(work, sdk.Name, m)))
		}
		row(b, cells)
	}
}

func row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// heading names the unit that cells are shown in.
func heading(m measure) string {
	return strings.NewReplacer("over start, bytes", "over start, MiB", "bytes allocated", "KiB allocated",
		", bytes", ", MB").Replace(string(m))
}

// cell shows a figure in its heading's unit.
func cell(f *Figure) string {
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
	}
	text := number(f.Value.Median / scale)
	if f.Value.Least != f.Value.Greatest {
		text += fmt.Sprintf(" (%s–%s)", number(f.Value.Least/scale), number(f.Value.Greatest/scale))
	}
	if f.Ratio != nil && f.Measure != operations && f.SDK != clients.Reference {
		text += " ×" + number(f.Ratio.Median)
	}
	return text
}

// number shows three digits, or all those of a whole number.
func number(v float64) string {
	switch size := math.Abs(v); {
	case v == math.Trunc(v) && size < 1e9, size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
