package aicontent

import (
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// A maintainer reads a call from the method down to net/http, in the order that CONTRIBUTING names.
func TestOneCallTakesThePathThatIsDocumented(t *testing.T) {
	t.Parallel()
	contributing, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(contributing), "\n## One call\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, m := range regexp.MustCompile(`(?m)^\t *(\S+)`).FindAllStringSubmatch(section, -1) {
		documented = append(documented, strings.TrimPrefix(m[1], "engine."))
	}

	var taken []string
	c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		callers := make([]uintptr, 64)
		frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
		for frame, more := frames.Next(); more; frame, more = frames.Next() {
			taken = append([]string{bareName(frame.Function)}, taken...)
		}
		return fakes.OK(fakes.StoredImage)(r)
	}))
	_, err = c.Images.Store(t.Context(), aStore)
	require.NoError(t, err)
	assert.Equal(t, "ImagesService.Store", documented[0])
	assert.Equal(t, "http.Client.Do", documented[len(documented)-1])
	assert.Contains(t, strings.Join(taken, " "), strings.Join(documented, " "))
}

// bareName returns a function's name with its receiver, and with its package outside of this module.
func bareName(function string) string {
	name := regexp.MustCompile(`\(\*?(\w+)\)|\[.*\]`).ReplaceAllString(function, "$1")
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, pkg := range []string{"aicontent-go.", "engine."} {
		name = strings.TrimPrefix(name, pkg)
	}
	return name
}
