package errtext

import (
	"html"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// pageTitle returns the first of a page's title and headings that is not empty, else the page's first words.
func pageTitle(page string) string {
	var shown strings.Builder
	title := 0   // where it begins in shown, which is not empty by then
	hidden := "" // the tag that ends a script or a style sheet
	for page != "" {
		text, rest, _ := strings.Cut(page, "<")
		begins := func(tags ...string) bool {
			return slices.ContainsFunc(tags, func(tag string) bool { return len(rest) >= len(tag) && strings.EqualFold(rest[:len(tag)], tag) })
		}
		if hidden != "" && !begins(hidden) {
			page = rest
			continue
		}
		if hidden == "" {
			shown.WriteString(text + " ")
		}
		hidden = ""
		end := ">"
		switch {
		case begins("title", "h1"):
			title = shown.Len()
		case begins("/title", "/h1") && title > 0:
			if found := words(shown.String()[title:]); found != "" {
				return found
			}
			title = 0
		case begins("script"):
			hidden = "/script"
		case begins("style"):
			hidden = "/style"
		case begins("!--"):
			end = "-->"
		}
		_, page, _ = strings.Cut(rest, end)
	}
	return redact.Shorten(words(shown.String()), 200)
}

// words returns text without character references and with single spaces.
func words(text string) string { return strings.Join(strings.Fields(html.UnescapeString(text)), " ") }
