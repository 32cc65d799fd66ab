package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// Result is what became of one mutant: a line of the results file.
type Result struct {
	ID, Sum, File string
	Line          int
	Status        string
	By            string `json:",omitempty"` // the package whose tests found it
	Milliseconds  int64
}

// readResults returns the last result of each mutant. A run that was stopped may have left half a line at the end.
func readResults(path string) (map[string]Result, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Result{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	results := map[string]Result{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var r Result
		if json.Unmarshal(s.Bytes(), &r) == nil {
			results[r.ID] = r
		}
	}
	return results, nil
}

// readEquivalent returns the mutants that no test can find, with the reason: lines with an ID, a tab and the reason.
func readEquivalent(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	equivalent := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: want an ID, a tab and a reason", path, i+1)
		}
		equivalent[id] = reason
	}
	return equivalent, nil
}

// Count is how many mutants ended in which way.
type Count struct{ Killed, Timeout, Survived, Uncovered, Equivalent int }

func (c *Count) add(r Result, equivalent bool) {
	switch {
	case r.Status == killed:
		c.Killed++
	case r.Status == timedOut:
		c.Timeout++
	case equivalent:
		c.Equivalent++
	case r.Status == uncovered:
		c.Uncovered++
	default:
		c.Survived++
	}
}

// Found is the share of the mutants that tests found, in percent, of those that they can find.
func (c Count) Found() float64 {
	found := c.Killed + c.Timeout
	all := found + c.Survived + c.Uncovered
	if all == 0 {
		return 100
	}
	return 100 * float64(found) / float64(all)
}

// report writes the counts per file, the mutants that survived, and those judged equivalent, as Markdown.
func report(w io.Writer, results []Result, equivalent map[string]string) Count {
	var total Count
	files := map[string]*Count{}
	var missed, same []string
	for _, r := range results {
		if files[r.File] == nil {
			files[r.File] = &Count{}
		}
		reason := equivalent[r.ID]
		files[r.File].add(r, reason != "")
		total.add(r, reason != "")
		switch {
		case r.Status == killed || r.Status == timedOut:
		case reason != "":
			same = append(same, fmt.Sprintf("- `%s`: %s", r.ID, reason))
		default:
			missed = append(missed, fmt.Sprintf("- %s:%d: `%s` %s", r.File, r.Line, r.ID, r.Status))
		}
	}
	row := func(name string, c Count) {
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %.1f %% |\n", name, c.Killed, c.Timeout, c.Survived, c.Uncovered, c.Equivalent, c.Found())
	}
	fmt.Fprint(w, "| file | killed | timeout | survived | uncovered | equivalent | found |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		row("`"+name+"`", *files[name])
	}
	row("**all**", total)
	section := func(title string, lines []string) {
		if slices.Sort(lines); len(lines) > 0 {
			fmt.Fprintf(w, "\n## %s\n\n%s\n", title, strings.Join(lines, "\n"))
		}
	}
	section("Not found by any test", missed)
	section("Judged equivalent", same)
	return total
}
