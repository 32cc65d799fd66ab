package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// hunk is the header of a hunk of a diff: where its lines stand in the new file, and how many there are.
var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changedLines returns the lines that differ from the commit, by file; false if there is no commit of that name.
func changedLines(root, commit string) (map[string]map[int]bool, bool, error) {
	git := func(args ...string) ([]byte, error) {
		return exec.Command("git", append([]string{"-C", root, "-c", "safe.directory=*"}, args...)...).Output()
	}
	if _, err := git("rev-parse", "--verify", "--quiet", commit+"^{commit}"); err != nil {
		return nil, false, nil
	}
	diff, err := git("diff", "--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", "--relative", commit, "--", "*.go")
	if err != nil {
		return nil, false, fmt.Errorf("git diff: %w", err)
	}
	return parseDiff(string(diff)), true, nil
}

func parseDiff(diff string) map[string]map[int]bool {
	changed := map[string]map[int]bool{}
	var lines map[int]bool
	for text := range strings.Lines(diff) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "+++ ") {
			lines = map[int]bool{}
			changed[strings.TrimPrefix(text, "+++ b/")] = lines
		}
		if m := hunk.FindStringSubmatch(text); m != nil {
			first, _ := strconv.Atoi(m[1])
			count := 1
			if m[2] != "" {
				count, _ = strconv.Atoi(m[2])
			}
			for line := first; line < first+count; line++ {
				lines[line] = true
			}
		}
	}
	return changed
}
