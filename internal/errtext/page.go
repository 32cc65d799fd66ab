package errtext

import (
	"html"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// pageTitle returns the first of a page's title and headings that is not empty, else the page's first words.
func pageTitle(page string) string {
	folded := fold(page)
	var text strings.Builder
	title := 0 // where it begins in text, which is not empty by then
	for i := 0; ; {
		n := strings.IndexByte(page[i:], '<')
		if n < 0 {
			text.WriteString(page[i:])
			break
		}
		text.WriteString(page[i:i+n] + " ")
		i += n
		begins := func(tags ...string) bool {
			return slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(folded[i:], tag) })
		}
		n = 0
		switch {
		case begins("<title", "<h1"):
			title = text.Len()
		case begins("</title", "</h1") && title > 0:
			if words := words(text.String()[title:]); words != "" {
				return words
			}
		case begins("<!--"):
			n = strings.Index(page[i:], "-->")
		case begins("<script"):
			n = strings.Index(folded[i:], "</script")
		case begins("<style"):
			n = strings.Index(folded[i:], "</style")
		}
		if n < 0 {
			break
		}
		i += n
		if n = strings.IndexByte(page[i:], '>'); n < 0 {
			break
		}
		i += n + 1
	}
	return redact.Shorten(words(text.String()), 200)
}

// words returns text without character references and with single spaces.
func words(text string) string { return strings.Join(strings.Fields(html.UnescapeString(text)), " ") }

// fold returns s with ASCII letters in lower case: unlike strings.ToLower, it moves no byte.
func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
