package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const contributing = "| path | room for | imports |\n|---|---|---|\n" +
	"| `internal/lenient` | a | nothing |\n| `internal/paging` | a | lenient |\n| `internal/wire` | a | nothing |\n" +
	"| `internal/upload` | a | wire |\n| `internal/redact` | a | nothing |\n| `internal/errtext` | a | redact, lenient |\n"

// house is a module that is as it should be.
func house() map[string]string {
	files := map[string]string{
		"go.mod":               "module " + module + "\n\ngo 1.26\n",
		"CONTRIBUTING.md":      contributing,
		"client.go":            "package aicontent\n\nimport _ \"" + module + "/internal/wire\"\n",
		"client_test.go":       "package aicontent\n\nimport _ \"" + module + "/aicontenttest\"\n" + strings.Repeat("\n", 400),
		"aicontenttest/kit.go": "package aicontenttest\n\nimport _ \"" + module + "\"\n",
		"examples/a/main.go":   "package main\n\nimport _ \"" + module + "\"\n\nfunc main() {}\n",
	}
	for room, imports := range rooms {
		text := "package " + room + "\n\nimport _ \"fmt\"\n"
		for _, other := range imports {
			text += "import _ \"" + module + "/internal/" + other + "\"\n"
		}
		files["internal/"+room+"/room.go"] = text
	}
	return files
}

func TestRooms(t *testing.T) {
	imports := func(path string) string { return "\nimport _ \"" + module + path + "\"\n" }
	for name, test := range map[string]struct {
		change  map[string]string
		problem string
	}{
		"as it should be":               {nil, ""},
		"a room that is not on the map": {map[string]string{"internal/utils/u.go": "package utils\n"}, "internal/utils is not on the map of rooms"},
		"a room that is missing":        {map[string]string{"internal/redact/room.go": "", "internal/errtext/room.go": "package errtext\n"}, "there is no internal/redact"},
		"a room beside it":              {map[string]string{"internal/wire/more.go": "package wire\n" + imports("/internal/redact")}, `"internal/wire" must not import "internal/redact"`},
		"the root from below":           {map[string]string{"client.go": "package aicontent\n", "internal/wire/more.go": "package wire\n" + imports("")}, `"internal/wire" must not import ""`},
		"the kit from the root":         {map[string]string{"aicontenttest/kit.go": "package aicontenttest\n", "more.go": "package aicontent\n" + imports("/aicontenttest"), "client_test.go": ""}, `"" must not import "aicontenttest"`},
		"a long file":                   {map[string]string{"internal/wire/long.go": "package wire\n" + strings.Repeat("//\n", 300)}, "internal/wire/long.go has more than 300 lines"},
		"a long file of another system": {map[string]string{"internal/wire/long_windows.go": "package wire\n" + strings.Repeat("//\n", 300)}, "internal/wire/long_windows.go has more than 300 lines"},
		"a large root":                  {many("", 14, 290), "the root has 4063 lines in 15 files; at most 3350 in 18 are wanted"},
		"a root of many files":          {many("", 18, 3), "the root has 57 lines in 19 files; at most 3350 in 18 are wanted"},
		"a large house":                 {many("internal/wire/", 26, 290), "the root and internal/ have 7565 lines; at most 6300 are wanted"},
		"another map":                   {map[string]string{"CONTRIBUTING.md": strings.Replace(contributing, "redact, lenient", "redact", 1)}, "CONTRIBUTING.md says that internal/errtext imports [redact], the map says [lenient redact]"},
		"no map":                        {map[string]string{"CONTRIBUTING.md": strings.Replace(contributing, "`internal/wire`", "wire", 1)}, "CONTRIBUTING.md has no row for internal/wire"},
	} {
		t.Run(name, func(t *testing.T) {
			files := house()
			for path, text := range test.change {
				files[path] = text
			}
			root := t.TempDir()
			for path, text := range files {
				if text == "" {
					continue
				}
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			problems, err := check(io.Discard, root)
			if err != nil {
				t.Fatal(err)
			}
			if test.problem == "" && len(problems) > 0 || test.problem != "" && !slices.Contains(problems, test.problem) {
				t.Errorf("got %q, want %q", problems, test.problem)
			}
		})
	}
}

func many(dir string, n, lines int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := filepath.Base(dir)
		if dir == "" {
			name = "aicontent"
		}
		files[dir+string(rune('a'+i))+".go"] = "package " + name + "\n" + strings.Repeat("//\n", lines-1)
	}
	return files
}
