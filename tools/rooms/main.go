// Rooms checks which package imports which, and how large each is. It prints the sizes, and fails where something is not as the
// map in this file has it, or where CONTRIBUTING.md shows another map.
//
// It is run in tools/: go run ./rooms
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/tools/internal/golist"
)

const module = "github.com/aicontent/aicontent-go"

// rooms are the packages under internal/ and what each imports of this module. Nothing else of the module may be imported there.
var rooms = map[string][]string{
	"lenient": {},
	"paging":  {"lenient"},
	"wire":    {},
	"upload":  {"wire"},
	"redact":  {},
	"errtext": {"lenient", "redact"},
}

// The limits on what is not a test. Lines are counted as wc does. They are what is needed today: lower them where less is needed.
const (
	maxFileLines = 300
	maxRootFiles = 18
	maxRootLines = 3350
	maxLines     = 6300 // the root and internal/ together
)

// rootImports is what the root may import besides the standard library and the rooms.
var rootImports = []string{"github.com/google/go-querystring/query"}

func main() {
	root := flag.String("C", "..", "directory of the module")
	flag.Parse()
	problems, err := check(os.Stdout, *root)
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "rooms:", p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func check(w io.Writer, root string) (problems []string, err error) {
	packages, err := golist.Run(root, "-deps", "./...")
	if err != nil {
		return nil, err
	}
	standard := map[string]bool{}
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}
	found := map[string]bool{}
	total := 0
	fmt.Fprintf(w, "%-22s %5s %6s  %s\n", "room", "files", "lines", "imports of this module")
	for _, p := range packages {
		if p.DepOnly {
			continue
		}
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		var inside, outside []string
		for _, imported := range p.Imports {
			if name, ok := strings.CutPrefix(imported, module); ok {
				inside = append(inside, strings.TrimPrefix(name, "/"))
			} else if !standard[imported] && imported != "C" {
				outside = append(outside, imported)
			}
		}
		problems = append(problems, forbidden(path, inside, outside)...)
		files, lines, tooLong, err := size(p.Dir)
		if err != nil {
			return problems, err
		}
		for _, name := range tooLong {
			problems = append(problems, fmt.Sprintf("%s has more than %d lines", filepath.Join(path, name), maxFileLines))
		}
		name := path
		if path == "" {
			name = "."
			if files > maxRootFiles || lines > maxRootLines {
				problems = append(problems, fmt.Sprintf("the root has %d lines in %d files; at most %d in %d are wanted", lines, files, maxRootLines, maxRootFiles))
			}
		}
		if room, ok := strings.CutPrefix(path, "internal/"); ok {
			found[room] = true
		}
		if path == "" || strings.HasPrefix(path, "internal/") {
			total += lines
		}
		for i, other := range inside {
			if other == "" {
				inside[i] = "."
			}
		}
		fmt.Fprintf(w, "%-22s %5d %6d  %s\n", name, files, lines, strings.Join(inside, ", "))
	}
	fmt.Fprintf(w, "%-22s %5s %6d\n", "root and internal/", "", total)
	if total > maxLines {
		problems = append(problems, fmt.Sprintf("the root and internal/ have %d lines; at most %d are wanted", total, maxLines))
	}
	for room := range rooms {
		if !found[room] {
			problems = append(problems, "there is no internal/"+room)
		}
	}
	contributing, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		return problems, err
	}
	problems = append(problems, compareMap(string(contributing))...)
	slices.Sort(problems)
	return problems, nil
}

// forbidden returns what the package must not import, of this module and of others.
func forbidden(path string, inside, outside []string) (problems []string) {
	room, isRoom := strings.CutPrefix(path, "internal/")
	allowed, known := rooms[room]
	if isRoom && !known {
		return []string{path + " is not on the map of rooms"}
	}
	for _, other := range inside {
		otherRoom, _ := strings.CutPrefix(other, "internal/")
		switch {
		case isRoom && !(other != otherRoom && slices.Contains(allowed, otherRoom)),
			path == "" && other == otherRoom,
			strings.HasPrefix(other, "examples"):
			problems = append(problems, fmt.Sprintf("%q must not import %q", path, other))
		}
	}
	for _, other := range outside {
		if isRoom || path == "" && !slices.Contains(rootImports, other) {
			problems = append(problems, fmt.Sprintf("%q must not import %s", path, other))
		}
	}
	return problems
}

// size counts the files of a directory that are no tests, whatever system they are for, and their lines.
func size(dir string) (files, lines int, tooLong []string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, 0, nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, 0, nil, err
		}
		n := bytes.Count(text, []byte("\n"))
		if n > maxFileLines {
			tooLong = append(tooLong, filepath.Base(name))
		}
		files, lines = files+1, lines+n
	}
	return files, lines, tooLong, nil
}

// compareMap looks for the map in a table of CONTRIBUTING.md: rows with `internal/…` in the first column, and in the last one
// what that room imports: "nothing", or names with commas between them.
func compareMap(text string) (problems []string) {
	shown := map[string]bool{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		room, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(cells[0]), "`"), "internal/")
		if !ok || len(cells) < 3 {
			continue
		}
		shown[room] = true
		imports := strings.FieldsFunc(cells[len(cells)-1], func(r rune) bool { return strings.ContainsRune(" ,`", r) })
		if slices.Equal(imports, []string{"nothing"}) {
			imports = nil
		}
		slices.Sort(imports)
		if !slices.Equal(imports, rooms[room]) {
			problems = append(problems, fmt.Sprintf("CONTRIBUTING.md says that internal/%s imports %v, the map says %v", room, imports, rooms[room]))
		}
	}
	for room := range rooms {
		if !shown[room] {
			problems = append(problems, fmt.Sprintf("CONTRIBUTING.md has no row for internal/%s", room))
		}
	}
	return problems
}
